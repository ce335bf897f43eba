// Prompts are counted before a worker sees them, and the counts are the worker's.
import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { modelCopy, serving } from "./models.mjs";
import { ask, get, serve, worker } from "./server.mjs";

const WINDOW = 65_536;
const PIECES = [
  "hello",
  " ",
  "\n",
  "code",
  "amber ",
  "<|turn>",
  "<bos>",
  "é",
  "😀",
  "▁",
  "  ",
  "\u2028",
  "7",
  "~",
  "zq",
];

/** The same pieces for the same seed. */
function* pieces(seed) {
  let state = seed;
  for (;;) {
    state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0;
    yield PIECES[(state >>> 16) % PIECES.length];
  }
}

function text(seed, count) {
  const source = pieces(seed);
  return Array.from({ length: count }, () => source.next().value).join("");
}

/** Tokens of a prompt as the refusal of an answer that never fits counts them. */
async function refused(server, messages, more = {}) {
  const { status, body } = await ask(server, messages, { max_tokens: WINDOW, ...more });
  assert.deepEqual([status, body.error.code], [400, "context_length_exceeded"]);
  return Number(body.error.message.match(/resulted in (\d+) tokens/)[1]);
}

test("a prompt is refused with the worker's own count, before any worker is started", async (t) => {
  const server = await serve(t);
  const prompts = Array.from({ length: 24 }, (_, seed) => [
    { role: "system", content: text(3 * seed + 1, seed % 5) },
    { role: "user", content: text(3 * seed + 2, 1 + seed * seed) },
    { role: "assistant", content: text(3 * seed + 3, seed % 7) },
    { role: "user", content: text(3 * seed + 4, 3) },
  ]);
  prompts.push([{ role: "user", content: text(99, 6000) }]);
  const counts = [];
  for (const prompt of prompts) counts.push(await refused(server, prompt));
  assert.equal((await worker(server)).state, "unloaded");
  for (const [at, prompt] of prompts.entries()) {
    const { status, body } = await ask(server, prompt, { max_tokens: 1 });
    assert.equal(status, 200);
    assert.equal(counts[at], body.usage.prompt_tokens, `prompt ${at}`);
  }
});

test("a prompt far over the window is refused soon, whatever its length", async (t) => {
  const server = await serve(t);
  const { status, body } = await ask(server, text(5, 3_000_000));
  assert.deepEqual([status, body.error.code], [400, "context_length_exceeded"]);
  assert.match(
    body.error.message,
    /maximum context length is 65536 tokens\. However, your messages resulted in \d+ tokens/,
  );
  assert.equal((await get(server, "/admin/requests")).data[0].error.type, "context_length_exceeded");
});

test("a large model is shown an empty thought where it is not to think, and a small one nothing", async (t) => {
  const large = modelCopy(t);
  const file = join(large, "config.json");
  const config = JSON.parse(readFileSync(file, "utf8"));
  config.text_config.hidden_size_per_layer_input = 0;
  writeFileSync(file, JSON.stringify(config));
  const [there, here] = [
    await serve(t, { local: serving(large, { contextWindowTokens: WINDOW }) }),
    await serve(t),
  ];
  const counted = async (server, thinks) =>
    refused(server, [{ role: "user", content: "hello" }], { enable_thinking: thinks });
  assert.equal(await counted(there, true), await counted(here, true));
  assert.ok((await counted(there, false)) > (await counted(here, false)) + 2);
});
