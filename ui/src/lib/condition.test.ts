import { describe as group, expect, it } from "vitest";
import { describe, progress } from "./condition.js";
import { TAKEN_S, snapshotWith } from "./snapshot.fixture.js";

const NOW_MS = TAKEN_S * 1000;
const stopped = (snapshot: ReturnType<typeof snapshotWith>) => ({
  ...snapshot,
  service: { ...snapshot.service, accepting: false },
});

group("condition", () => {
  it("says_every_state_in_words_with_a_shape_of_its_own_kind", () => {
    const states = [
      "unloaded",
      "starting",
      "loading",
      "ready",
      "busy",
      "stopping",
      "backoff",
      "failed",
      "closed",
    ] as const;
    const said = states.map((state) => {
      const { word, shape } = describe(snapshotWith({ state }), NOW_MS);
      return `${state}: ${word} (${shape})`;
    });
    expect(said).toEqual([
      "unloaded: Idle (hollow)",
      "starting: Starting worker… (filling)",
      "loading: Loading model… (filling)",
      "ready: Ready (solid)",
      "busy: Busy (dotted)",
      "stopping: Unloading model… (filling)",
      "backoff: Starting again (slashed)",
      "failed: Failed (slashed)",
      "closed: Shutting down (hollow)",
    ]);
  });

  it("says_stopped_once_nothing_runs_and_stopping_before", () => {
    const words = (["busy", "ready", "stopping", "unloaded", "failed", "backoff"] as const).map(
      (state) => describe(stopped(snapshotWith({ state })), NOW_MS).word,
    );
    expect(words).toEqual(["Stopping…", "Stopping…", "Stopping…", "Stopped", "Stopped", "Stopped"]);
  });

  it("counts_loading_time_from_when_the_state_began", () => {
    const loading = snapshotWith({ state: "loading", phase: "loading" });
    expect(describe(loading, NOW_MS + 12_400)).toMatchObject({ word: "Loading model…", elapsed: "12 s" });
    expect(describe(loading, NOW_MS - 5000).elapsed).toBe("0 s");
  });

  it("tells_how_many_wait_and_when_the_next_try_is", () => {
    const busy = snapshotWith(
      { state: "busy" },
      { queue: { running: true, waiting: 2, waiting_since: [1, 2], max_waiting: 4 } },
    );
    expect(describe(busy, NOW_MS).note).toBe("2 waiting");
    const again = snapshotWith({ state: "backoff", next_start_at: TAKEN_S + 10 });
    expect(describe(again, NOW_MS).note).toBe("Next try in 10 s.");
    expect(describe(again, NOW_MS + 11_000).note).toBe("Trying again…");
  });

  it("knows_progress_only_where_there_is_a_total", () => {
    expect(progress(snapshotWith({ state: "loading", phase_done: 3, phase_total: 4 }))).toBe(0.75);
    expect(progress(snapshotWith({ state: "loading", phase_done: 3, phase_total: 0 }))).toBeNull();
    expect(progress(snapshotWith({ state: "busy", phase_done: 3, phase_total: 4 }))).toBeNull();
  });
});
