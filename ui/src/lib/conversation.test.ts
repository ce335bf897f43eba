import { describe, expect, it } from "vitest";
import { CompletionFailed, type Piece, type SentMessage } from "./completion.js";
import { Conversation } from "./conversation.svelte.js";
import { troubleFromServer } from "./trouble.js";

const piece = (part: Partial<Piece>): Piece => ({
  text: "",
  reasoning: "",
  finishReason: null,
  figures: null,
  ...part,
});

const NO_FIGURES = {
  completionTokens: null,
  promptTokens: null,
  cachedTokens: null,
  queueWaitMs: null,
  loadMs: null,
  prefillMs: null,
  generationMs: null,
  totalMs: null,
};

function answering(...answers: Piece[][]) {
  const sent: SentMessage[][] = [];
  let now = 0;
  const conversation = new Conversation(
    async function* (messages) {
      sent.push(messages);
      now += 210;
      for (const part of answers[sent.length - 1] ?? []) yield await Promise.resolve(part);
    },
    () => now,
  );
  return { conversation, sent };
}

describe("conversation", () => {
  it("sends_the_turns_before_with_each_message", async () => {
    const { conversation, sent } = answering([piece({ text: "noted." })], [piece({ text: "amber" })]);
    await conversation.send("remember amber");
    await conversation.send("what was it?");
    expect(sent[1]).toEqual([
      { role: "user", content: "remember amber" },
      { role: "assistant", content: "noted." },
      { role: "user", content: "what was it?" },
    ]);
  });

  it("does_not_take_a_blank_message", async () => {
    const { conversation, sent } = answering();
    expect(await conversation.send("  \n ")).toBe(false);
    expect(sent).toEqual([]);
  });

  it("shows_only_figures_that_were_reported", async () => {
    const figures = {
      ...NO_FIGURES,
      completionTokens: 41,
      promptTokens: 100,
      cachedTokens: 96,
      generationMs: 1000,
    };
    const { conversation } = answering([piece({ text: "a" }), piece({ figures })], [piece({ text: "b" })]);
    await conversation.send("one");
    expect(conversation.turns[0]?.receipt).toBe("0.21 s to first word · 41 tok/s · 96 % cached");
    await conversation.send("two");
    expect(conversation.turns[1]?.receipt).toBe("0.21 s to first word");
  });

  it("says_when_an_answer_was_cut_off_at_its_limit", async () => {
    const { conversation } = answering([piece({ text: "a" }), piece({ finishReason: "length" })]);
    await conversation.send("one");
    expect(conversation.turns[0]?.state).toBe("cut_off");
  });

  it("keeps_what_arrived_when_stopped_and_takes_the_next_message", async () => {
    const conversation = new Conversation(
      async function* (_, signal) {
        yield piece({ text: "amber" });
        await new Promise((_, reject) =>
          signal.addEventListener("abort", () => reject(new Error("aborted"))),
        );
      },
      () => 0,
    );
    const run = conversation.send("one");
    await new Promise((done) => setTimeout(done));
    expect(conversation.running).toBe(true);
    expect(await conversation.send("two")).toBe(false);
    conversation.stop();
    await run;
    expect(conversation.turns[0]).toMatchObject({ state: "stopped", trouble: null });
    expect(conversation.turns[0]?.answer.whole).toBe("amber");
    expect(conversation.running).toBe(false);
  });

  it("leaves_a_failed_turn_out_of_what_is_sent_next_and_can_try_it_again", async () => {
    let fail = true;
    const sent: SentMessage[][] = [];
    const conversation = new Conversation(
      async function* (messages) {
        sent.push(messages);
        if (fail) {
          throw new CompletionFailed(
            troubleFromServer({ code: "queue_full", message: "m", retryable: true }),
          );
        }
        yield await Promise.resolve(piece({ text: "ok" }));
      },
      () => 0,
    );
    await conversation.send("one");
    expect(conversation.turns[0]?.trouble?.remedy).toBe("retry");
    await conversation.send("two");
    expect(sent[1]).toEqual([{ role: "user", content: "two" }]);
    fail = false;
    await conversation.retry();
    expect(conversation.turns.map((turn) => turn.state)).toEqual(["failed", "done"]);
    expect(conversation.turns[1]?.answer.whole).toBe("ok");
  });
});
