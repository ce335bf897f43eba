import type { PanelSnapshot, ProfileView } from "./generated/panel.js";

/** When it was taken. */
export const TAKEN_S = 1_700_000_000;

/** A snapshot of a server whose model is ready. */
export function snapshotWith(
  profile: Partial<ProfileView> = {},
  more: Partial<PanelSnapshot> = {},
): PanelSnapshot {
  return {
    service: {
      name: "hangar",
      version: "0.1.0",
      url: "http://127.0.0.1:4017",
      api_url: "http://127.0.0.1:4017/v1",
      started_at: TAKEN_S - 60,
      accepting: true,
      hosted_by: "command",
    },
    profile: {
      model_id: "gemma-4-pocket",
      demonstration: true,
      state: "ready",
      since: TAKEN_S,
      phase: "idle",
      phase_done: 0,
      phase_total: 0,
      context_window_tokens: 65536,
      max_output_tokens: 8192,
      model_type: "gemma4",
      parameters: 1_300_000,
      load_ms: 900,
      pid: 7,
      last_error: null,
      last_failure_kind: null,
      cure: null,
      next_start_at: null,
      idle_unload_s: 300,
      ...profile,
    },
    profiles: [{ id: "pocket", model_id: "gemma-4-pocket", state: "ready", hindrance: null, waiting: 0 }],
    queue: { running: false, waiting: 0, waiting_since: [], max_waiting: 4 },
    memory: { server_bytes: 1, worker_bytes: 2, active_bytes: 1, peak_bytes: 1, cache_bytes: 0 },
    requests: { answered: 0, failed: 0, refused: 0 },
    ...more,
  };
}
