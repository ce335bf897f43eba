import { describe, expect, it } from "vitest";
import type { MemoryView } from "./generated/panel.js";
import { splitMemory, workerBytes } from "./memory.js";

const NOTHING: MemoryView = {
  server_bytes: null,
  worker_bytes: null,
  active_bytes: null,
  peak_bytes: null,
  cache_bytes: null,
};

describe("memory", () => {
  it("takes_the_worker_apart_so_that_the_parts_make_the_total", () => {
    const memory = { ...NOTHING, server_bytes: 30, worker_bytes: 400, active_bytes: 90, cache_bytes: 10 };
    const split = splitMemory(memory, true);
    expect(split.parts).toEqual([
      { use: "server", bytes: 30 },
      { use: "in_use", bytes: 90 },
      { use: "kept", bytes: 10 },
      { use: "other", bytes: 300 },
    ]);
    expect(split).toMatchObject({ totalBytes: 430, atLeast: false });
  });

  it("never_takes_unknown_for_zero", () => {
    expect(splitMemory(NOTHING, true)).toEqual({ parts: [], totalBytes: null, atLeast: false });
    const server = splitMemory({ ...NOTHING, server_bytes: 30 }, true);
    expect(server).toEqual({ parts: [{ use: "server", bytes: 30 }], totalBytes: 30, atLeast: true });
    expect(splitMemory({ ...NOTHING, server_bytes: 30 }, false).atLeast).toBe(false);
    expect(splitMemory({ ...NOTHING, worker_bytes: 30 }, true)).toMatchObject({
      totalBytes: 30,
      atLeast: true,
    });
  });

  it("counts_arrays_that_are_more_than_the_process_and_shows_no_negative_rest", () => {
    const memory = { ...NOTHING, server_bytes: 1, worker_bytes: 50, active_bytes: 80, cache_bytes: 20 };
    const split = splitMemory(memory, true);
    expect(split.parts.map(({ use }) => use)).toEqual(["server", "in_use", "kept"]);
    expect(split.totalBytes).toBe(101);
    expect(split.parts.reduce((sum, { bytes }) => sum + bytes, 0)).toBe(101);
  });

  it("knows_the_worker_by_its_arrays_alone", () => {
    expect(workerBytes({ ...NOTHING, active_bytes: 5 })).toBe(5);
    expect(workerBytes(NOTHING)).toBeNull();
  });
});
