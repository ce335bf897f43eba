// OpenAI's client for Node against a running server with the built-in model.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { cpSync, createReadStream, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import OpenAI from "openai";
import { ENDLESS_TOKENS, endless } from "../real/models.mjs";
import { get, serve, worker } from "../real/server.mjs";
import { clientOf, counting } from "./sdk.mjs";

const POCKET = join(import.meta.dirname, "../../worker/pocket/model");
const MODEL = "gemma-4-pocket";
const HELLO = [{ role: "user", content: "hello." }];
const GREEDY = {
  model: MODEL,
  temperature: 0,
  messages: [
    { role: "user", content: "remember this code: amber lantern seven." },
    { role: "assistant", content: "noted." },
    { role: "user", content: "what is the code?" },
  ],
};
const ENDLESS = { model: MODEL, messages: HELLO, max_tokens: ENDLESS_TOKENS, stream: true };
const WITH_USAGE = { stream: true, stream_options: { include_usage: true } };

// The server with ordinary settings, for every test that leaves it as it was.
const ordinary = serve({ after });

async function all(stream) {
  const chunks = [];
  for await (const chunk of stream) chunks.push(chunk);
  return chunks;
}

const textOf = (chunks) => chunks.map((chunk) => chunk.choices[0]?.delta.content ?? "").join("");
const countsOf = ({ prompt_tokens, completion_tokens, total_tokens }) => ({
  prompt_tokens,
  completion_tokens,
  total_tokens,
});

test("models are listed, and a whole answer recalls the code words", async () => {
  const client = clientOf(await ordinary);
  const models = await all(client.models.list());
  assert.equal(models[0].id, MODEL);
  const answer = await client.chat.completions.create(GREEDY);
  assert.match(answer.choices[0].message.content, /amber lantern seven/);
  assert.equal(answer.choices[0].finish_reason, "stop");
});

test("a stream says the same as a whole answer, with counts and through the helper too", async () => {
  const client = clientOf(await ordinary);
  const whole = await client.chat.completions.create(GREEDY);
  const chunks = await all(await client.chat.completions.create({ ...GREEDY, ...WITH_USAGE }));
  assert.ok(chunks.length > 4, "the answer came in one piece");
  assert.equal(textOf(chunks), whole.choices[0].message.content);
  assert.equal(chunks.at(-2).choices[0].finish_reason, "stop");
  assert.deepEqual(chunks.at(-1).choices, []);
  assert.deepEqual(countsOf(chunks.at(-1).usage), countsOf(whole.usage));
  const helper = client.chat.completions.stream(GREEDY);
  let told = "";
  helper.on("content", (delta) => (told += delta));
  assert.equal((await helper.finalChatCompletion()).choices[0].message.content, told);
  assert.equal(told, whole.choices[0].message.content);
});

test("both clients see the same whole answer and the same pieces", async () => {
  const server = await ordinary;
  const client = clientOf(server);
  const whole = await client.chat.completions.create(GREEDY);
  const chunks = await all(await client.chat.completions.create({ ...GREEDY, ...WITH_USAGE }));
  const program = [join(import.meta.dirname, "say.py"), server.url];
  const input = JSON.stringify(GREEDY);
  const said = JSON.parse(execFileSync(process.env.HANGAR_CLIENTS_PYTHON, program, { input }));
  assert.deepEqual(said, {
    whole: whole.choices[0].message.content,
    streamed: chunks.slice(0, -1).map((chunk) => chunk.choices[0].delta.content ?? null),
    finish_reason: whole.choices[0].finish_reason,
    usage: countsOf(whole.usage),
    usage_streamed: countsOf(chunks.at(-1).usage),
  });
  assert.match(said.whole, /amber lantern seven/);
});

