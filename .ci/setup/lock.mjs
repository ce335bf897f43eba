// One set-up at a time on this machine: a file that names its holder, made whole by a hard link.
import { linkSync, mkdirSync, readFileSync, rmSync, statSync, utimesSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { say } from "./say.mjs";

const TOUCH_EVERY_MS = 10_000;
// A process number can be given to another program; a holder that lives touches its file.
const STALE_AFTER_MS = 120_000;

/** Waits until the lock is ours; returns the function that gives it back. */
export async function takeLock(path) {
  mkdirSync(dirname(path), { recursive: true });
  let told = null;
  while (!tryTake(path)) {
    const holder = holderOf(path);
    if (holder !== null && isStale(path, holder)) breakLock(path, holder);
    else {
      if (holder !== null && told !== holder)
        say(`  waiting another set-up is running (process ${holder.split(" ")[0]})`);
      told = holder ?? told;
      await sleep(250);
    }
  }
  await waitForOrphan(path);
  heldPath = path;
  const touching = setInterval(() => touch(path), TOUCH_EVERY_MS);
  touching.unref();
  const giveBack = () => {
    clearInterval(touching);
    heldPath = null;
    if (holderOf(path) === OURS) rmSync(path, { force: true });
  };
  process.once("exit", giveBack);
  return () => {
    process.removeListener("exit", giveBack);
    giveBack();
  };
}

/** Notes the program that works under the lock, so that it is not joined by another when its set-up is killed. */
export function noteProgram(pid) {
  if (heldPath !== null && pid !== undefined) writeFileSync(`${heldPath}.program`, String(pid));
}

/** Takes the note back: the program has ended. */
export function noteProgramEnded() {
  if (heldPath !== null) rmSync(`${heldPath}.program`, { force: true });
}

let heldPath = null;

/** A set-up killed outright leaves its program at work; two of them in one folder would spoil it. */
async function waitForOrphan(path) {
  const note = `${path}.program`;
  const pid = Number(holderOf(note));
  if (pid > 0 && isAlive(-pid)) say(`  waiting for what a killed set-up left at work (process group ${pid})`);
  while (pid > 0 && isAlive(-pid)) await sleep(250);
  rmSync(note, { force: true });
}

const OURS = `${process.pid} ${Date.now()}`;

function tryTake(path) {
  const own = `${path}.${process.pid}`;
  writeFileSync(own, OURS);
  try {
    linkSync(own, path);
    return true;
  } catch (cause) {
    if (cause.code === "EEXIST") return false;
    throw cause;
  } finally {
    rmSync(own, { force: true });
  }
}

function holderOf(path) {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return null;
  }
}

function isStale(path, holder) {
  if (!isAlive(Number(holder.split(" ")[0]))) return true;
  const seen = statSync(path, { throwIfNoEntry: false });
  return seen !== undefined && Date.now() - seen.mtimeMs > STALE_AFTER_MS;
}

function isAlive(pid) {
  try {
    process.kill(pid, 0);
    return true;
  } catch (cause) {
    return cause.code === "EPERM";
  }
}

/** Breaking is itself exclusive, or a slow breaker could remove the lock of the next holder. */
function breakLock(path, holder) {
  const breaking = `${path}.breaking`;
  if (!tryTake(breaking)) {
    const other = holderOf(breaking);
    if (other !== null && isStale(breaking, other)) rmSync(breaking, { force: true });
    return;
  }
  if (holderOf(path) === holder) rmSync(path, { force: true });
  rmSync(breaking, { force: true });
}

function touch(path) {
  try {
    const now = new Date();
    utimesSync(path, now, now);
  } catch {
    // Somebody broke the lock; the steps themselves are safe to run twice.
  }
}
