// The real worker struck by signals at moments that a seed chooses: each request ends typed, the next is answered.
import assert from "node:assert/strict";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { dice } from "./dice.mjs";
import { endless } from "./models.mjs";
import { ask, lives, post, serve, stream, until, worker } from "./server.mjs";

const LONG = "remember this code: amber lantern seven. ".repeat(400);
const TYPED = new Set(["worker_crashed", "worker_stalled", "worker_not_ready"]);

/** Strikes whatever worker there is after a while. */
async function strike(server, afterMs, signal) {
  await sleep(afterMs);
  const { pid } = await worker(server);
  if (pid !== null && lives(pid)) process.kill(pid, signal);
  return pid;
}

test("a signal at any moment of load, prefill and answer ends typed, and the next request is answered", async (t) => {
  const roll = dice(4);
  const server = await serve(t, { local: endless(t) });
  assert.equal((await ask(server, "hello.", { max_tokens: 2 })).status, 200);
  for (const [phase, upToMs] of [
    ["load", 1500],
    ["prefill", 600],
    ["answer", 200],
  ]) {
    for (const signal of ["SIGKILL", "SIGSEGV"]) {
      const afterMs = Math.round(roll() * upToMs);
      const round = `${signal} ${afterMs} ms into ${phase}`;
      if (phase === "load") assert.equal((await post(server, "/admin/worker/unload")).status, 200);
      const open = await stream(server, phase === "answer" ? "hello." : LONG, {
        max_tokens: 2000,
      });
      if (phase === "answer") await open.next();
      const striking = strike(server, afterMs, signal);
      const events = open.status === 200 ? await open.rest() : [await open.next()];
      const met = await striking;
      // It may have been struck just after the answer, and its end not be noticed yet.
      if (met !== null)
        await until("the struck worker is gone", async () => (await worker(server)).pid !== met);
      const last = events.at(-1) ?? "nothing";
      // An answer that was whole before it was struck, or waited for the next worker, ends as ever.
      if (last !== "[DONE]") assert.ok(TYPED.has(JSON.parse(last).error?.code), `${round}: ${last}`);
      assert.equal((await ask(server, "hello.", { max_tokens: 2 })).status, 200, round);
    }
  }
});
