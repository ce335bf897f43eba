// A stream and a whole answer say the same, byte for byte. HANGAR_EQUAL_PROMPTS: how many are asked.
import assert from "node:assert/strict";
import { test } from "node:test";
import { request } from "./prompts.mjs";
import { ask, serve, stream } from "./server.mjs";
import { comparable, differenceOfScores, toldStreamed, toldWhole } from "./told.mjs";

const COUNT = Number(process.env.HANGAR_EQUAL_PROMPTS ?? 14);
/** How many of a hundred answers must be of a kind at least; the built-in model seldom thinks. */
const LEAST_OF_100 = { calls: 10, length: 10, stop: 10, text: 20, scored: 10 };
/** What was read before is read in other pieces, and sums differ in their last digits. */
const SCORES_MAY_DIFFER_BY = 1e-3;

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
  const seen = { calls: 0, thinking: 0, length: 0, stop: 0, text: 0, scored: 0 };
  let farthest = 0;
  const differing = [];
  for (let number = 0; number < COUNT; number += 1) {
    const { kind, body } = request(number);
    const inTurn = number % 2 === 0 ? [whole, streamed] : [streamed, whole];
    const [first, second] = [await inTurn[0](server, body), await inTurn[1](server, body)];
    try {
      assert.deepEqual(comparable(first), comparable(second));
      farthest = Math.max(farthest, differenceOfScores(first, second));
    } catch (difference) {
      differing.push(`prompt ${number} (${kind}): ${difference.message}`);
    }
    seen.calls += first.calls.length > 0;
    seen.thinking += first.reasoning !== "";
    seen.scored += first.scores.length > 0;
    seen.text += first.content !== "";
    if (first.finish_reason in seen) seen[first.finish_reason] += 1;
  }
  const kinds = Object.entries(seen).map(([name, count]) => `${name} ${count}`);
  process.stdout.write(
    `figures: ${COUNT - differing.length} of ${COUNT} prompts answered the same streamed and whole; ${kinds.join(", ")}; scores differ by ${farthest.toExponential(1)} at most\n`,
  );
  assert.deepEqual(differing, []);
  assert.ok(farthest <= SCORES_MAY_DIFFER_BY, `${farthest}`);
  for (const [name, least] of Object.entries(LEAST_OF_100))
    assert.ok(
      seen[name] >= Math.floor((least * COUNT) / 100),
      `too few answers of the kind ${name}: ${kinds}`,
    );
});
