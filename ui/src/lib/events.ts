import type { PanelSnapshot, ProfileView } from "./generated/panel.js";
import { KeyWanted, wantsKey } from "./key.js";
import { EventStreamDecoder } from "./sse.js";

/** What comes over the server's event stream. */
export type Heard = { kind: "alive" } | { kind: "snapshot"; snapshot: PanelSnapshot };

/** Something answers at this address, but not this server. */
export class NotThisServer extends Error {
  constructor() {
    super("what answers here is not Hangar");
  }
}

/** Every state of the worker; the compiler says when the server's types know another one. */
const STATES: Record<ProfileView["state"], true> = {
  unloaded: true,
  starting: true,
  loading: true,
  ready: true,
  busy: true,
  stopping: true,
  backoff: true,
  failed: true,
  closed: true,
};

/** Opens the event stream; every arrival, a comment too, is at least a sign of life. */
export async function* openEvents(signal: AbortSignal, send: typeof fetch = fetch): AsyncGenerator<Heard> {
  const response = await send("/admin/events", { signal, cache: "no-store" });
  if (await wantsKey(response)) throw new KeyWanted();
  const isEvents = response.headers.get("content-type")?.startsWith("text/event-stream") === true;
  const reader = response.body?.getReader();
  if (!response.ok || !isEvents || reader === undefined) throw new NotThisServer();
  const decoder = new EventStreamDecoder();
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      yield { kind: "alive" };
      for (const event of decoder.push(value)) {
        if (event.name === "snapshot") yield { kind: "snapshot", snapshot: readSnapshot(event.data) };
      }
    }
  } finally {
    await reader.cancel().catch(() => undefined);
  }
}

/** Reads one snapshot; throws `NotThisServer` when it lacks a part the page stands on. */
export function readSnapshot(data: string): PanelSnapshot {
  let body: unknown;
  try {
    body = JSON.parse(data);
  } catch {
    throw new NotThisServer();
  }
  const parts = record(body);
  const state = record(parts?.profile)?.state;
  const known = typeof state === "string" && Object.hasOwn(STATES, state);
  const whole = ["service", "queue", "memory", "requests"].every((name) => record(parts?.[name]) !== null);
  if (!known || !whole) throw new NotThisServer();
  return body as PanelSnapshot;
}

function record(value: unknown): Record<string, unknown> | null {
  return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : null;
}
