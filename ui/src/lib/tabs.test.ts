import { describe, expect, it } from "vitest";
import { Tabs, isCopyShortcut, tabByShortcut } from "./tabs.svelte.js";

function remembering(hash: string) {
  const memo = { hash, read: () => memo.hash, write: (next: string) => void (memo.hash = next) };
  return { memo, tabs: new Tabs(memo) };
}

const press = (key: string, more: object = {}) => ({
  key,
  ctrlKey: false,
  metaKey: false,
  shiftKey: false,
  altKey: false,
  ...more,
});

describe("tabs", () => {
  it("chooses_what_the_address_says_and_the_overview_otherwise", () => {
    expect(["", "#", "#test", "#overview", "#models"].map((hash) => remembering(hash).tabs.chosen)).toEqual([
      "overview",
      "overview",
      "test",
      "overview",
      "overview",
    ]);
  });

  it("remembers_the_choice_in_the_address", () => {
    const { memo, tabs } = remembering("");
    tabs.choose("test");
    expect(memo.hash).toBe("#test");
    memo.hash = "#overview";
    tabs.recall();
    expect(tabs.chosen).toBe("overview");
  });

  it("goes_round_with_arrows_and_to_the_ends", () => {
    const { tabs } = remembering("");
    expect(["ArrowRight", "ArrowLeft", "Home", "End", "a"].map((key) => tabs.byArrow(key))).toEqual([
      "test",
      "test",
      "overview",
      "test",
      null,
    ]);
  });

  it("knows_its_shortcuts_and_leaves_others_alone", () => {
    expect(tabByShortcut(press("2", { ctrlKey: true }))).toBe("test");
    expect(tabByShortcut(press("1", { metaKey: true }))).toBe("overview");
    expect(tabByShortcut(press("9", { metaKey: true }))).toBeNull();
    expect(tabByShortcut(press("2"))).toBeNull();
    expect(tabByShortcut(press("2", { ctrlKey: true, shiftKey: true }))).toBeNull();
    expect(isCopyShortcut(press("L", { ctrlKey: true, shiftKey: true }))).toBe(true);
    expect(isCopyShortcut(press("l", { ctrlKey: true }))).toBe(false);
  });
});
