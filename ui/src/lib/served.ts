import type { Condition } from "./condition.js";
import type { ServedView } from "./generated/panel.js";

/** A model beside the default one, in a person's words. */
export interface Other {
  id: string;
  name: string;
  shape: Condition["shape"];
  tone: Condition["tone"];
  word: string;
}

/** The models beside the default one that can answer; those that are not on this machine are left out. */
export function others([, ...rest]: readonly ServedView[]): Other[] {
  return rest.flatMap((served) => {
    const look = lookOf(served);
    if (look === null) return [];
    const word = served.waiting > 0 ? `${look.word}, ${served.waiting} waiting` : look.word;
    return [{ id: served.id, name: served.model_id, ...look, word }];
  });
}

function lookOf({ state }: ServedView): Pick<Other, "shape" | "tone" | "word"> | null {
  switch (state) {
    case "unavailable":
      return null;
    case "unloaded":
      return { shape: "hollow", tone: "quiet", word: "Idle" };
    case "starting":
    case "loading":
      return { shape: "filling", tone: "warn", word: "Loading…" };
    case "ready":
      return { shape: "solid", tone: "ok", word: "Ready" };
    case "busy":
      return { shape: "dotted", tone: "ok", word: "Busy" };
    case "stopping":
      return { shape: "filling", tone: "warn", word: "Unloading…" };
    case "backoff":
      return { shape: "slashed", tone: "warn", word: "Starting again" };
    case "failed":
      return { shape: "slashed", tone: "bad", word: "Failed" };
    case "closed":
      return { shape: "hollow", tone: "quiet", word: "Shutting down" };
  }
}
