import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { NotThisServer, type Heard } from "./events.js";
import { KeyWanted } from "./key.js";
import { FIRST_WORD_MS, Panel, SILENCE_MS } from "./panel.svelte.js";
import { TAKEN_S, snapshotWith } from "./snapshot.fixture.js";

/** A server by hand: each opened stream can be fed, broken or left silent. */
class Script {
  opened = 0;
  refusing: Error | null = null;
  #push: (heard: Heard) => void = () => undefined;
  #break: (cause: Error) => void = () => undefined;
  nowMs = () => Date.now();

  async *open(signal: AbortSignal): AsyncGenerator<Heard> {
    this.opened++;
    if (this.refusing) throw this.refusing;
    let broken: Error | null = null;
    const queue: Heard[] = [];
    let wake: () => void = () => undefined;
    this.#push = (heard) => {
      queue.push(heard);
      wake();
    };
    this.#break = (cause) => {
      broken = cause;
      wake();
    };
    signal.addEventListener("abort", () => this.#break(new Error("aborted")));
    for (;;) {
      const next = queue.shift();
      if (next) yield next;
      else if (broken) throw broken;
      else await new Promise<void>((resolve) => (wake = resolve));
    }
  }
  async say(heard: Heard) {
    this.#push(heard);
    await vi.advanceTimersByTimeAsync(0);
  }
  async cut() {
    this.#break(new Error("connection reset"));
    await vi.advanceTimersByTimeAsync(0);
  }
}

const READY: Heard = { kind: "snapshot", snapshot: snapshotWith() };
let script: Script;
let panel: Panel;
let leave: () => void;

beforeEach(async () => {
  vi.useFakeTimers({ now: TAKEN_S * 1000 });
  script = new Script();
  panel = new Panel(script);
  leave = panel.follow();
  await vi.advanceTimersByTimeAsync(0);
});
afterEach(() => {
  leave();
  vi.useRealTimers();
});

