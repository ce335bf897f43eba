// A second clone that shares the cache must be ready in a fraction of the first one's time, and must work.
import { spawnSync } from "node:child_process";
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { CLONE, IS_MACOS, onPath } from "../setup/places.mjs";

const LIMIT_S = 300;
const folder = process.argv[2];
const clone = join(folder, "clone");
// What belongs to the first clone must not reach the second.
const OF_THE_FIRST = [
  "HANGAR_RESOURCES",
  "HANGAR_RUNTIME",
  "HANGAR_WORKER_WHEEL",
  "CARGO_TARGET_DIR",
  "RUSTC_WORKSPACE_WRAPPER",
];
const inherited = Object.entries(process.env).filter(([name]) => !OF_THE_FIRST.includes(name));
const env = { ...Object.fromEntries(inherited), HANGAR_HOME: join(folder, "home") };

function step(name, program, args, options = {}) {
  const began = performance.now();
  const { status, error } = spawnSync(program, args, { stdio: "inherit", env, ...options });
  const seconds = (performance.now() - began) / 1000;
  console.log(`${name}: ${seconds.toFixed(1)} s, ${error?.message ?? `status ${status}`}`);
  if (status !== 0) process.exit(1);
  return seconds;
}

if (onPath("git") === null && !IS_MACOS) throw new Error("git is not on PATH: install git");
mkdirSync(folder, { recursive: true });
step("clone", "git", ["clone", "--quiet", CLONE, clone]);
const first = step("set-up", process.execPath, [".ci/start.mjs", "--only-setup"], { cwd: clone });
const second = step("set-up again", process.execPath, [".ci/start.mjs", "--only-setup"], { cwd: clone });
step("hangar check self", process.execPath, [".ci/hangar.mjs", "check", "self"], { cwd: clone });

// Clones share a target folder: what is built in one must never be taken for what is built in the other.
const NAME = 'SERVICE: &str = "hangar"';
const views = join(clone, "src-tauri/crates/server/src/views/mod.rs");
const text = readFileSync(views, "utf8");
if (!text.includes(NAME)) throw new Error(`${views} names the service otherwise than ${NAME}`);
writeFileSync(views, text.replace(NAME, 'SERVICE: &str = "hangar-of-the-second-clone"'));
step("set-up of a changed clone", process.execPath, [".ci/start.mjs", "--only-setup"], { cwd: clone });
rmSync(join(CLONE, ".build/stamps/server"), { force: true });
step("set-up of the first clone", process.execPath, [".ci/start.mjs", "--only-setup"], { cwd: CLONE });
for (const [where, isChanged] of [
  [clone, true],
  [CLONE, false],
]) {
  const found = readFileSync(join(where, ".build/bin/hangar")).includes("hangar-of-the-second-clone");
  if (found !== isChanged) throw new Error(`${where} was built from another clone's sources`);
}

if (first > LIMIT_S)
  throw new Error(`the second clone's set-up took ${first.toFixed(0)} s, more than ${LIMIT_S} s`);
if (second > 15) throw new Error(`a set-up with nothing to do took ${second.toFixed(1)} s, more than 15 s`);
