// A stream and a whole answer say the same, byte for byte. HANGAR_EQUAL_PROMPTS: how many are asked.
import assert from "node:assert/strict";
import { test } from "node:test";
import { request } from "./prompts.mjs";
import { ask, serve, stream } from "./server.mjs";
import { comparable, toldStreamed, toldWhole } from "./told.mjs";

const COUNT = Number(process.env.HANGAR_EQUAL_PROMPTS ?? 14);
/** How many of a hundred answers must at least be of a kind, or the comparison says little. The built-in model seldom thinks. */
const LEAST_OF_100 = { calls: 10, length: 10, stop: 10, text: 20 };

async function whole(server, { messages, ...more }) {
  const { status, body } = await ask(server, messages, more);
  assert.equal(status, 200, JSON.stringify(body));
  return toldWhole(body);
}

async function streamed(server, { messages, ...more }) {
  const answer = await stream(server, messages, { ...more, stream_options: { include_usage: true } });
  assert.equal(answer.status, 200);
  return toldStreamed(await answer.rest());
}

test(`${COUNT} prompts of every kind are answered the same as a stream and as a whole`, async (t) => {
  const server = await serve(t);
  const seen = { calls: 0, thinking: 0, length: 0, stop: 0, text: 0 };
  const differing = [];
  for (let number = 0; number < COUNT; number += 1) {
    const { kind, body } = request(number);
    const inTurn = number % 2 === 0 ? [whole, streamed] : [streamed, whole];
    const [first, second] = [await inTurn[0](server, body), await inTurn[1](server, body)].map(comparable);
    try {
      assert.deepEqual(first, second);
    } catch (difference) {
      differing.push(`prompt ${number} (${kind}): ${difference.message}`);
    }
    seen.calls += first.calls.length > 0;
    seen.thinking += first.reasoning !== "";
    seen.text += first.content !== "";
    if (first.finish_reason in seen) seen[first.finish_reason] += 1;
  }
  const kinds = Object.entries(seen).map(([name, count]) => `${name} ${count}`);
  process.stdout.write(
    `figures: ${COUNT - differing.length} of ${COUNT} prompts answered the same streamed and whole; ${kinds.join(", ")}\n`,
  );
  assert.deepEqual(differing, []);
  for (const [name, least] of Object.entries(LEAST_OF_100))
    assert.ok(
      seen[name] >= Math.floor((least * COUNT) / 100),
      `too few answers of the kind ${name}: ${kinds}`,
    );
});