test("an unknown model is a NotFoundError, a bad field a BadRequestError that names it", async () => {
  const client = clientOf(await ordinary);
  const unknown = client.chat.completions.create({ ...GREEDY, model: "gpt-none" });
  await assert.rejects(unknown, (error) => {
    assert.ok(error instanceof OpenAI.NotFoundError);
    assert.deepEqual([error.code, error.param, error.status], ["model_not_found", "model", 404]);
    assert.match(error.message, /gemma-4-pocket/);
    return true;
  });
  const nobody = [{ role: "nobody", content: "x" }];
  for (const [wrong, code, param] of [
    [{ max_tokens: 0 }, "bad_request", "max_tokens"],
    [{ messages: nobody }, "bad_request", "messages[0].role"],
    [{ n: 2 }, "unsupported_request", "n"],
    [{ max_tokens: 10_000_000 }, "context_length_exceeded", "max_tokens"],
  ]) {
    for (const stream of [false, true]) {
      await assert.rejects(client.chat.completions.create({ ...GREEDY, stream, ...wrong }), (error) => {
        assert.ok(error instanceof OpenAI.BadRequestError, `${error}`);
        assert.deepEqual([error.code, error.param], [code, param]);
        assert.ok(error.requestID);
        return true;
      });
    }
  }
});

test("a busy worker without a queue is a ConflictError, told once when retries are off", async (t) => {
  const server = await serve(t, { local: { ...endless(t, MODEL), worker: { queue: { maxDepth: 0 } } } });
  const { client, asked } = counting(server);
  const running = await clientOf(server).chat.completions.create(ENDLESS);
  await assert.rejects(client.chat.completions.create(GREEDY), (error) => {
    assert.ok(error instanceof OpenAI.ConflictError);
    assert.equal(error.code, "worker_busy");
    assert.ok(Number(error.headers.get("retry-after")) >= 1);
    return true;
  });
  running.controller.abort();
  assert.deepEqual(asked, ["/v1/chat/completions"]);
});

test("a model that cannot load is an InternalServerError that names the file", async (t) => {
  const folder = mkdtempSync(join(tmpdir(), "hangar-clients-"));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const path = join(folder, "model");
  cpSync(POCKET, path, { recursive: true, filter: (file) => !file.endsWith("model.safetensors") });
  const server = await serve(t, { local: { model: { id: "broken", path, sampling: { temperature: 0 } } } });
  const { client, asked } = counting(server);
  await assert.rejects(client.chat.completions.create({ model: "broken", messages: HELLO }), (error) => {
    assert.ok(error instanceof OpenAI.InternalServerError);
    assert.deepEqual([error.status, error.code], [503, "worker_failed"]);
    assert.match(error.message, /model\.safetensors/);
    return true;
  });
  assert.deepEqual(asked, ["/v1/chat/completions"]);
});

test("a stream that the client leaves frees the worker and keeps it", async (t) => {
  const server = await serve(t, { local: endless(t, MODEL) });
  const client = clientOf(server);
  const short = { ...GREEDY, max_tokens: 40 };
  await client.chat.completions.create(short);
  const { pid } = await worker(server);
  const left = await client.chat.completions.create(ENDLESS);
  for await (const chunk of left) if (chunk.choices[0].delta.content) break;
  const aborted = await client.chat.completions.create(ENDLESS);
  aborted.controller.abort();
  const answer = await client.chat.completions.create(short);
  assert.match(answer.choices[0].message.content, /amber lantern seven/);
  assert.equal((await worker(server)).pid, pid);
  const { successful_requests } = (await get(server, "/admin/stats")).metrics;
  assert.equal(successful_requests, 2, "what was left did not run to its end");
});

test("raw responses carry the headers of an answer and of a stream", async () => {
  const client = clientOf(await ordinary);
  const whole = await client.chat.completions.create(GREEDY).withResponse();
  assert.equal(whole.response.headers.get("content-type"), "application/json");
  assert.equal(whole.request_id, whole.response.headers.get("x-request-id"));
  assert.ok(whole.request_id);
  const stream = await client.chat.completions.create({ ...GREEDY, stream: true }).withResponse();
  assert.match(stream.response.headers.get("content-type"), /^text\/event-stream/);
  assert.equal(stream.response.headers.get("cache-control"), "no-store");
  assert.notEqual(stream.request_id, whole.request_id);
  assert.equal(textOf(await all(stream.data)), whole.data.choices[0].message.content);
});

