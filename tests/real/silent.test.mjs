// The real worker halted in an answer: its silence is noticed after half a minute, here for all at once.
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { ENDLESS_TOKENS, endless } from "./models.mjs";
import { ask, command, lives, serve, stream, until, worker } from "./server.mjs";

describe("a worker that is halted in an answer", { concurrency: true }, () => {
  test("is noticed by its silence, and the next request is answered", async (t) => {
    const server = await serve(t, { local: endless(t) });
    assert.equal((await ask(server, "hello.", { max_tokens: 2 })).status, 200);
    const { pid } = await worker(server);
    const open = await stream(server, "hello.", { max_tokens: ENDLESS_TOKENS });
    await open.next();
    process.kill(pid, "SIGSTOP");
    const last = (await open.rest()).at(-1);
    assert.equal(JSON.parse(last).error.code, "worker_stalled");
    await until("the stopped worker is gone", () => !lives(pid));
    assert.equal((await ask(server, "hello.", { max_tokens: 2 })).status, 200);
  });

  test("is what a running server proves to notice", async (t) => {
    const server = await serve(t);
    const done = await command(["check", "timeout", "--url", server.url, "--json"]);
    assert.equal(done.status, 0, done.out + done.errors);
    const { ok, rows } = JSON.parse(done.out);
    const names = rows.map(({ name }) => name);
    assert.deepEqual(names, ["halted in mid-answer", "health meanwhile", "next request"]);
    assert.ok(ok && rows.every((row) => row.ok));
  });
});