describe("panel", () => {
  it("is_live_with_the_first_snapshot", async () => {
    expect(panel.link).toBe("connecting");
    await script.say(READY);
    expect([panel.link, panel.stale, panel.snapshot?.profile.state]).toEqual(["live", false, "ready"]);
  });

  it("says_at_once_that_the_server_is_lost_and_keeps_its_last_word_with_its_age", async () => {
    await script.say(READY);
    await vi.advanceTimersByTimeAsync(3000);
    script.refusing = new TypeError("refused");
    await script.cut();
    expect([panel.link, panel.snapshot?.profile.state, panel.ageMs]).toEqual(["lost", "ready", 3000]);
    await vi.advanceTimersByTimeAsync(4000);
    expect(panel.ageMs).toBe(7000);
  });

  it("tries_again_at_growing_distances_of_at_most_five_seconds", async () => {
    await script.say(READY);
    script.refusing = new TypeError("refused");
    const tries: number[] = [];
    const open = script.open.bind(script);
    script.open = (signal) => {
      tries.push(Date.now() - TAKEN_S * 1000);
      return open(signal);
    };
    await script.cut();
    await vi.advanceTimersByTimeAsync(20_000);
    const waits = tries.map((at, index) => at - (tries[index - 1] ?? 0));
    expect(waits).toEqual([250, 500, 1000, 2000, 4000, 5000, 5000]);
  });

  it("recovers_by_itself_and_then_waits_short_again", async () => {
    await script.say(READY);
    script.refusing = new TypeError("refused");
    await script.cut();
    await vi.advanceTimersByTimeAsync(8000);
    script.refusing = null;
    await vi.advanceTimersByTimeAsync(5000);
    await script.say(READY);
    expect([panel.link, panel.nextTryMs]).toEqual(["live", null]);
    const before = script.opened;
    await script.cut();
    await vi.advanceTimersByTimeAsync(250);
    expect(script.opened).toBe(before + 1);
  });

  it("takes_silence_for_a_dead_connection_and_a_comment_for_a_sign_of_life", async () => {
    await script.say(READY);
    await vi.advanceTimersByTimeAsync(SILENCE_MS - 1000);
    await script.say({ kind: "alive" });
    await vi.advanceTimersByTimeAsync(SILENCE_MS - 1000);
    expect(panel.link).toBe("live");
    await vi.advanceTimersByTimeAsync(1000);
    expect(panel.link).toBe("lost");
    expect(panel.ageMs).toBe(SILENCE_MS);
  });

  it("does_not_wait_for_ever_for_a_first_word", async () => {
    await vi.advanceTimersByTimeAsync(FIRST_WORD_MS);
    expect([panel.link, panel.ageMs]).toEqual(["lost", null]);
    await vi.advanceTimersByTimeAsync(250);
    expect(script.opened).toBe(2);
  });

  it("tells_another_program_from_a_server_that_is_gone", async () => {
    await script.say(READY);
    script.refusing = new NotThisServer();
    await script.cut();
    await vi.advanceTimersByTimeAsync(250);
    expect([panel.link, panel.stale]).toEqual(["foreign", true]);
  });

  it("does_not_make_old_values_young_by_what_another_program_says", async () => {
    await script.say(READY);
    await script.cut();
    await vi.advanceTimersByTimeAsync(3000);
    await script.say({ kind: "alive" });
    expect(panel.ageMs).toBe(3000);
  });

  it("tells_a_server_that_wants_a_key_from_one_that_is_gone", async () => {
    script.refusing = new KeyWanted();
    await script.cut();
    await vi.advanceTimersByTimeAsync(250);
    expect([panel.link, panel.stale, panel.refusals]).toEqual(["locked", true, 1]);
    panel.tryAnew();
    await vi.advanceTimersByTimeAsync(0);
    expect(panel.refusals).toBe(2);
    script.refusing = null;
    panel.tryAnew();
    await vi.advanceTimersByTimeAsync(0);
    await script.say(READY);
    expect(panel.link).toBe("live");
  });

  it("tries_at_once_when_asked_to", async () => {
    script.refusing = new TypeError("refused");
    await script.cut();
    await vi.advanceTimersByTimeAsync(8000);
    const before = script.opened;
    panel.tryNow();
    await vi.advanceTimersByTimeAsync(0);
    expect(script.opened).toBe(before + 1);
  });

  it("leaves_nothing_running_when_it_is_left", async () => {
    await script.say(READY);
    leave();
    await vi.advanceTimersByTimeAsync(60_000);
    expect(script.opened).toBe(1);
    expect(vi.getTimerCount()).toBe(0);
  });

  it("holds_no_connection_while_it_rests_and_says_nothing_of_a_loss", async () => {
    await script.say(READY);
    panel.rest();
    await vi.advanceTimersByTimeAsync(60_000);
    expect([panel.link, panel.stale, script.opened]).toEqual(["resting", false, 1]);
    panel.resume();
    await vi.advanceTimersByTimeAsync(0);
    await script.say(READY);
    expect([panel.link, script.opened]).toEqual(["live", 2]);
  });

  it("takes_a_short_rest_for_no_loss", async () => {
    await script.say(READY);
    panel.rest();
    panel.resume();
    await vi.advanceTimersByTimeAsync(0);
    expect([panel.stale, script.opened]).toEqual([false, 2]);
  });

  it("tells_after_a_rest_that_the_server_has_gone_meanwhile", async () => {
    await script.say(READY);
    panel.rest();
    script.refusing = new TypeError("refused");
    await vi.advanceTimersByTimeAsync(60_000);
    panel.resume();
    await vi.advanceTimersByTimeAsync(0);
    expect([panel.link, panel.ageMs]).toEqual(["lost", 60_000]);
  });

  it("rests_from_trying_too_and_then_tries_at_once", async () => {
    script.refusing = new TypeError("refused");
    await script.cut();
    await vi.advanceTimersByTimeAsync(8000);
    panel.rest();
    const before = script.opened;
    await vi.advanceTimersByTimeAsync(60_000);
    expect([panel.link, script.opened]).toEqual(["lost", before]);
    panel.resume();
    await vi.advanceTimersByTimeAsync(0);
    expect(script.opened).toBe(before + 1);
  });

  it("notes_a_gap_in_the_history_while_the_server_is_lost", async () => {
    await script.say(READY);
    script.refusing = new TypeError("refused");
    await script.cut();
    await vi.advanceTimersByTimeAsync(10_000);
    expect(panel.history.samples.map((sample) => sample.serverBytes)).toEqual([1, null, null]);
  });
});
