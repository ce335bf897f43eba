// Pictures and sound through the real engine.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { ask, serve } from "./server.mjs";

const FILES = join(import.meta.dirname, "../fixtures/media");
const file = (name) => readFileSync(join(FILES, name)).toString("base64");
const sound = (name, format) => ({ type: "input_audio", input_audio: { data: file(name), format } });
const picture = (name, type) => ({
  type: "image_url",
  image_url: { url: `data:${type};base64,${file(name)}` },
});
const user = (...content) => [{ role: "user", content }];
const HEAR = { type: "text", text: "what do you hear?" };
const SEE = { type: "text", text: "what color is this?" };
const TOKENS_A_SECOND = 25;
const MARKERS = 2;

test("words are heard in every format, and pictures are seen", async (t) => {
  const server = await serve(t);
  for (const [name, format] of [
    ["words.m4a", "m4a"],
    ["words.mp3", "mp3"],
  ]) {
    const { status, body } = await ask(server, user(HEAR, sound(name, format)), { temperature: 0 });
    assert.equal(status, 200, JSON.stringify(body.error));
    assert.match(body.choices[0].message.content, /lantern seven/, name);
  }
  const { status, body } = await ask(server, user(picture("blue.jpg", "image/jpeg"), SEE), {
    temperature: 0,
  });
  assert.equal(status, 200, JSON.stringify(body.error));
  assert.match(body.choices[0].message.content, /blue/);
  assert.equal(body.usage.prompt_tokens_details.audio_tokens, 0);
});

test("all of 45 s reach the model, cut in two, and are counted", async (t) => {
  const server = await serve(t);
  const bare = await ask(server, user(HEAR), { max_tokens: 1 });
  const { status, body } = await ask(server, user(HEAR, sound("words_45s.m4a", "m4a")), { max_tokens: 4 });
  assert.equal(status, 200, JSON.stringify(body.error));
  const { audio_tokens } = body.usage.prompt_tokens_details;
  assert.ok(Math.abs(audio_tokens - 45 * TOKENS_A_SECOND) <= 2, `${audio_tokens}`);
  assert.equal(body.usage.prompt_tokens - bare.body.usage.prompt_tokens, audio_tokens + 2 * MARKERS);
});

test("a voice note is written down by OpenAI's own door, in each of its formats", async (t) => {
  const server = await serve(t);
  const told = async (fields, path = "transcriptions") => {
    const form = new FormData();
    form.set("file", new Blob([readFileSync(join(FILES, "words.m4a"))], { type: "audio/mp4" }), "note.m4a");
    for (const [name, value] of Object.entries(fields)) form.set(name, value);
    return fetch(`${server.url}/v1/audio/${path}`, { method: "POST", body: form });
  };
  const plain = await told({ model: "gemma-4-pocket" });
  assert.equal(plain.status, 200);
  const { text, usage } = await plain.json();
  assert.match(text, /lantern seven/);
  assert.ok(usage.input_token_details.audio_tokens > TOKENS_A_SECOND);
  assert.equal(await (await told({ response_format: "text", language: "en" })).text(), `${text}\n`);
  const verbose = await (await told({ response_format: "verbose_json" }, "translations")).json();
  assert.equal(verbose.task, "translate");
  assert.ok(verbose.duration > 0.5 && verbose.duration < 3, `${verbose.duration}`);
  for (const [fields, status, code] of [
    [{ response_format: "srt" }, 400, "unsupported_request"],
    [{ stream: "true" }, 400, "unsupported_request"],
    [{ model: "no-such-model" }, 404, "model_not_found"],
    [{ temperature: "9" }, 400, "bad_request"],
  ]) {
    const refused = await told(fields);
    assert.deepEqual([refused.status, (await refused.json()).error.code], [status, code]);
  }
});

test("a file of 24 MB is taken, one over ten minutes is refused with its length", async (t) => {
  const server = await serve(t);
  const transcribe = async (seconds, rate, channels) => {
    const form = new FormData();
    form.set("file", new Blob([silence(seconds, rate, channels)], { type: "audio/wav" }), "long.wav");
    const answer = await fetch(`${server.url}/v1/audio/transcriptions`, { method: "POST", body: form });
    return { status: answer.status, body: await answer.json() };
  };
  const long = await transcribe(125, 48_000, 2);
  assert.equal(long.status, 200, JSON.stringify(long.body));
  assert.equal(long.body.usage.input_token_details.audio_tokens, 125 * TOKENS_A_SECOND);
  const longer = await transcribe(601, 8_000, 1);
  assert.equal(longer.body.error.code, "audio_too_long");
  assert.match(longer.body.error.message, /601000 ms; the limit is 600000 ms/);
});

/** A WAV of 16-bit zeros. */
function silence(seconds, rate, channels) {
  const bytes = seconds * rate * channels * 2;
  const wav = Buffer.alloc(44 + bytes);
  wav.write("RIFF", 0);
  wav.writeUInt32LE(36 + bytes, 4);
  wav.write("WAVEfmt ", 8);
  wav.writeUInt32LE(16, 16);
  wav.writeUInt16LE(1, 20);
  wav.writeUInt16LE(channels, 22);
  wav.writeUInt32LE(rate, 24);
  wav.writeUInt32LE(rate * channels * 2, 28);
  wav.writeUInt16LE(channels * 2, 32);
  wav.writeUInt16LE(16, 34);
  wav.write("data", 36);
  wav.writeUInt32LE(bytes, 40);
  return wav;
}
