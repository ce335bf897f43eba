// Where things live. One cache folder for the whole machine, one .build folder for this clone.
import {
  accessSync,
  constants,
  existsSync,
  mkdirSync,
  readFileSync,
  renameSync,
  writeFileSync,
} from "node:fs";
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
  return {
    ...process.env,
    CARGO_TARGET_DIR: TARGET,
    HANGAR_RESOURCES: CLONE,
    RUSTC_WORKSPACE_WRAPPER: ownCompiler("rustc", 'exec "$@"'),
    ...extra,
  };
}

/** Lets cargo lint as `cargo clippy` does, but with artefacts of this clone's own. */
export function lintEnvironment() {
  // The driver lies beside the compiler that cargo names in the first argument, or is found on PATH.
  const driver = 'exec clippy-driver "$@"';
  return {
    RUSTC_WORKSPACE_WRAPPER: ownCompiler("clippy", driver),
    CLIPPY_ARGS: "-D__CLIPPY_HACKERY__warnings__CLIPPY_HACKERY__",
    CLIPPY_CONF_DIR: inClone(".ci"),
  };
}

/**
 * A compiler's stand-in for this clone's crates. Cargo names their artefacts by their path inside the workspace and
 * judges freshness by time, so clones that share a target folder would run each other's code; the path of this file
 * goes into the name as well, while dependencies stay shared.
 */
function ownCompiler(name, line) {
  const path = join(BUILD, "compilers", name);
  // Not sh: dash drops variables with a hyphen in their name, and cargo has some.
  const text = `#!/bin/bash\n${line}\n`;
  if (!existsSync(path) || readFileSync(path, "utf8") !== text) {
    mkdirSync(join(BUILD, "compilers"), { recursive: true });
    writeFileSync(`${path}.${process.pid}`, text, { mode: 0o755 });
    renameSync(`${path}.${process.pid}`, path);
  }
  return path;
}

/** Why a folder cannot be made or written in; null when it can. */
export function whyUnusable(folder) {
  let above = folder;
  while (!existsSync(above) && above !== resolve(above, "..")) above = resolve(above, "..");
  try {
    accessSync(above, constants.W_OK | constants.X_OK);
    // Node's recursive mkdir never comes back from folders that vanish as they are made, as in /proc.
    const missing = folder.slice(above.length).split("/").filter(Boolean);
    for (const part of missing) {
      above = join(above, part);
      mkdirSync(above);
    }
    return null;
  } catch (cause) {
    return cause.code === "EEXIST" ? null : cause.message;
  }
}

/** The first folder on PATH that holds `program`, as a full path; null when none does. */
export function onPath(program) {
  for (const folder of (process.env.PATH ?? "").split(":")) {
    if (folder !== "" && existsSync(join(folder, program))) return join(folder, program);
  }
  return null;
}
