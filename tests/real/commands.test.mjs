// The command's own checks and its background server.
import assert from "node:assert/strict";
import { test } from "node:test";
import { command, newHome, serve } from "./server.mjs";

test("check self passes every canary through a real worker", async (t) => {
  const done = await command(["check", "self", "--json"], {
    HANGAR_HOME: newHome(t),
  });
  assert.equal(done.status, 0, done.out + done.errors);
  const { ok, rows } = JSON.parse(done.out);
  assert.ok(ok);
  const names = rows.map(({ name }) => name);
  assert.deepEqual(names, ["recall", "tool call", "image colour", "spoken words", "warm = cold"]);
  assert.ok(rows.every((row) => row.ok));
});

test("runtime verify compares every pin and passes every probe", async (t) => {
  const done = await command(["runtime", "verify", "--json"], {
    HANGAR_HOME: newHome(t),
  });
  assert.equal(done.status, 0, done.out + done.errors);
  const { ok, rows } = JSON.parse(done.out);
  assert.ok(ok);
  const probes = rows.filter(({ name }) => name.startsWith("probe"));
  assert.equal(probes.length, 5);
  assert.ok(rows.some(({ name }) => name === "mlx-vlm") && rows.every((row) => row.ok));
});

test("start, state, restart and stop carry a background server through its life", async (t) => {
  const home = { HANGAR_HOME: newHome(t), HANGAR_PORT: "" };
  t.after(() => command(["stop"], home));
  const started = await command(["start"], home);
  assert.equal(started.status, 0, started.errors);
  const url = started.out.match(/http:\/\/127\.0\.0\.1:\d+/)[0];
  assert.equal((await (await fetch(`${url}/health`)).json()).ok, true);
  const state = JSON.parse((await command(["state", "--json"], home)).out);
  assert.equal(state.ready.worker.state, "unloaded");
  assert.equal((await command(["restart"], home)).status, 0);
  assert.equal((await command(["stop"], home)).status, 0);
  await assert.rejects(fetch(`${url}/health`));
  assert.equal((await command(["stop"], home)).status, 0, "stopping what is stopped is fine");
});

test("a running server proves its words and its recovery", async (t) => {
  const local = { worker: { idleUnload: { enabled: true, idleMs: 2000 } } };
  const home = newHome(t, local);
  const server = await serve(t, { home });
  for (const [name, rows] of [
    [
      "ready",
      [
        "unloaded",
        "cold request",
        "states on the way",
        "health meanwhile",
        "loaded",
        "idle unload",
        "unload",
      ],
    ],
    ["recovery", ["cold load", "killed in mid-answer", "next request"]],
  ]) {
    const done = await command(["check", name, "--url", server.url, "--json"]);
    assert.equal(done.status, 0, done.out + done.errors);
    const said = JSON.parse(done.out);
    assert.deepEqual(
      said.rows.map((row) => row.name),
      rows,
    );
    assert.ok(said.ok && said.rows.every((row) => row.ok));
  }
  const nobody = await command(["check", "ready"], { HANGAR_HOME: newHome(t) });
  assert.equal(nobody.status, 1);
  assert.match(nobody.errors, /no server runs[^]*hangar start/);
});
