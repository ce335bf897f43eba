import { describe, expect, it } from "vitest";
import type { MemoryView } from "./generated/panel.js";
import { MemoryHistory, SLOTS, SLOT_MS, areaPath, peak, roundUp, sum } from "./history.svelte.js";

const MB = 1024 ** 2;
const memory = (server_bytes: number | null, worker_bytes: number | null): MemoryView => ({
  server_bytes,
  worker_bytes,
  active_bytes: null,
  peak_bytes: null,
  cache_bytes: null,
});

describe("memory history", () => {
  it("keeps_the_largest_value_of_a_slot_and_ten_minutes_of_slots", () => {
    const history = new MemoryHistory();
    for (let slot = 0; slot < SLOTS * 2; slot++) {
      history.note(slot * SLOT_MS, memory(1, 2));
      history.note(slot * SLOT_MS + 1000, memory(1, 90));
      history.note(slot * SLOT_MS + 2000, memory(1, 3));
    }
    expect(history.samples).toHaveLength(SLOTS);
    expect(history.samples.every((sample) => sample.workerBytes === 90)).toBe(true);
  });

  it("begins_with_the_first_value_and_notes_a_lost_server_as_unknown", () => {
    const history = new MemoryHistory();
    history.note(0, null);
    expect(history.samples).toEqual([]);
    history.note(SLOT_MS, memory(1, 2));
    history.note(2 * SLOT_MS, null);
    expect(history.samples.at(-1)).toEqual({ slot: 2, serverBytes: null, workerBytes: null });
  });

  it("draws_a_gap_where_nothing_is_known", () => {
    const samples = [
      { slot: 5, serverBytes: 50, workerBytes: null },
      { slot: 6, serverBytes: 100, workerBytes: null },
      { slot: 7, serverBytes: null, workerBytes: null },
      { slot: 8, serverBytes: 25, workerBytes: null },
    ];
    const right = SLOTS - 1;
    expect(
      areaPath(
        samples,
        100,
        () => 0,
        (sample) => sample.serverBytes,
      ),
    ).toBe(
      `M${right - 4} 50L${right - 3} 50L${right - 2} 0L${right - 2} 100L${right - 3} 100L${right - 4} 100Z` +
        `M${right - 1} 75L${right} 75L${right} 100L${right - 1} 100Z`,
    );
  });

  it("scales_to_a_round_figure_that_holds_the_peak", () => {
    expect(roundUp(0)).toBe(64 * MB);
    expect(roundUp(70 * MB)).toBe(96 * MB);
    expect(roundUp(513 * MB)).toBe(768 * MB);
    for (let bytes = MB; bytes < 300 * 1024 * MB; bytes *= 1.3) {
      expect(roundUp(bytes)).toBeGreaterThanOrEqual(bytes);
      expect(roundUp(bytes)).toBeLessThanOrEqual(Math.max(64 * MB, bytes * 1.6));
    }
    const samples = [{ slot: 1, serverBytes: 3, workerBytes: null }];
    expect([peak(samples), peak([]), sum({ slot: 1, serverBytes: null, workerBytes: 4 })]).toEqual([3, 0, 4]);
  });
});
