// What else OpenAI's client for Node does for its users: objects, loops of tools, retries, time-outs, leaving.
import assert from "node:assert/strict";
import { after, test } from "node:test";
import OpenAI from "openai";
import { zodFunction, zodResponseFormat } from "openai/helpers/zod";
import { z } from "zod";
import { ENDLESS_TOKENS, endless } from "../real/models.mjs";
import { get, serve, until, worker } from "../real/server.mjs";
import { clientOf, counting } from "./sdk.mjs";

const MODEL = "gemma-4-pocket";
const HELLO = [{ role: "user", content: "hello." }];
const SHORT = { model: MODEL, messages: HELLO, max_tokens: 4 };
const ENDLESS = { model: MODEL, messages: HELLO, max_tokens: ENDLESS_TOKENS };
const Finding = z.object({
  kind: z.enum(["lantern", "harbor"]),
  count: z.union([z.literal(1), z.literal(2), z.literal(3)]),
  isNew: z.boolean(),
});
const Weather = z.object({ city: z.string() });

const ordinary = serve({ after });
// A model that finds no end, where nobody may wait.
const narrow = serve({ after }, { local: narrowSettings() });

function narrowSettings() {
  return { ...endless({ after }, MODEL), worker: { queue: { maxDepth: 0 } } };
}

const isFree = async (server) => (await worker(server)).state === "ready";
const freed = (server) => until("the worker is free", () => isFree(server));

/** A stream that runs on and on. */
async function busy(server) {
  const running = await clientOf(server).chat.completions.create({ ...ENDLESS, stream: true });
  await running[Symbol.asyncIterator]().next();
  return running;
}

test("an object is parsed from a whole answer and from a stream", async () => {
  const client = clientOf(await ordinary);
  const response_format = zodResponseFormat(Finding, "finding");
  const asked = { ...SHORT, max_tokens: 200, seed: 1, response_format };
  const whole = (await client.chat.completions.parse(asked)).choices[0].message;
  assert.deepEqual(whole.parsed, Finding.parse(JSON.parse(whole.content)));
  const streamed = await client.chat.completions.stream(asked).finalChatCompletion();
  assert.deepEqual(streamed.choices[0].message.parsed, whole.parsed);
});

test("an object that was cut off is told as such", async () => {
  const client = clientOf(await ordinary);
  const response_format = zodResponseFormat(Finding, "finding");
  const cut = client.chat.completions.parse({ ...SHORT, max_tokens: 2, response_format });
  await assert.rejects(cut, OpenAI.LengthFinishReasonError);
});

test("a loop of tools through the stream helper comes to its end", async () => {
  const client = clientOf(await ordinary);
  const tools = [
    zodFunction({ name: "get_weather", description: "get weather for a city", parameters: Weather }),
  ];
  const messages = [{ role: "user", content: "what is the weather in tokyo?" }];
  const cities = [];
  let answer;
  for (let turn = 0; turn < 4; turn += 1) {
    // An agent that has had enough of calls says so.
    const tool_choice = turn < 3 ? "auto" : "none";
    const asked = { model: MODEL, temperature: 0, messages, tools, tool_choice };
    [answer] = (await client.chat.completions.stream(asked).finalChatCompletion()).choices;
    messages.push(answer.message);
    if (answer.finish_reason !== "tool_calls") break;
    for (const { id, function: called } of answer.message.tool_calls) {
      cities.push(called.parsed_arguments.city);
      messages.push({ role: "tool", tool_call_id: id, content: "sunny" });
    }
  }
  assert.equal(answer.finish_reason, "stop");
  assert.ok(answer.message.content);
  assert.equal(cities[0], "tokyo");
});

for (const [headers, kind, code] of [
  [{}, OpenAI.ConflictError, "worker_busy"],
  [{ "X-Hangar-Overflow": "429" }, OpenAI.RateLimitError, "queue_full"],
]) {
  test(`a busy worker is a ${kind.name}`, async () => {
    const server = await narrow;
    await clientOf(server).chat.completions.create(SHORT);
    const running = await busy(server);
    const refused = clientOf(server, { defaultHeaders: headers }).chat.completions.create(SHORT);
    await assert.rejects(refused, (error) => error instanceof kind && error.code === code);
    running.controller.abort();
    await freed(server);
  });
}

