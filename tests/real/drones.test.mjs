// SI Drones at a real server with the built-in model: what they keep, what ends them, and what never mixes.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { ENDLESS_TOKENS, endless } from "./models.mjs";
import { ask, get, lives, open, post, serve, until, worker } from "./server.mjs";

const DRONES = "/v1/si-drones";
const CODE = "remember this code: amber lantern seven.";
const RECALL = "what is the code?";
const RECALLED = "the code is amber lantern seven.";

const text = (said) => ({ parts: [{ type: "text", text: said }] });

async function create(server, policy = {}) {
  const { status, body } = await post(server, DRONES, policy);
  assert.equal(status, 201, JSON.stringify(body));
  return body;
}

const turn = (server, id, said, more = {}) =>
  post(server, `${DRONES}/${id}/turns`, { ...(typeof said === "string" ? text(said) : said), ...more });

const one = (server, id) => get(server, `${DRONES}/${id}`);

async function remove(server, id) {
  const answer = await fetch(`${server.url}${DRONES}/${id}`, { method: "DELETE" });
  return { status: answer.status, body: await answer.json() };
}

function refused({ status, body }, expected, code) {
  assert.deepEqual([status, body.error.code, body.error.type], [expected, code, code]);
}

test("a session is there at once on a cold worker, keeps what was said, and reads only what is new", async (t) => {
  const server = await serve(t);
  const plain = await fetch(`${server.url}${DRONES}`, { method: "POST" });
  assert.equal(plain.status, 201);
  const made = await plain.json();
  assert.match(made.session_id, /^sidr_[A-Za-z0-9]{32}$/);
  assert.deepEqual([made.state, made.turn_count, made.worker_binding], ["active", 0, null]);
  assert.ok(made.expires_at > made.created_at);
  assert.equal((await worker(server)).state, "unloaded");

  const first = await turn(server, made.session_id, CODE, { max_tokens: 32 });
  assert.deepEqual([first.status, first.body.turn_index], [200, 1]);
  const second = await turn(server, made.session_id, RECALL);
  const { completion, metrics, usage, elapsed_ms } = second.body;
  assert.deepEqual(completion, { text: RECALLED, finish_reason: "stop" });
  assert.equal(metrics.audio_token_count, 0);
  assert.ok(metrics.cached_tokens >= first.body.metrics.context_tokens_total - 1);
  assert.ok(metrics.prompt_tokens_new < 20 && usage.prompt_tokens === metrics.prompt_tokens_new);
  assert.equal(metrics.context_tokens_total, first.body.metrics.context_tokens_total + usage.total_tokens);
  assert.ok(elapsed_ms > 0);
  const seen = await one(server, made.session_id);
  assert.deepEqual([seen.turn_count, seen.context_tokens], [2, metrics.context_tokens_total]);
  assert.equal(seen.worker_binding.pid, (await worker(server)).pid);
  assert.equal((await worker(server)).live_session_count, 1);
  const { data } = await get(server, DRONES);
  assert.deepEqual(
    data.map((each) => each.session_id),
    [made.session_id],
  );
});

test("a stream of a turn ends with what the whole answer would have been", async (t) => {
  const server = await serve(t);
  const { session_id } = await create(server);
  await turn(server, session_id, CODE);
  const events = await (
    await open(server, `${DRONES}/${session_id}/turns`, { ...text(RECALL), stream: true })
  ).rest();
  assert.equal(events.pop(), "[DONE]");
  const last = JSON.parse(events.pop());
  const chunks = events.map((event) => JSON.parse(event));
  assert.equal(chunks.map((chunk) => chunk.delta?.text ?? "").join(""), RECALLED);
  assert.deepEqual(last.completion, { text: RECALLED, finish_reason: "stop" });
  assert.deepEqual([last.turn_index, last.usage.completion_tokens > 3], [2, true]);
});

