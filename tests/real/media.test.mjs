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