test("a retry waits as long as it is told to and then succeeds", async () => {
  const server = await narrow;
  await clientOf(server).chat.completions.create(SHORT);
  const running = await busy(server);
  const refusal = await clientOf(server)
    .chat.completions.create(SHORT)
    .catch((error) => error);
  const toldS = Number(refusal.headers.get("retry-after"));
  assert.ok(toldS >= 1);
  setTimeout(() => running.controller.abort(), (toldS * 1000) / 2);
  const { client, asked } = counting(server, { maxRetries: 2 });
  const began = performance.now();
  const answer = await client.chat.completions.create(SHORT);
  assert.ok(answer.usage.completion_tokens > 0);
  assert.equal(asked.length, 2);
  assert.ok(performance.now() - began >= toldS * 1000 - 50);
});

test("what is wrong with a request is never tried again", async () => {
  const { client, asked } = counting(await ordinary, { maxRetries: 3 });
  const messages = [{ role: "user", content: "the code is ".repeat(40_000) }];
  await assert.rejects(client.chat.completions.create({ ...SHORT, messages }), (error) => {
    assert.ok(error instanceof OpenAI.BadRequestError);
    assert.equal(error.code, "context_length_exceeded");
    assert.match(error.message, /maximum context length is 65536 tokens/);
    return true;
  });
  await assert.rejects(client.responses.create({ model: MODEL, input: "hello." }), OpenAI.NotFoundError);
  assert.deepEqual(asked, ["/v1/chat/completions", "/v1/responses"]);
});

test("a time-out of the client and an abort free the worker and keep it", async () => {
  const server = await narrow;
  await clientOf(server).chat.completions.create(SHORT);
  const { pid } = await worker(server);
  const hurried = clientOf(server, { timeout: 1000 });
  await assert.rejects(hurried.chat.completions.create(ENDLESS), OpenAI.APIConnectionTimeoutError);
  await freed(server);
  const leaving = new AbortController();
  const left = clientOf(server).chat.completions.create(ENDLESS, { signal: leaving.signal });
  await until("it is answered", async () => (await worker(server)).state === "busy");
  leaving.abort();
  await assert.rejects(left, OpenAI.APIUserAbortError);
  await freed(server);
  assert.equal((await worker(server)).pid, pid);
  assert.equal((await get(server, "/admin/stats")).metrics.worker_starts, 1);
});

test("the client's own id of a request is kept", async () => {
  const client = clientOf(await ordinary);
  const headers = { "X-Request-Id": "mine-1" };
  const { response, request_id, data } = await client.chat.completions
    .create(SHORT, { headers })
    .withResponse();
  assert.deepEqual([response.headers.get("x-request-id"), request_id], ["mine-1", "mine-1"]);
  assert.ok(data.usage.completion_tokens > 0);
});

test("scores of tokens spell the answer and come with the stream's helper too", async () => {
  const client = clientOf(await ordinary);
  const asked = { ...SHORT, max_tokens: 12, temperature: 0, logprobs: true, top_logprobs: 2 };
  const whole = (await client.chat.completions.create(asked)).choices[0];
  const scored = whole.logprobs.content;
  assert.equal(
    Buffer.concat(scored.map(({ bytes }) => Buffer.from(bytes))).toString(),
    whole.message.content,
  );
  for (const { token, logprob, top_logprobs: top } of scored) {
    assert.equal(top.length, 2);
    assert.deepEqual([top[0].token, top[0].logprob], [token, logprob]);
    assert.ok(top[0].logprob >= top[1].logprob && logprob <= 0);
  }
  const streamed = (await client.chat.completions.stream(asked).finalChatCompletion()).choices[0];
  const tokens = (choice) => choice.logprobs.content.map(({ token }) => token);
  assert.deepEqual(tokens(streamed), tokens(whole));
});
