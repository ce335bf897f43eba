import { describe as group, expect, it } from "vitest";
import { ageText, describe, readModels, readReadiness, WORKER_STATES, type Readiness } from "./readiness.js";

const READY: Readiness = {
  acceptingRequests: true,
  state: "ready",
  modelId: "m",
  lastError: null,
  cooldownS: 0,
  queueDepth: 0,
};

group("readiness", () => {
  it("is_read_from_the_servers_body_with_unknown_fields_ignored", () => {
    const body = {
      ok: true,
      accepting_requests: true,
      future: 1,
      worker: { state: "busy", model_id: "m", last_error: null, cooldown_remaining_s: 0, queue_depth: 2 },
    };
    expect(readReadiness(body)).toEqual({ ...READY, state: "busy", queueDepth: 2 });
  });

  it("is_refused_when_another_program_answers", () => {
    for (const body of [null, "ok", [], {}, { worker: {} }, { worker: { state: "dancing" } }]) {
      expect(readReadiness(body)).toBeNull();
    }
  });

  it("has_words_for_every_worker_state_and_none_that_says_ready_but_one", () => {
    const words = WORKER_STATES.map((state) => describe({ ...READY, state }, 3).word);
    expect(words.every((word) => word.length > 0)).toBe(true);
    expect(words.filter((word) => word === "Ready")).toHaveLength(1);
  });

  it("tells_states_apart_by_shape_where_their_colour_is_the_same", () => {
    const marks = WORKER_STATES.map((state) => describe({ ...READY, state }, 0));
    const ready = marks.filter((mark) => mark.tone === "ok").map((mark) => mark.shape);
    expect(new Set(ready).size).toBe(ready.length);
  });

  it("says_stopped_when_the_service_takes_no_requests", () => {
    expect(describe({ ...READY, acceptingRequests: false }, 0).word).toBe("Stopped");
  });

  it("counts_loading_seconds_and_the_queue", () => {
    const loading = describe({ ...READY, state: "loading" }, 12);
    expect([loading.word, loading.elapsedS]).toEqual(["Loading model…", 12]);
    expect(describe({ ...READY, state: "busy", queueDepth: 2 }, 0).note).toBe("2 waiting");
    const backoff = describe({ ...READY, state: "backoff", lastError: "it crashed", cooldownS: 4.2 }, 0);
    expect(backoff.note).toBe("it crashed — Next try in 5 s.");
  });
});

group("models", () => {
  it("are_read_without_entries_that_have_no_id", () => {
    const body = {
      object: "list",
      data: [{ id: "a", context_window: 65536 }, { object: "model" }, { id: "b" }],
    };
    expect(readModels(body)).toEqual([
      { id: "a", contextTokens: 65536 },
      { id: "b", contextTokens: null },
    ]);
    expect(readModels({ data: "none" })).toEqual([]);
  });
});

group("age", () => {
  it("is_said_in_the_largest_fitting_unit", () => {
    expect([0, 59_400, 61_000, 3_720_000].map(ageText)).toEqual(["0 s", "59 s", "1 min", "1 h 2 min"]);
  });
});
