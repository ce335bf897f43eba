import { afterEach, describe, expect, it, vi } from "vitest";
import { Copying } from "./copying.svelte.js";

afterEach(() => {
  vi.useRealTimers();
});

describe("copying", () => {
  it("says_for_a_moment_how_it_went", async () => {
    vi.useFakeTimers();
    const copied: string[] = [];
    let refuse = false;
    const copying = new Copying((text) => {
      copied.push(text);
      return refuse ? Promise.reject(new Error("no")) : Promise.resolve();
    });
    await copying.copy("a");
    expect([copying.outcome, copied]).toEqual(["copied", ["a"]]);
    refuse = true;
    await vi.advanceTimersByTimeAsync(1500);
    await copying.copy("b");
    await vi.advanceTimersByTimeAsync(1500);
    expect(copying.outcome).toBe("refused");
    await vi.advanceTimersByTimeAsync(500);
    expect(copying.outcome).toBe("idle");
  });
});
