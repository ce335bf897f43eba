// Faults of the real engine and its files: each ends in a typed answer, and nothing is left behind.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import {
  cpSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { ENDLESS_TOKENS, endless, modelCopy, serving } from "./models.mjs";
import { ask, command, get, lives, newHome, post, serve, stream, until, worker } from "./server.mjs";

const ENDLESS = { max_tokens: ENDLESS_TOKENS };

function scratch(t) {
  const folder = mkdtempSync(join(tmpdir(), "hangar-scratch-"));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

test("a killed server leaves no worker, idle or busy", async (t) => {
  for (const busy of [false, true]) {
    const server = await serve(t, { local: endless(t) });
    await ask(server, "hello.", { max_tokens: 2 });
    const { pid } = await worker(server);
    const open = busy ? await stream(server, "hello.", ENDLESS) : null;
    await open?.next();
    server.child.kill("SIGKILL");
    await until("the worker is gone", () => !lives(pid));
    open?.leave();
  }
});

test("a killed worker ends the stream with a typed error and no [DONE], and the next request is answered", async (t) => {
  const server = await serve(t, { local: endless(t) });
  await ask(server, "hello.", { max_tokens: 2 });
  const { pid } = await worker(server);
  const open = await stream(server, "hello.", ENDLESS);
  await open.next();
  process.kill(pid, "SIGKILL");
  const events = await open.rest();
  const { error } = JSON.parse(events.at(-1));
  assert.equal(error.code, "worker_crashed");
  assert.equal(error.type, "server_error");
  assert.ok(!events.includes("[DONE]"));
  assert.equal((await ask(server, "hello.", { max_tokens: 2 })).status, 200);
  assert.notEqual((await worker(server)).pid, pid);
  const [next, broken] = (await get(server, "/admin/requests")).data;
  assert.deepEqual([next.outcome, broken.outcome], ["answered", "broken"]);
  assert.deepEqual([broken.error.type, broken.worker.pid], ["worker_crashed", pid]);
  assert.equal(next.worker.generation, broken.worker.generation + 1);
  assert.equal((await get(server, "/admin/stats")).worker.last_exit.signal, "SIGKILL");
});

test("a server that is told to end lets the answer finish and leaves no worker", async (t) => {
  const server = await serve(t, { local: endless(t) });
  await ask(server, "hello.", { max_tokens: 2 });
  const { pid } = await worker(server);
  const open = await stream(server, "hello.", { max_tokens: 300 });
  await open.next();
  server.child.kill("SIGTERM");
  assert.equal((await open.rest()).at(-1), "[DONE]");
  assert.deepEqual(await server.ended, { status: 0, signal: null });
  assert.ok(!lives(pid));
});

test("unload answers once the process is gone, restart once a new one is ready", async (t) => {
  const server = await serve(t);
  await ask(server, "hello.");
  const { pid } = await worker(server);
  const unloaded = await post(server, "/admin/worker/unload");
  assert.deepEqual([unloaded.status, unloaded.body.ok, unloaded.body.pid], [200, true, null]);
  assert.ok(!lives(pid));
  const restarted = await post(server, "/admin/worker/restart");
  assert.equal(restarted.status, 200);
  assert.ok(lives(restarted.body.new_pid));
});

test("truncated, missing and foreign model files are named, and mending them needs only a restart", async (t) => {
  const model = modelCopy(t);
  const weights = join(model, "model.safetensors");
  const whole = readFileSync(weights);
  const server = await serve(t, { local: serving(model) });
  truncateSync(weights, 1_000_000);
  const truncated = await ask(server, "hello.");
  assert.deepEqual([truncated.status, truncated.body.error.code], [503, "worker_failed"]);
  assert.match(truncated.body.error.message, /model\.safetensors.*1,?000,?000/);
  rmSync(weights);
  const missing = await post(server, "/admin/worker/restart");
  assert.equal(missing.status, 503);
  assert.match(missing.body.error.message, /model\.safetensors/);
  writeFileSync(weights, whole);
  assert.equal((await post(server, "/admin/worker/restart")).status, 200);
  assert.equal((await ask(server, "hello.")).status, 200);
});

test("a model that wants its own code run is refused", async (t) => {
  const model = modelCopy(t);
  const file = join(model, "config.json");
  const config = JSON.parse(readFileSync(file, "utf8"));
  const proof = join(model, "ran");
  writeFileSync(join(model, "evil.py"), `open(${JSON.stringify(proof)}, "w").close()\n`);
  writeFileSync(
    file,
    JSON.stringify({ ...config, auto_map: { AutoModel: "evil.Model" }, model_file: "evil.py" }),
  );
  const server = await serve(t, { local: serving(model) });
  const refused = await ask(server, "hello.");
  assert.deepEqual([refused.status, refused.body.error.code], [503, "worker_failed"]);
  assert.throws(() => readFileSync(proof), { code: "ENOENT" });
});

test("a runtime with an edited file is refused with the cure, and one that is missing too", async (t) => {
  const runtime = join(scratch(t), "runtime");
  const source = execFileSync(process.env.HANGAR_BINARY, ["runtime", "path"], { encoding: "utf8" }).trim();
  cpSync(source, runtime, { recursive: true, verbatimSymlinks: true });
  const [file] = execFileSync("find", [runtime, "-path", "*mlx_vlm/models/gemma4/language.py"], {
    encoding: "utf8",
  })
    .trim()
    .split("\n");
  writeFileSync(`${file}.new`, `${readFileSync(file, "utf8")}\n# edited\n`);
  renameSync(`${file}.new`, file);
  const server = await serve(t, { env: { HANGAR_RUNTIME: runtime } });
  const edited = await ask(server, "hello.");
  assert.deepEqual([edited.status, edited.body.error.code], [503, "runtime_unverified"]);
  assert.match(edited.body.error.message, /language\.py/);
  assert.match(edited.body.error.message, /hangar runtime repair/);
  const bare = await serve(t, { env: { HANGAR_RUNTIME: join(scratch(t), "none") } });
  const missing = await ask(bare, "hello.");
  assert.deepEqual([missing.status, missing.body.error.code], [503, "runtime_unverified"]);
  assert.match(missing.body.error.message, /hangar runtime|npm start/);
});

test("a second server on one state folder is refused and names the first", async (t) => {
  const server = await serve(t);
  const second = await command(["serve"], { HANGAR_HOME: server.home, HANGAR_PORT: "" });
  assert.equal(second.status, 1);
  assert.match(second.errors, new RegExp(`${server.child.pid}.*${server.url}`));
});

test("a pinned port that is taken names its holder", async (t) => {
  const server = await serve(t);
  const port = new URL(server.url).port;
  const second = await command(["serve"], { HANGAR_HOME: newHome(t), HANGAR_PORT: port });
  assert.equal(second.status, 1);
  assert.match(second.errors, /port_in_use|in use|taken/);
  assert.match(second.errors, /Hangar/);
});

test("a state folder that cannot be written is an error with its cure", async (t) => {
  const file = join(scratch(t), "file");
  writeFileSync(file, "");
  const refused = await command(["serve"], { HANGAR_HOME: join(file, "home") });
  assert.equal(refused.status, 1);
  assert.match(refused.errors, /HANGAR_HOME/);
});

test("no prompt is logged, whatever the level", async (t) => {
  const server = await serve(t, { env: { HANGAR_LOG: "trace" } });
  await ask(server, "remember this code: cobalt falcon nine.");
  await ask(server, "cobalt falcon nine", { max_tokens: "many" });
  await fetch(`${server.url}/health`, { headers: { "x-request-id": "find-me" } });
  assert.doesNotMatch(server.log(), /cobalt|falcon/);
  server.child.kill("SIGTERM");
  await server.ended;
  const logs = join(server.home, "logs");
  const files = readdirSync(logs).filter((name) => /^hangar\.\d{4}-\d\d-\d\d\.jsonl$/.test(name));
  assert.ok(files.length >= 1);
  const text = files.map((name) => readFileSync(join(logs, name), "utf8")).join("");
  assert.doesNotMatch(text, /cobalt|falcon/);
  const lines = text
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line));
  assert.ok(
    lines.some((line) => line.span?.id === "find-me" && line.path === "/health" && line.status === 200),
  );
});
