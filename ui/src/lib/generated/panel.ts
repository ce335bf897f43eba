// Made from the server's types by its tests; do not edit.

export type PanelSnapshot = { 
/**
 * The service as a whole.
 */
service: ServiceView, 
/**
 * The model that is served.
 */
profile: ProfileView, 
/**
 * Every model that can be asked for, the default first.
 */
profiles: Array<ServedView>, 
/**
 * What runs and what waits.
 */
queue: QueueView, 
/**
 * Memory by process and by use.
 */
memory: MemoryView, 
/**
 * Counts since the service began.
 */
requests: RequestsView, };

export type HostedBy = "command" | "app";

export type ServiceView = { 
/**
 * Its name.
 */
name: string, 
/**
 * Its version.
 */
version: string, 
/**
 * Address of the page.
 */
url: string, 
/**
 * Address for clients.
 */
api_url: string, 
/**
 * When it began.
 */
started_at: number, 
/**
 * Whether requests are taken.
 */
accepting: boolean, 
/**
 * What runs it.
 */
hosted_by: HostedBy, };

export type ProfileView = { 
/**
 * Name clients send as `model`.
 */
model_id: string, 
/**
 * Whether it is the built-in demonstration model.
 */
demonstration: boolean, 
/**
 * Lifecycle state.
 */
state: "unloaded" | "starting" | "loading" | "ready" | "busy" | "stopping" | "backoff" | "failed" | "closed", 
/**
 * Since when it is in that state.
 */
since: number, 
/**
 * What the engine does.
 */
phase: "idle" | "loading" | "warming_up" | "prefill" | "decode" | "probing" | null, 
/**
 * Units done in that phase.
 */
phase_done: number, 
/**
 * Units to do in that phase, 0 where unknown.
 */
phase_total: number, 
/**
 * Largest prompt plus answer, in tokens.
 */
context_window_tokens: number, 
/**
 * Most tokens of an answer by default.
 */
max_output_tokens: number, 
/**
 * Kind of model, once loaded.
 */
model_type: string | null, 
/**
 * Its parameters, once loaded.
 */
parameters: number | null, 
/**
 * How long the last load took.
 */
load_ms: number | null, 
/**
 * Process of the worker.
 */
pid: number | null, 
/**
 * What went wrong last, until a load succeeds.
 */
last_error: string | null, 
/**
 * Its kind.
 */
last_failure_kind: string | null, 
/**
 * What a person can do about it.
 */
cure: string | null, 
/**
 * When the next start is tried.
 */
next_start_at: number | null, 
/**
 * Idle time after which the worker is unloaded.
 */
idle_unload_s: number | null, };

export type ServedView = { 
/**
 * Its own name.
 */
id: string, 
/**
 * Name clients send as `model`.
 */
model_id: string, 
/**
 * Its state.
 */
state: "unavailable" | "unloaded" | "starting" | "loading" | "ready" | "busy" | "stopping" | "backoff" | "failed" | "closed", 
/**
 * Why it cannot answer, and what to do about it.
 */
hindrance: string | null, 
/**
 * Requests that wait for it.
 */
waiting: number, };

export type QueueView = { 
/**
 * Whether a request runs.
 */
running: boolean, 
/**
 * Requests waiting behind it.
 */
waiting: number, 
/**
 * When each waiting one arrived, the next to run first.
 */
waiting_since: Array<number>, 
/**
 * Most that may wait.
 */
max_waiting: number, };

export type MemoryView = { 
/**
 * This server's process.
 */
server_bytes: number | null, 
/**
 * The worker's process.
 */
worker_bytes: number | null, 
/**
 * Of the worker: arrays in use.
 */
active_bytes: number | null, 
/**
 * Of the worker: most arrays ever in use.
 */
peak_bytes: number | null, 
/**
 * Of the worker: kept for reuse.
 */
cache_bytes: number | null, };

export type RequestsView = { 
/**
 * Answers that ended in order.
 */
answered: number, 
/**
 * Requests that ended with an error.
 */
failed: number, 
/**
 * Requests refused because the queue was full.
 */
refused: number, };