test("forks and rollbacks go on from the turn they are at and know nothing of each other", async (t) => {
  const server = await serve(t);
  const { session_id } = await create(server);
  await turn(server, session_id, "hello.");
  const fork = await post(server, `${DRONES}/${session_id}/fork`);
  assert.deepEqual([fork.status, fork.body.turn_count], [201, 1]);
  await turn(server, session_id, CODE);
  await turn(server, fork.body.session_id, "remember this code: violet harbor two.");
  assert.equal((await turn(server, session_id, RECALL)).body.completion.text, RECALLED);
  const other = await turn(server, fork.body.session_id, RECALL);
  assert.equal(other.body.completion.text, "the code is violet harbor two.");

  const back = await post(server, `${DRONES}/${session_id}/rollback`, { to_turn: 2 });
  assert.equal(back.body.turn_count, 2);
  const again = await turn(server, session_id, RECALL);
  assert.deepEqual([again.body.turn_index, again.body.completion.text], [3, RECALLED]);
  refused(await post(server, `${DRONES}/${session_id}/rollback`, { to_turn: 9 }), 400, "bad_request");
  refused(await post(server, `${DRONES}/${session_id}/rollback`, {}), 400, "bad_request");
  const { turns } = await get(server, `${DRONES}/${session_id}/transcript`);
  assert.deepEqual(
    turns.map((each) => each.parts[0].text),
    ["hello.", CODE, RECALL],
  );
  assert.equal(turns[2].completion.text, RECALLED);
});

test("an ended session is told apart from one that never was, and its place is free", async (t) => {
  const server = await serve(t, { local: { sessions: { maxSessions: 2, reaperIntervalS: 0.05 } } });
  const short = await create(server, { ttl_s: 0.2 });
  const long = await create(server, { ttl_s: 9999 });
  assert.deepEqual([long.policy.ttl_s, long.policy.clamped], [300, ["ttl_s"]]);
  refused(await post(server, DRONES, {}), 409, "session_limit");
  await until("its time is over", async () => (await one(server, short.session_id)).error !== undefined);
  refused(await turn(server, short.session_id, "hello."), 410, "session_expired");
  const next = await create(server);
  assert.deepEqual((await remove(server, next.session_id)).body, {
    ok: true,
    session_id: next.session_id,
    state: "deleted",
  });
  refused(await remove(server, next.session_id), 404, "session_not_found");
  refused(await turn(server, "sidr_nobody", "hello."), 404, "session_not_found");
  for (const odd of ["..%2F..%2Fx", `sidr_${"x".repeat(10_000)}`, long.session_id.toUpperCase()]) {
    refused(await turn(server, odd, "hello."), 404, "session_not_found");
  }
  assert.equal((await one(server, long.session_id)).state, "active");
});

test("limits of turns and context refuse what is too much and leave the session as it was", async (t) => {
  const server = await serve(t);
  const { session_id } = await create(server, { max_turns: 2, max_context_tokens: 60 });
  await turn(server, session_id, CODE);
  const before = await one(server, session_id);
  refused(await turn(server, session_id, "amber ".repeat(100)), 409, "max_context_tokens_exceeded");
  refused(await turn(server, session_id, "hello.", { max_tokens: 60 }), 409, "max_context_tokens_exceeded");
  assert.equal((await one(server, session_id)).context_tokens, before.context_tokens);
  assert.equal((await turn(server, session_id, RECALL)).body.completion.text, RECALLED);
  refused(await turn(server, session_id, RECALL), 409, "max_turns_exceeded");
});

test("parts that cannot be are refused by name and nothing is said", async (t) => {
  const server = await serve(t);
  const { session_id } = await create(server);
  for (const [body, param, status] of [
    [{}, "parts", 400],
    [{ parts: [] }, "parts", 400],
    [{ parts: [{ type: "text", text: null }] }, "parts[0].text", 400],
    [{ parts: [{ type: "dance" }] }, "parts[0].type", 415],
    [{ ...text("hello."), max_tokens: 0 }, "max_tokens", 400],
    [{ parts: [{ type: "tool_result", content: "x" }] }, "parts[0]", 400],
  ]) {
    const { status: found, body: answer } = await turn(server, session_id, body);
    assert.deepEqual([found, answer.error.param], [status, param], JSON.stringify(body));
  }
  assert.equal((await one(server, session_id)).turn_count, 0);
});

