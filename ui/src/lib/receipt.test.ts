import { expect, it } from "vitest";
import { receiptFigures, receiptLine } from "./receipt.js";

const NONE = {
  completionTokens: null,
  promptTokens: null,
  cachedTokens: null,
  queueWaitMs: null,
  loadMs: null,
  prefillMs: null,
  generationMs: null,
  totalMs: null,
};

it("tells_only_figures_that_were_reported", () => {
  expect(receiptLine(null, null)).toBeNull();
  expect(receiptFigures(NONE)).toEqual([]);
  const figures = { ...NONE, promptTokens: 1200, cachedTokens: 0, generationMs: 0.4 };
  expect(receiptFigures(figures)).toEqual([
    { label: "Prompt", value: "1,200 tokens" },
    { label: "Of it known from before", value: "0 tokens" },
    { label: "Writing it", value: "under 1 ms" },
  ]);
});
