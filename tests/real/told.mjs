// What an answer says, put together from its events or read from its whole body, in one shape for both.
import assert from "node:assert/strict";

const NOTHING = { content: "", reasoning: "", calls: [], scores: [] };

/** What a whole answer says. */
export function toldWhole({ choices, usage }) {
  assert.equal(choices.length, 1);
  const [{ message, finish_reason, logprobs }] = choices;
  const { content, reasoning_content: reasoning = "", tool_calls = [] } = message;
  assert.equal(content === null, tool_calls.length > 0 && !content, "only calls alone have no content");
  const calls = tool_calls.map(({ id, type, function: called }) => ({ id, type, ...called }));
  const scores = logprobs?.content ?? [];
  return { content: content ?? "", reasoning, calls, scores, finish_reason, usage };
}

/** What the events of a stream say, with or without counts; they must come in the order that clients rely on. */
export function toldStreamed(events, isCounted = true) {
  assert.equal(events.at(-1), "[DONE]");
  const chunks = events.slice(0, -1).map((event) => JSON.parse(event));
  const counts = isCounted ? chunks.pop() : { choices: [] };
  assert.deepEqual(counts.choices, [], "the counts come last");
  const told = structuredClone({ ...NOTHING, finish_reason: null });
  assert.equal(chunks[0].choices[0].delta.role, "assistant");
  for (const { choices, usage } of chunks) {
    assert.equal(choices.length, 1);
    assert.equal(usage, isCounted ? null : undefined);
    assert.equal(told.finish_reason, null, "nothing follows the reason of the end");
    hear(told, choices[0]);
  }
  assert.notEqual(told.finish_reason, null);
  return { ...told, usage: counts.usage };
}

function hear(told, { delta, finish_reason, logprobs }) {
  told.scores.push(...(logprobs?.content ?? []));
  told.content += delta.content ?? "";
  told.reasoning += delta.reasoning_content ?? "";
  for (const { index, id, type, function: part } of delta.tool_calls ?? []) {
    if (id !== undefined) {
      assert.equal(index, told.calls.length, "calls begin in their order");
      told.calls.push({ id, type, name: part.name, arguments: "" });
    }
    told.calls[index].arguments += part.arguments;
  }
  told.finish_reason = finish_reason;
}

/**
 * The same without what may differ between two answers to one request: ids, tokens that were read before, and the last
 * digits of scores, because what was read before was read in other pieces.
 */
export function comparable({ calls, usage, scores, ...told }) {
  const { prompt_tokens_details: details, ...counts } = usage;
  assert.ok(details.cached_tokens <= counts.prompt_tokens);
  const tokens = scores.map(({ token, bytes }) => ({ token, bytes }));
  return { ...told, calls: calls.map((call) => ({ ...call, id: undefined })), tokens, usage: counts };
}

/** The largest difference between the scores of two answers that say the same. */
export function differenceOfScores(first, second) {
  const values = ({ scores }) =>
    scores.flatMap(({ logprob, top_logprobs: top }) => [logprob, ...top.map((other) => other.logprob)]);
  const [one, other] = [values(first), values(second)];
  assert.equal(one.length, other.length);
  return one.reduce((most, value, at) => Math.max(most, Math.abs(value - other[at])), 0);
}
