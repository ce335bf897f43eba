import type { Figures } from "./completion.js";
import { countText, measuredText } from "./format.js";

/** A figure under an answer, and what it means. */
export interface Figure {
  label: string;
  value: string;
}

/** The one dim line under an answer: only figures that were really reported. */
export function receiptLine(firstWordMs: number | null, figures: Figures | null): string | null {
  const parts: string[] = [];
  if (firstWordMs !== null) parts.push(`${(firstWordMs / 1000).toFixed(2)} s to first word`);
  const speed = tokensPerSecond(figures);
  if (speed !== null) parts.push(`${speed} tok/s`);
  const { promptTokens, cachedTokens } = figures ?? {};
  if (promptTokens && cachedTokens) parts.push(`${Math.round((100 * cachedTokens) / promptTokens)} % cached`);
  return parts.length > 0 ? parts.join(" · ") : null;
}

/** Everything that was reported, in the order it happened. */
export function receiptFigures(figures: Figures): Figure[] {
  const time = (label: string, ms: number | null) =>
    ms === null ? [] : [{ label, value: measuredText(ms) }];
  const tokens = (label: string, count: number | null) =>
    count === null ? [] : [{ label, value: `${countText(count)} tokens` }];
  return [
    ...time("Waited in the queue", figures.queueWaitMs),
    ...time("Waited for the model to load", figures.loadMs),
    ...tokens("Prompt", figures.promptTokens),
    ...tokens("Of it known from before", figures.cachedTokens),
    ...time("Reading the rest", figures.prefillMs),
    ...tokens("Answer", figures.completionTokens),
    ...time("Writing it", figures.generationMs),
    ...time("Whole request, in the server", figures.totalMs),
  ];
}

function tokensPerSecond(figures: Figures | null): number | null {
  const { completionTokens, generationMs } = figures ?? {};
  return completionTokens && generationMs ? Math.round(completionTokens / (generationMs / 1000)) : null;
}
