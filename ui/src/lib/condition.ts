import { timeText } from "./format.js";
import type { PanelSnapshot } from "./generated/panel.js";

/** The five shapes of the state mark. */
export type Shape = "hollow" | "filling" | "solid" | "dotted" | "slashed";

/** A state in a person's words. */
export interface Condition {
  shape: Shape;
  tone: "quiet" | "ok" | "warn" | "bad";
  word: string;
  /** How long it has been so, where a person waits for it to end. */
  elapsed: string | null;
  note: string | null;
}

/** The state of service and model in a person's words; the menu says the same. */
export function describe({ service, profile, queue }: PanelSnapshot, nowMs: number): Condition {
  const elapsed = timeText(nowMs - profile.since * 1000);
  const quiet = { shape: "hollow", tone: "quiet", elapsed: null, note: null } as const;
  const moving = { shape: "filling", tone: "warn", elapsed, note: null } as const;
  const stopped = { ...quiet, word: "Stopped", note: "The service takes no requests." };
  switch (profile.state) {
    case "unloaded":
      if (!service.accepting) return stopped;
      return { ...quiet, word: "Idle", note: "The model loads with the first request." };
    case "starting":
      return { ...moving, word: "Starting worker…" };
    case "loading":
      return { ...moving, word: profile.phase === "warming_up" ? "Warming up…" : "Loading model…" };
    case "ready":
      if (!service.accepting) return { ...stopped, word: "Stopping…" };
      return { shape: "solid", tone: "ok", word: "Ready", elapsed: null, note: null };
    case "busy":
      if (!service.accepting) return { ...moving, word: "Stopping…", note: "The last answer may end." };
      return { shape: "dotted", tone: "ok", word: "Busy", elapsed, note: waiting(queue.waiting) };
    case "stopping":
      return { ...moving, word: service.accepting ? "Unloading model…" : "Stopping…" };
    case "backoff":
      if (!service.accepting) return stopped;
      return { shape: "slashed", tone: "warn", word: "Starting again", elapsed: null, note: nextTry() };
    case "failed":
      if (!service.accepting) return stopped;
      return { shape: "slashed", tone: "bad", word: "Failed", elapsed: null, note: null };
    case "closed":
      return { ...quiet, word: "Shutting down" };
  }

  function nextTry(): string | null {
    if (profile.next_start_at === null) return null;
    const leftMs = profile.next_start_at * 1000 - nowMs;
    return leftMs > 0 ? `Next try in ${timeText(leftMs + 999)}.` : "Trying again…";
  }
}

/** How far the phase is, from 0 to 1; null where that is not known. */
export function progress({ profile }: PanelSnapshot): number | null {
  if (profile.state !== "loading" || profile.phase_total <= 0) return null;
  return Math.min(1, profile.phase_done / profile.phase_total);
}

function waiting(count: number): string | null {
  return count > 0 ? `${count} waiting` : null;
}
