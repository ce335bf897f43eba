import { describe, expect, it } from "vitest";
import { GrowingText } from "./growing_text.svelte.js";

function grown(text: string, step: number): GrowingText {
  const growing = new GrowingText();
  for (let at = 0; at < text.length; at += step) growing.push(text.slice(at, at + step));
  return growing;
}

const shown = (text: GrowingText) => [...text.blocks, text.tail];

describe("growing text", () => {
  it("loses_nothing_and_shows_the_same_lines_however_it_came", () => {
    const lines = Array.from({ length: 900 }, (_, line) =>
      line % 7 === 0 ? "" : `line ${line} of the text`,
    );
    const text = lines.join("\n");
    const wanted = shown(grown(text, text.length));
    for (const step of [1, 3, 64, 5000]) {
      const growing = grown(text, step);
      expect(growing.whole).toBe(text);
      expect(shown(growing)).toEqual(wanted);
    }
    expect(wanted.length).toBeGreaterThan(4);
    expect(wanted.join("\n")).toBe(text);
  });

  it("never_ends_a_block_with_an_empty_line_because_the_page_would_not_show_it", () => {
    const growing = grown(`${"a".repeat(1999)}\n\n\n${"b".repeat(3000)}\n\nc`, 1);
    expect(growing.blocks.length).toBeGreaterThan(0);
    expect(growing.blocks.filter((block) => block.endsWith("\n"))).toEqual([]);
    expect(shown(growing).join("\n")).toBe(growing.whole);
  });

  it("keeps_the_part_that_changes_small_even_without_line_breaks", () => {
    const growing = new GrowingText();
    let longest = 0;
    for (let piece = 0; piece < 20_000; piece++) {
      growing.push("word ");
      longest = Math.max(longest, growing.tail.length);
    }
    expect(longest).toBeLessThanOrEqual(8000);
    expect(growing.whole).toHaveLength(100_000);
    expect(grown("🛩".repeat(20_000), 2).blocks.every((block) => !/\ud83d$/.test(block))).toBe(true);
  });

  it("leaves_closed_blocks_as_they_are", () => {
    const growing = grown("some words\n".repeat(1000), 11);
    const before = growing.blocks[0];
    growing.push("more\n".repeat(3000));
    expect(growing.blocks[0]).toBe(before);
  });
});