const WEATHER = {
  type: "function",
  function: {
    name: "get_weather",
    description: "get weather for a city",
    parameters: { type: "object", properties: { city: { type: "string" } }, required: ["city"] },
  },
};

test("a call of a tool is the same whole and streamed, and its result goes back by its id", async () => {
  const client = clientOf(await ordinary);
  const messages = [{ role: "user", content: "what is the weather in tokyo?" }];
  const asked = { model: MODEL, temperature: 0, messages, tools: [WEATHER] };
  const whole = (await client.chat.completions.create(asked)).choices[0];
  assert.equal(whole.finish_reason, "tool_calls");
  assert.equal(whole.message.content, null);
  const [call] = whole.message.tool_calls;
  assert.match(call.id, /^[A-Za-z0-9]{1,40}$/);
  assert.deepEqual(
    [call.function.name, JSON.parse(call.function.arguments)],
    ["get_weather", { city: "tokyo" }],
  );
  const streamed = await client.chat.completions.stream(asked).finalChatCompletion();
  assert.equal(streamed.choices[0].finish_reason, "tool_calls");
  const same = ({ name, arguments: text }) => ({ name, text });
  assert.deepEqual(same(streamed.choices[0].message.tool_calls[0].function), same(call.function));
  const answered = [...messages, whole.message, { role: "tool", tool_call_id: call.id, content: "sunny" }];
  const answer = (await client.chat.completions.create({ ...asked, messages: answered })).choices[0];
  assert.doesNotMatch(answer.message.content ?? "", /<\||call:/);
});

test("a tool that runs by itself is called with its arguments and its result is answered", async () => {
  const client = clientOf(await ordinary);
  const cities = [];
  const tool = {
    type: "function",
    function: {
      ...WEATHER.function,
      parse: JSON.parse,
      function: ({ city }) => {
        cities.push(city);
        return "sunny";
      },
    },
  };
  const runner = client.chat.completions.runTools(
    {
      model: MODEL,
      temperature: 0,
      messages: [{ role: "user", content: "what is the weather in tokyo?" }],
      tools: [tool],
    },
    { maxChatCompletions: 2 },
  );
  const results = [];
  runner.on("functionToolCallResult", (result) => results.push(result));
  await runner.done();
  assert.equal(cities[0], "tokyo");
  assert.equal(results[0], "sunny");
});

test("pictures and sound are parts of a message, and a voice note is written down", async () => {
  const client = clientOf(await ordinary);
  const file = (name) => join(import.meta.dirname, "../fixtures/media", name);
  const base64 = (name) => readFileSync(file(name)).toString("base64");
  const says = async (...content) => {
    const messages = [{ role: "user", content }];
    const answer = await client.chat.completions.create({ model: MODEL, temperature: 0, messages });
    return { text: answer.choices[0].message.content, usage: answer.usage };
  };
  const picture = { type: "image_url", image_url: { url: `data:image/jpeg;base64,${base64("blue.jpg")}` } };
  assert.match((await says(picture, { type: "text", text: "what color is this?" })).text, /blue/);
  const sound = { type: "input_audio", input_audio: { data: base64("words.mp3"), format: "mp3" } };
  const heard = await says({ type: "text", text: "what do you hear?" }, sound);
  assert.match(heard.text, /lantern seven/);
  assert.ok(heard.usage.prompt_tokens_details.audio_tokens > 20);
  const note = { model: MODEL, file: createReadStream(file("words.m4a")) };
  const written = await client.audio.transcriptions.create(note);
  assert.match(written.text, /lantern seven/);
  const subtitles = client.audio.transcriptions.create({
    ...note,
    file: createReadStream(file("words.m4a")),
    response_format: "srt",
  });
  await assert.rejects(subtitles, (error) => error.code === "unsupported_request");
});
