/** The worker states the server names. */
export const WORKER_STATES = [
  "unloaded",
  "admitting",
  "starting",
  "loading",
  "ready",
  "busy",
  "stopping",
  "backoff",
  "failed",
  "closed",
] as const;

/** One of the worker states the server names. */
export type WorkerState = (typeof WORKER_STATES)[number];

/** The part of `GET /ready` that the page shows. */
export interface Readiness {
  acceptingRequests: boolean;
  state: WorkerState;
  modelId: string | null;
  lastError: string | null;
  cooldownS: number;
  queueDepth: number;
}

/** One entry of `GET /v1/models`. */
export interface Model {
  id: string;
  contextTokens: number | null;
}

/** The five shapes of the state mark. */
export type Shape = "hollow" | "filling" | "solid" | "dotted" | "slashed";

/** A state in a person's words. */
export interface Condition {
  shape: Shape;
  tone: "quiet" | "ok" | "warn" | "bad";
  word: string;
  /** How long it has been so, where a person waits for it to end. */
  elapsedS: number | null;
  note: string | null;
}

/** Reads the body of `GET /ready`; null when it is not what this server sends. */
export function readReadiness(body: unknown): Readiness | null {
  const ready = asRecord(body);
  const worker = asRecord(ready?.worker);
  const state = WORKER_STATES.find((known) => known === worker?.state);
  if (ready === null || worker === null || state === undefined) return null;
  return {
    acceptingRequests: ready.accepting_requests === true,
    state,
    modelId: asText(worker.model_id),
    lastError: asText(worker.last_error),
    cooldownS: asNumber(worker.cooldown_remaining_s) ?? 0,
    queueDepth: asNumber(worker.queue_depth) ?? 0,
  };
}

/** Reads the body of `GET /v1/models`; entries without an id are left out. */
export function readModels(body: unknown): Model[] {
  const list = asRecord(body)?.data;
  if (!Array.isArray(list)) return [];
  return list.flatMap((entry: unknown) => {
    const id = asText(asRecord(entry)?.id);
    return id === null ? [] : [{ id, contextTokens: asNumber(asRecord(entry)?.context_window) }];
  });
}

/** The state in a person's words; `inStateS` is how long the page has seen this state. */
export function describe(ready: Readiness, inStateS: number): Condition {
  if (!ready.acceptingRequests && (ready.state === "unloaded" || ready.state === "ready")) {
    return {
      shape: "hollow",
      tone: "quiet",
      word: "Stopped",
      elapsedS: null,
      note: "The service takes no requests.",
    };
  }
  switch (ready.state) {
    case "unloaded":
      return {
        shape: "hollow",
        tone: "quiet",
        word: "Idle",
        elapsedS: null,
        note: "The model loads with your first message.",
      };
    case "admitting":
      return { shape: "filling", tone: "warn", word: "Waiting for memory…", elapsedS: null, note: null };
    case "starting":
    case "loading":
      return { shape: "filling", tone: "warn", word: "Loading model…", elapsedS: inStateS, note: null };
    case "ready":
      return { shape: "solid", tone: "ok", word: "Ready", elapsedS: null, note: null };
    case "busy":
      return { shape: "dotted", tone: "ok", word: "Busy", elapsedS: null, note: waiting(ready.queueDepth) };
    case "stopping":
      return { shape: "filling", tone: "warn", word: "Unloading model…", elapsedS: null, note: null };
    case "backoff":
      return {
        shape: "slashed",
        tone: "warn",
        word: "Starting again",
        elapsedS: null,
        note: backoffNote(ready),
      };
    case "failed":
      return { shape: "slashed", tone: "bad", word: "Failed", elapsedS: null, note: ready.lastError };
    case "closed":
      return { shape: "hollow", tone: "quiet", word: "Shutting down", elapsedS: null, note: null };
  }
}

/** An age as a person says it. */
export function ageText(ageMs: number): string {
  const seconds = Math.max(0, Math.round(ageMs / 1000));
  if (seconds < 60) return `${seconds} s`;
  const minutes = Math.floor(seconds / 60);
  return minutes < 60 ? `${minutes} min` : `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}

function waiting(depth: number): string | null {
  return depth > 0 ? `${depth} waiting` : null;
}

function backoffNote(ready: Readiness): string | null {
  const wait = ready.cooldownS > 0 ? `Next try in ${Math.ceil(ready.cooldownS)} s.` : "";
  return [ready.lastError, wait].filter(Boolean).join(" — ") || null;
}

function asRecord(value: unknown): Record<string, unknown> | null {
  return typeof value === "object" && value !== null && !Array.isArray(value)
    ? (value as Record<string, unknown>)
    : null;
}

function asText(value: unknown): string | null {
  return typeof value === "string" && value !== "" ? value : null;
}

function asNumber(value: unknown): number | null {
  return typeof value === "number" && Number.isFinite(value) ? value : null;
}