test("of two turns at once one runs, and a session that is deleted in a turn ends it", async (t) => {
  const server = await serve(t, { local: endless(t) });
  const { session_id } = await create(server, { max_context_tokens: 30_000 });
  const path = `${DRONES}/${session_id}/turns`;
  const running = await open(server, path, { ...text("hello."), stream: true, max_tokens: 29_000 });
  await running.next();
  refused(await turn(server, session_id, "hello."), 409, "session_busy");
  assert.equal((await one(server, session_id)).state, "busy");
  await until("it speaks", async () => JSON.parse(await running.next()).delta?.text !== undefined);
  assert.equal((await remove(server, session_id)).status, 200);
  const events = await running.rest();
  assert.equal(JSON.parse(events.at(-1)).error.code, "session_not_found");
  await until("the worker is free", async () => (await worker(server)).state === "ready");
  refused(await turn(server, session_id, "hello."), 404, "session_not_found");
});

test("a client that leaves in a turn leaves the session as it was", async (t) => {
  const server = await serve(t, { local: endless(t) });
  const { session_id } = await create(server, { max_context_tokens: 30_000 });
  await turn(server, session_id, "hello.", { max_tokens: 2 });
  const before = await one(server, session_id);
  const path = `${DRONES}/${session_id}/turns`;
  const running = await open(server, path, {
    ...text(CODE),
    stream: true,
    max_tokens: ENDLESS_TOKENS - 2000,
  });
  for (let seen = 0; seen < 4; seen += 1) await running.next();
  running.leave();
  await until("it is idle again", async () => (await one(server, session_id)).state === "active");
  const after = await one(server, session_id);
  assert.deepEqual([after.turn_count, after.context_tokens], [before.turn_count, before.context_tokens]);
  assert.equal((await turn(server, session_id, "hello.", { max_tokens: 2 })).body.turn_index, 2);
});

test("live state holds off unloads without force, and what is lost is never answered from nothing", async (t) => {
  const server = await serve(t, { local: { worker: { idleUnload: { idleMs: 300 } } } });
  const { session_id } = await create(server);
  await turn(server, session_id, CODE);
  const { pid } = await worker(server);
  await new Promise((resolve) => setTimeout(resolve, 900));
  assert.equal((await turn(server, session_id, RECALL)).body.completion.text, RECALLED);
  assert.equal((await worker(server)).pid, pid);
  refused(await post(server, "/admin/worker/unload", {}), 409, "worker_busy");
  assert.equal((await post(server, "/admin/worker/unload", { force: true })).status, 200);
  refused(await turn(server, session_id, RECALL), 409, "session_lost");
  assert.equal((await one(server, session_id)).state, "lost");
  assert.equal((await remove(server, session_id)).status, 200);
  // Chat goes on as ever, and without sessions the worker is unloaded when idle.
  assert.equal((await ask(server, "hello.", { max_tokens: 2 })).status, 200);
  await until("it is unloaded", async () => (await worker(server)).state === "unloaded");
  assert.ok(!lives(pid));
});

test("a worker that is killed in a turn loses the session, and the turn says so", async (t) => {
  const server = await serve(t, { local: endless(t) });
  const { session_id } = await create(server, { max_context_tokens: 30_000 });
  await turn(server, session_id, "hello.", { max_tokens: 2 });
  const path = `${DRONES}/${session_id}/turns`;
  const running = await open(server, path, { ...text("hello."), stream: true, max_tokens: 20_000 });
  await running.next();
  process.kill((await worker(server)).pid, "SIGKILL");
  assert.equal(JSON.parse((await running.rest()).at(-1)).error.code, "worker_crashed");
  refused(await turn(server, session_id, "hello."), 409, "session_lost");
});

test("a deleted session gives its memory back", async (t) => {
  const server = await serve(t);
  const memory = async () => (await get(server, "/admin/stats")).backend.memory;
  await ask(server, "hello.", { max_tokens: 2 });
  const { session_id } = await create(server);
  await turn(server, session_id, `notes: ${"amber lantern seven. ".repeat(400)}`, { max_tokens: 2 });
  const { state_bytes } = await one(server, session_id);
  assert.ok(state_bytes > 500_000);
  assert.equal((await remove(server, session_id)).status, 200);
  const before = (await memory()).active_gb;
  await ask(server, "hello.", { max_tokens: 2 });
  assert.ok((await memory()).active_gb <= before, "less is in use than before");
});

