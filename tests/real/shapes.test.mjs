// What agents and SDKs send, in their own shapes and sizes, is answered; HANGAR_SHAPES=all: also what takes long.
import assert from "node:assert/strict";
import { after, test } from "node:test";
import { get, serve, worker } from "./server.mjs";
import { requestsOf } from "./shapes.mjs";
import { toldStreamed, toldWhole } from "./told.mjs";

const ALL = process.env.HANGAR_SHAPES === "all";
const PATIENCE_MS = 120_000;
const WINDOW = 65_536;
/** Enough to see that it answers; agents ask for some thousand. */
const TOKENS = 24;
const OVERFLOW =
  /^This model's maximum context length is 65536 tokens\. However, your messages resulted in (\d+) tokens\. Please reduce the length of the messages\.$/;
const TOO_LONG_WITH_ITS_ANSWER =
  /^This model's maximum context length is 65536 tokens\. However, your messages resulted in (\d+) tokens, and 65536 were requested/;

const ordinary = serve({ after });

/** Sends a request as it is; its status, its media type and its body. */
async function send(server, { method, path, headers, body }) {
  const answer = await fetch(server.url + path, {
    method,
    headers: { "content-type": "application/json", ...headers },
    body: body === undefined ? undefined : JSON.stringify(body),
    signal: AbortSignal.timeout(PATIENCE_MS),
  });
  return { status: answer.status, type: answer.headers.get("content-type"), text: await answer.text() };
}

function limited(request, tokens) {
  const limit = "max_tokens" in request.body ? "max_tokens" : "max_completion_tokens";
  return { ...request, body: { ...request.body, [limit]: tokens } };
}

/** What was told, whole or streamed. */
function told({ status, type, text }, { stream, stream_options: options }) {
  assert.equal(status, 200, text);
  if (!stream) return toldWhole(JSON.parse(text));
  assert.match(type, /^text\/event-stream/);
  const events = text.split("\n\n").filter((event) => event !== "");
  const json = events.map((event) => event.replace(/^data: /, ""));
  return toldStreamed(json, options?.include_usage === true);
}

/** An answer that a client can use: it says something, calls only what there is, and its counts add up. */
function assertSane({ content, reasoning, calls, finish_reason, usage }, { tools = [] }) {
  assert.ok(content !== "" || calls.length > 0, "it says something");
  assert.equal(reasoning, "", "nobody asked it to think");
  assert.doesNotMatch(content, /<\||\|>|<turn|call:/);
  const declared = tools.map((tool) => tool.function.name);
  for (const call of calls) {
    assert.ok(declared.includes(call.name));
    assert.match(call.id, /^[A-Za-z0-9]{1,40}$/);
    assert.equal(typeof JSON.parse(call.arguments), "object");
  }
  assert.ok(["stop", "length", "tool_calls"].includes(finish_reason));
  if (usage === undefined) return;
  assert.ok(usage.completion_tokens > 0 && usage.completion_tokens <= TOKENS);
  assert.equal(usage.total_tokens, usage.prompt_tokens + usage.completion_tokens);
}

function assertOfItsSize({ bytes, body }) {
  if (bytes === undefined) return;
  const json = JSON.stringify(body);
  // The picture of ours is larger than the recorded one.
  const most = json.includes("data:image") ? 1.7 : 1.12;
  const share = Buffer.byteLength(json) / bytes;
  assert.ok(share > 0.88 && share < most, `${share} of the recorded size`);
}

async function assertRefused(server, request, code, wording) {
  const refused = await send(server, request);
  assert.equal(refused.status, 400);
  const { error } = JSON.parse(refused.text);
  assert.equal(error.code, code);
  const [, tokens] = error.message.match(wording) ?? assert.fail(error.message);
  return Number(tokens);
}

/** What of its parts the model does not take; those are refused by name. */
async function untaken(server, { body }) {
  const [{ modalities }] = (await get(server, "/v1/models")).data;
  const kinds = { image_url: "image", input_audio: "audio" };
  const parts = body.messages.flatMap(({ content }) => (Array.isArray(content) ? content : []));
  return parts.map(({ type }) => kinds[type]).find((kind) => kind && !modalities.effective.includes(kind));
}

async function answered(server, request) {
  assertOfItsSize(request);
  const kind = await untaken(server, request);
  if (kind !== undefined) {
    const { status, text } = await send(server, request);
    assert.deepEqual([status, JSON.parse(text).error.code], [422, "unsupported_modality"]);
    return null;
  }
  const short = limited(request, TOKENS);
  const answer = told(await send(server, short), short.body);
  assertSane(answer, short.body);
  if (answer.usage === undefined) return answer;
  const counted = limited(request, WINDOW);
  const tokens = await assertRefused(server, counted, "context_length_exceeded", TOO_LONG_WITH_ITS_ANSWER);
  assert.equal(tokens, answer.usage.prompt_tokens, "counted the same before and by the worker");
  return answer;
}

/** Sends a client's requests one after another; the answers of those that are answered. */
async function replay(t, client) {
  const server = await ordinary;
  const answers = [];
  for (const [at, request] of requestsOf(client).entries()) {
    if (request.takes_long && !ALL) continue;
    const began = performance.now();
    if (request.method === "GET") {
      assert.equal((await send(server, request)).status, 200);
    } else if (request.answer?.code) {
      const tokens = await assertRefused(server, request, request.answer.code, OVERFLOW);
      assert.ok(tokens > WINDOW);
    } else {
      const answer = await answered(server, request);
      if (answer !== null) answers.push(answer);
      const { finish_reason: finish, usage } = answer ?? { finish_reason: "refused: parts it does not take" };
      const ms = Math.round(performance.now() - began);
      t.diagnostic(`request ${at}: ${usage?.prompt_tokens ?? "?"} tokens, ${finish}, ${ms} ms`);
    }
  }
  assert.equal((await worker(server)).state, "ready");
  return answers;
}

for (const client of [
  "tool_exec",
  "image_view",
  "pi_agent",
  "overflow_compaction",
  "other_clients",
  ...(ALL ? ["gateway_turns", "many_tools"] : []),
]) {
  test(`what the client of ${client} sends is answered`, (t) => replay(t, client));
}

for (const client of ["sdk_node", "sdk_python"]) {
  test(`the tool that the client of ${client} declares is called`, async (t) => {
    const [first, second] = await replay(t, client);
    for (const { calls, finish_reason } of [first, second]) {
      assert.equal(finish_reason, "tool_calls");
      const told = calls.map((call) => [call.name, JSON.parse(call.arguments)]);
      assert.deepEqual(told, [["get_weather", { city: "tokyo" }]]);
    }
  });
}

test("each request of one conversation is longer than the one before, whatever notes it ends in", async (t) => {
  const counts = (await replay(t, "multi_turn_prefix")).map(({ usage }) => usage.prompt_tokens);
  assert.equal(counts.length, ALL ? 4 : 1);
  assert.deepEqual(
    counts,
    counts.toSorted((a, b) => a - b),
  );
  assert.equal(new Set(counts).size, counts.length);
});

for (const api of ["api_responses", "api_anthropic"]) {
  test(`a client of another API is told that there is none: ${api}`, async () => {
    const server = await ordinary;
    for (const request of requestsOf(api)) {
      assertOfItsSize(request);
      const { status, type, text } = await send(server, request);
      const { error } = JSON.parse(text);
      assert.deepEqual([status, type, error.code], [404, "application/json", "not_found"]);
      assert.ok(error.message.includes(request.path) && error.message.includes("/v1/chat/completions"), text);
    }
  });
}
