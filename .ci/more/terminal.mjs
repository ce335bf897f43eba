// npm start as a person does it: in a terminal, ended with Ctrl-C.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { inClone } from "../setup/places.mjs";
import { findPython } from "../setup/python.mjs";
import { setUp, steps } from "../setup/setup.mjs";

const WITHIN_MS = 120_000;
const IN_A_TERMINAL = "import os, pty, sys; sys.exit(os.waitstatus_to_exitcode(pty.spawn(sys.argv[1:])))";

// What is to be built first is no part of the start.
await setUp(steps(), { quiet: true });
const child = spawn(findPython().path, ["-c", IN_A_TERMINAL, "npm", "start"], {
  cwd: inClone(),
  stdio: ["pipe", "pipe", "inherit"],
});
const late = setTimeout(() => child.kill("SIGKILL"), WITHIN_MS);
const ended = new Promise((done) => child.on("close", (code) => done(code)));
let said = "";
let asked = false;
for await (const bytes of child.stdout) {
  said += bytes;
  if (!asked && /Hangar is listening on http:\S+\s/.test(said)) {
    asked = true;
    child.stdin.write("\u0003");
  }
}
const status = await ended;
clearTimeout(late);
assert.ok(asked, `it never listened; it said:\n${said}`);
assert.equal(status, 0, `it ended with ${status}; it said:\n${said}`);
console.log("test result: npm start works in a terminal and ends with Ctrl-C");