test("a session has instructions, tools and sampling of its own, and its calls are answered in turns", async (t) => {
  const server = await serve(t);
  const tools = [
    {
      type: "function",
      function: {
        name: "get_weather",
        description: "weather of a city",
        parameters: { type: "object", properties: { city: { type: "string" } }, required: ["city"] },
      },
    },
  ];
  const made = await create(server, {
    tools,
    tool_choice: "required",
    temperature: 0,
    seed: 5,
    system: "be brief.",
  });
  const called = await turn(server, made.session_id, "what is the weather in paris?");
  assert.equal(called.body.completion.finish_reason, "tool_calls");
  const [{ id, function: wanted }] = called.body.completion.tool_calls;
  assert.deepEqual([wanted.name, typeof JSON.parse(wanted.arguments).city], ["get_weather", "string"]);
  const unknown = { parts: [{ type: "tool_result", tool_call_id: "nobody", content: "sunny" }] };
  refused(await turn(server, made.session_id, unknown), 400, "bad_request");
  const answered = await turn(server, made.session_id, {
    parts: [{ type: "tool_result", tool_call_id: id, content: "sunny" }],
  });
  assert.deepEqual([answered.status, answered.body.turn_index], [200, 2]);
  for (const [bad, param] of [
    [{ tools: [{}] }, "tools[0].function"],
    [{ temperature: 9 }, "temperature"],
    [{ system: 5 }, "system"],
    [{ model: "nobody" }, "model"],
    [{ ttl_s: -1 }, "ttl_s"],
  ]) {
    const { status, body } = await post(server, DRONES, bad);
    assert.ok(status >= 400 && status < 500 && body.error.param === param, JSON.stringify([bad, body]));
  }
});

test("sound and pictures of a turn stay in the session, each told by its tokens and none kept in the transcript", async (t) => {
  const server = await serve(t);
  const canary = (name) =>
    readFileSync(join(import.meta.dirname, "../../worker/pocket/canary", name)).toString("base64");
  const { session_id } = await create(server);
  const heard = await turn(server, session_id, {
    parts: [
      { type: "text", text: "what do you hear?" },
      { type: "audio", audio: { format: "wav", data: canary("lantern_seven.wav") } },
    ],
  });
  assert.equal(heard.body.completion.text, "i heard lantern seven.");
  const { audio_token_count, audio_segments } = heard.body.metrics;
  assert.ok(audio_token_count > 0 && heard.body.usage.prompt_tokens > audio_token_count);
  assert.deepEqual(
    audio_segments.map((segment) => segment.tokens),
    [audio_token_count],
  );
  const after = await turn(server, session_id, "what is the code?");
  assert.equal(after.body.metrics.audio_token_count, 0);
  assert.ok(after.body.metrics.cached_tokens >= heard.body.metrics.context_tokens_total - 1);
  // The built-in model has never seen a picture after it heard something.
  const other = await create(server);
  const seen = await turn(server, other.session_id, {
    parts: [
      { type: "image_url", image_url: { url: `data:image/png;base64,${canary("blue.png")}` } },
      { type: "text", text: "what color is this?" },
    ],
  });
  assert.equal(seen.body.completion.text, "the color is blue.");
  const turns = [session_id, other.session_id].map(
    async (id) => (await get(server, `${DRONES}/${id}/transcript`)).turns,
  );
  const told = (await Promise.all(turns)).flat();
  assert.deepEqual(
    told.map((each) => each.parts.map((part) => part.type)),
    [["text", "audio"], ["text"], ["image", "text"]],
  );
  assert.ok(!JSON.stringify(told).includes(canary("blue.png").slice(100, 140)));
  const short = await create(server, { audio_seconds_per_turn: 0.5 });
  const long = { parts: [{ type: "audio", audio: { format: "wav", data: canary("lantern_seven.wav") } }] };
  refused(await turn(server, short.session_id, long), 400, "audio_too_long");
  const broken = { parts: [{ type: "audio", audio: { format: "wav", data: "UklGRg==" } }] };
  refused(await turn(server, short.session_id, broken), 400, "invalid_audio");
  assert.equal((await one(server, short.session_id)).turn_count, 0);
});
