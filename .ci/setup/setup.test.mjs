// The set-up's own parts, driven for real: files, locks, processes and signals.
import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { atLeast } from "./machine.mjs";
import { fingerprint, readText } from "./stamp.mjs";

const scratch = mkdtempSync(join(tmpdir(), "hangar-setup-test-"));
after(() => rmSync(scratch, { recursive: true, force: true }));
const here = (name) => JSON.stringify(join(import.meta.dirname, name));
const script = (text) => ["--input-type=module", "-e", text];

test("versions_compare_by_number_and_not_by_letter", () => {
  assert.ok(atLeast("1.100.0", "1.90"));
  assert.ok(atLeast("20.19.0", "20.19.0"));
  assert.ok(!atLeast("20.9.1", "20.19.0"));
  assert.ok(!atLeast("1.89.0-nightly", "1.90"));
});

test("a_fingerprint_changes_with_content_and_facts_and_with_nothing_else", () => {
  const first = fingerprint([".ci/setup"], ["a"]);
  assert.equal(fingerprint([".ci/setup"], ["a"]), first);
  assert.notEqual(fingerprint([".ci/setup"], ["b"]), first);
  assert.notEqual(fingerprint([".ci/setup/stamp.mjs"], ["a"]), first);
});

test("the_lock_is_held_by_one_process_at_a_time_even_when_a_holder_is_killed", async () => {
  const lock = JSON.stringify(join(scratch, "lock"));
  const log = join(scratch, "log");
  writeFileSync(log, "");
  const holder = (dies) => `
    import { takeLock } from ${here("lock.mjs")};
    import { appendFileSync } from "node:fs";
    import { setTimeout as sleep } from "node:timers/promises";
    for (let turn = 0; turn < 6; turn++) {
      const giveBack = await takeLock(${lock});
      appendFileSync(${JSON.stringify(log)}, "in " + process.pid + "\\n");
      await sleep(3);
      appendFileSync(${JSON.stringify(log)}, "out " + process.pid + "\\n");
      if (${dies} && turn === 2) process.kill(process.pid, "SIGKILL");
      giveBack();
    }`;
  const children = [false, true, false].map((dies) =>
    spawn(process.execPath, script(holder(dies)), { stdio: "ignore" }),
  );
  const ends = await Promise.all(
    children.map((child) => new Promise((done) => child.on("exit", (code) => done(code)))),
  );
  assert.deepEqual(ends, [0, null, 0]);
  const lines = readFileSync(log, "utf8").trim().split("\n");
  assert.equal(lines.length, 2 * (6 + 3 + 6));
  for (let line = 0; line < lines.length; line += 2) {
    assert.equal(lines[line + 1], lines[line].replace("in", "out"));
  }
});

test("a_killed_set_up_is_followed_only_when_the_program_it_left_at_work_has_ended", async () => {
  const lock = JSON.stringify(join(scratch, "orphan-lock"));
  const log = join(scratch, "orphan-log");
  const killed = `
    import { takeLock } from ${here("lock.mjs")};
    import { run } from ${here("program.mjs")};
    await takeLock(${lock});
    setTimeout(() => process.kill(process.pid, "SIGKILL"), 200);
    await run("orphan test", "sh", ["-c", "sleep 1; echo orphan >> ${log}"]);`;
  const next = `
    import { takeLock } from ${here("lock.mjs")};
    import { appendFileSync } from "node:fs";
    const giveBack = await takeLock(${lock});
    appendFileSync(${JSON.stringify(log)}, "next\\n");
    giveBack();`;
  assert.equal(spawnSync(process.execPath, script(killed)).signal, "SIGKILL");
  assert.equal(spawnSync(process.execPath, script(next)).status, 0);
  assert.equal(readFileSync(log, "utf8"), "orphan\nnext\n");
});

test("a_program_run_in_our_place_gets_our_input_and_gives_its_output_and_exit_status", () => {
  const text = `
    import { become } from ${here("program.mjs")};
    process.exit(await become("sh", ["-c", "cat; exit 7"]));`;
  const result = spawnSync(process.execPath, script(text), {
    input: "through and through",
    encoding: "utf8",
  });
  assert.equal(result.status, 7);
  assert.equal(result.stdout, "through and through");
});

for (const [signal, status] of [
  ["SIGTERM", 0],
  ["SIGINT", 3],
]) {
  test(`${signal}_reaches_the_program_once_and_its_own_exit_status_comes_back`, async () => {
    const inner = `trap 'echo int; exit 3' INT; trap 'echo term; exit 0' TERM; echo up; while :; do sleep 0.05; done`;
    const text = `
      import { become } from ${here("program.mjs")};
      process.exit(await become("bash", ["-c", ${JSON.stringify(inner)}]));`;
    const child = spawn(process.execPath, script(text), { stdio: ["ignore", "pipe", "inherit"] });
    let said = "";
    const ended = new Promise((done) => child.on("close", (code) => done(code)));
    for await (const bytes of child.stdout) {
      said += bytes;
      if (said === "up\n") {
        child.kill(signal);
        child.kill(signal);
      }
    }
    assert.equal(await ended, status);
    assert.equal(said, `up\n${signal === "SIGTERM" ? "term" : "int"}\n`);
  });
}

test("a_step_that_takes_too_long_is_ended_with_everything_it_started", () => {
  const pidFile = join(scratch, "pid");
  const text = `
    import { run } from ${here("program.mjs")};
    const end = await run("time-out test", "sh", ["-c", "sleep 60 & echo $! > ${pidFile}; wait"], { timeoutS: 0.5 });
    process.exit(end.timedOut ? 0 : 1);`;
  assert.equal(spawnSync(process.execPath, script(text), { stdio: "inherit" }).status, 0);
  const pid = Number(readFileSync(pidFile, "utf8"));
  assert.ok(!isRunning(pid), `process ${pid} is still there`);
});

// A process that has ended and waits to be collected by its parent is not running any more.
function isRunning(pid) {
  try {
    process.kill(pid, 0);
  } catch {
    return false;
  }
  const state = readText(`/proc/${pid}/stat`);
  return state === null || !/\) Z /.test(state);
}
