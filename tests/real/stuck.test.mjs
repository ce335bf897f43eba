// The real worker with its interpreter lock held for ever: it is noticed from outside, shown, replaced.
import assert from "node:assert/strict";
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { ask, lives, post, serve, stream, until, worker } from "./server.mjs";

const PYTHON = join(process.env.HANGAR_RUNTIME, "bin/python");
const STUCK = join(import.meta.dirname, "stuck_worker.py");
// An answer may stand still for an eighth of it, a prompt for a quarter.
const REQUEST_TIMEOUT_MS = 40_000;
const LONG = "remember this code: amber lantern seven. ".repeat(300);

/** A Python that starts the worker through the script which gets it stuck, and does all else as ever. */
function stuckPython(t, where) {
  const folder = mkdtempSync(join(tmpdir(), "hangar-stuck-"));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const armed = join(folder, "armed");
  const python = join(folder, "python");
  writeFileSync(
    python,
    `#!/bin/sh
if [ "$2" = -m ] && [ "$3" = hangar_worker ] && [ "$4" = --pins ]; then
  shift 3
  exec '${PYTHON}' -I '${STUCK}' ${where} '${armed}' "$@"
fi
exec '${PYTHON}' "$@"
`,
  );
  chmodSync(python, 0o755);
  return { python, arm: () => writeFileSync(armed, "now") };
}

for (const [where, doing] of [
  ["_chunk", "reading the prompt"],
  ["_following", "answering"],
]) {
  test(`an interpreter lock held for ever while ${doing} is a stalled worker, and the next request is answered`, async (t) => {
    const { python, arm } = stuckPython(t, where);
    const server = await serve(t, {
      local: { worker: { pythonExecutable: python, requestTimeoutMs: REQUEST_TIMEOUT_MS } },
    });
    assert.equal((await ask(server, "hello.")).status, 200);
    const { pid } = await worker(server);
    arm();
    const open = await stream(server, LONG, { max_tokens: 64, temperature: 0 });
    const events = await open.rest();
    assert.ok(!events.includes("[DONE]"));
    assert.match(JSON.stringify(events), /worker_stalled/);
    assert.match(JSON.stringify(events), new RegExp(`no progress.*${doing}`));
    await until("the stuck worker is gone", () => !lives(pid));
    const next = await ask(server, "hello.");
    assert.equal(next.status, 200);
    assert.notEqual((await worker(server)).pid, pid);
    // The stacks of its threads are in the log, and nothing of the prompt.
    assert.match(server.log(), /stuck_worker\.py.*in wrong/);
    assert.match(server.log(), new RegExp(`engine\\.py.*in `));
    assert.doesNotMatch(server.log(), /amber|lantern/);
    assert.equal((await post(server, "/admin/worker/unload")).status, 200);
  });
}
