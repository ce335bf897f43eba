// Where things live. One cache folder for the whole machine, one .build folder for this clone.
import { existsSync } from "node:fs";
import { homedir } from "node:os";
import { join, resolve } from "node:path";

const environment = (name) => process.env[name] || undefined;

/** The folder of this clone. */
export const CLONE = resolve(import.meta.dirname, "../..");
/** True on macOS. */
export const IS_MACOS = process.platform === "darwin";

function userCache() {
  if (IS_MACOS) return join(homedir(), "Library/Caches/Hangar");
  return join(environment("XDG_CACHE_HOME") ?? join(homedir(), ".cache"), "hangar");
}

/** Everything that clones share. */
export const CACHE = resolve(environment("HANGAR_CACHE") ?? userCache());
/** What cargo builds. */
export const TARGET = resolve(environment("HANGAR_TARGET") ?? join(CACHE, "target"));
/** Python runtimes, one folder a key. */
export const RUNTIMES = join(CACHE, "runtimes");
/** What is built for this clone alone. */
export const BUILD = join(CLONE, ".build");
/** The command of this clone. */
export const HANGAR = join(BUILD, "bin/hangar");
/** The worker's wheels of this clone. */
export const WHEELS = join(BUILD, "wheels");
/** Output of the steps, one file each. */
export const LOGS = join(BUILD, "logs");
/** The lock that only one set-up on this machine holds. */
export const LOCK = join(CACHE, "setup.lock");

/** A path inside this clone. */
export const inClone = (...parts) => join(CLONE, ...parts);

/** The variables every program of the project is started with. */
export function projectEnvironment(extra = {}) {
  return { ...process.env, CARGO_TARGET_DIR: TARGET, HANGAR_RESOURCES: CLONE, ...extra };
}

/** The first folder on PATH that holds `program`, as a full path; null when none does. */
export function onPath(program) {
  for (const folder of (process.env.PATH ?? "").split(":")) {
    if (folder !== "" && existsSync(join(folder, program))) return join(folder, program);
  }
  return null;
}
