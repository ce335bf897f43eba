// Runs programs: their output into a file, a sign of life while they run, their last lines when they fail.
import { spawn, spawnSync } from "node:child_process";
import { closeSync, mkdirSync, openSync, readFileSync } from "node:fs";
import { constants } from "node:os";
import { join } from "node:path";
import { CLONE, LOGS, projectEnvironment } from "./places.mjs";
import { noteProgram, noteProgramEnded } from "./lock.mjs";
import { Problem } from "./problem.mjs";
import { say } from "./say.mjs";

const SIGN_OF_LIFE_MS = 30_000;
const GRACE_MS = 5_000;
const LAST_LINES = 40;

const SIGNALS = { SIGINT: 130, SIGTERM: 143, SIGHUP: 129 };
// npm and a terminal may both pass one Ctrl-C on; a second one soon after is the same one.
const SAME_SIGNAL_MS = 500;

const running = new Set();
let stoppedBy = null;
let signalledAt = -Infinity;
for (const signal of Object.keys(SIGNALS)) {
  process.on(signal, () => {
    stoppedBy = signal;
    if (running.size === 0) process.exit(SIGNALS[signal]);
    if (performance.now() - signalledAt < SAME_SIGNAL_MS) return;
    signalledAt = performance.now();
    for (const child of running) killGroup(child, signal);
  });
}

/** Asks a program something; its trimmed answer, or null when it fails or is not there. */
export function ask(program, args, options = {}) {
  const result = spawnSync(program, args, {
    encoding: "utf8",
    timeout: 30_000,
    stdio: ["ignore", "pipe", "ignore"],
    ...options,
  });
  return result.status === 0 ? result.stdout.trim() : null;
}

/**
 * Runs a program to its end; returns {status, timedOut, seconds, log}. Its output goes to a file named
 * after `name`, or to the terminal with `show`.
 */
export async function run(
  name,
  program,
  args,
  { env = {}, cwd = CLONE, timeoutS = 3600, show = false } = {},
) {
  mkdirSync(LOGS, { recursive: true });
  const log = join(LOGS, `${name.replaceAll(/[^\w-]+/g, "-")}.log`);
  const file = show ? null : openSync(log, "w");
  const began = performance.now();
  try {
    // An own process group, so that a time-out or Ctrl-C ends whatever the program itself has started.
    const child = spawn(program, args, {
      cwd,
      env: projectEnvironment(env),
      stdio: ["ignore", file ?? "inherit", file ?? "inherit"],
      detached: true,
    });
    running.add(child);
    noteProgram(child.pid);
    const end = await ended(child, timeoutS, () => {
      if (!show)
        say(
          `         … ${name}: still at it after ${Math.round((performance.now() - began) / 1000)} s: ${lastLine(log)}`,
        );
    });
    running.delete(child);
    noteProgramEnded();
    if (stoppedBy !== null) process.exit(SIGNALS[stoppedBy]);
    return { ...end, seconds: (performance.now() - began) / 1000, log };
  } finally {
    if (file !== null) closeSync(file);
  }
}

/** Runs a program in the place of this one: its input and output are ours; its exit status is returned. */
export function become(program, args, { env = {}, cwd = process.cwd() } = {}) {
  return new Promise((done) => {
    // Signals reach it through us only, so that one Ctrl-C is one signal.
    const child = spawn(program, args, {
      cwd,
      env: projectEnvironment(env),
      stdio: "inherit",
      detached: true,
    });
    running.add(child);
    child.on("error", (cause) => {
      say(`hangar: cannot start ${program}: ${cause.message}`);
      done(127);
    });
    child.on("exit", (code, signal) => {
      running.delete(child);
      done(code ?? 128 + (constants.signals[signal] ?? 0));
    });
  });
}

/** Like `run`, but anything except success is a Problem with the program's last lines. */
export async function mustRun(name, program, args, { cure, ...options }) {
  const end = await run(name, program, args, options);
  if (end.status === 0) return end;
  const how = end.timedOut
    ? "took too long"
    : end.missing
      ? `${program} was not found`
      : `ended with ${end.status}`;
  throw new Problem(`${name}: ${how} (all output: ${end.log})`, cure, lastLines(end.log));
}

/** The last lines of a log file. */
export function lastLines(log, count = LAST_LINES) {
  try {
    return readFileSync(log, "utf8").trimEnd().split("\n").slice(-count).join("\n");
  } catch {
    return "";
  }
}

function lastLine(log) {
  return lastLines(log, 1).split("\r").at(-1).trim().slice(0, 100);
}

function ended(child, timeoutS, signOfLife) {
  return new Promise((done) => {
    let timedOut = false;
    const life = setInterval(signOfLife, SIGN_OF_LIFE_MS);
    const limit = setTimeout(() => {
      timedOut = true;
      killGroup(child, "SIGTERM");
      setTimeout(() => killGroup(child, "SIGKILL"), GRACE_MS).unref();
    }, timeoutS * 1000);
    const finish = (end) => {
      clearInterval(life);
      clearTimeout(limit);
      if (timedOut) killGroup(child, "SIGKILL");
      done(end);
    };
    child.on("error", (cause) => finish({ status: 127, timedOut, missing: cause.code === "ENOENT" }));
    child.on("exit", (code, signal) =>
      finish({ status: code ?? `signal ${signal}`, timedOut, missing: false }),
    );
  });
}

function killGroup(child, signal) {
  try {
    if (child.pid !== undefined) process.kill(-child.pid, signal);
  } catch {
    // It has ended already.
  }
}
