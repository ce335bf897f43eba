//! The figures of `GET /admin/stats`.

use hangar_config::Settings;
use hangar_supervisor::{Counters, Snapshot};
use serde::Serialize;
use tokio::time::Instant;

use super::{BACKEND, Memory, Modalities, Worker};

/// `GET /admin/stats`.
#[derive(Debug, Serialize)]
pub(crate) struct Stats {
    worker: WorkerDetail,
    metrics: Counters,
    backend: BackendDetail,
    config: Config,
    governor: Governor,
    modalities: Modalities,
}

#[derive(Debug, Serialize)]
struct WorkerDetail {
    #[serde(flatten)]
    worker: Worker,
    load_ms: Option<u64>,
    phase: Option<hangar_protocol::Phase>,
    phase_done: u64,
    phase_total: u64,
}

#[derive(Debug, Serialize)]
struct BackendDetail {
    name: &'static str,
    model_type: Option<String>,
    parameters: Option<u64>,
    prefill_chunk_tokens: Option<u32>,
    memory: Option<Memory>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Config {
    port: u16,
    max_body_mb: usize,
    context_window_tokens: u32,
    max_output_tokens: u32,
    temperature: f32,
    top_p: f32,
    startup_timeout_ms: u64,
    request_timeout_ms: u64,
    queue_max_depth: u32,
    queue_max_wait_ms: u64,
    max_consecutive_errors: u32,
    cooldown_ms: u64,
}

/// No governor decides yet; the row says so and claims nothing.
#[derive(Debug, Serialize)]
struct Governor {
    enabled: bool,
    instance_id: Option<String>,
    priority: Option<i64>,
    rss_estimate_loaded_gb: Option<f64>,
    ceiling_gb: Option<f64>,
    admitted: bool,
}

impl Stats {
    pub(crate) fn look(settings: &Settings, port: u16, snapshot: &Snapshot, now: Instant) -> Self {
        let model = snapshot.model.as_ref();
        let profile = settings.profiles.default_profile();
        Self {
            worker: WorkerDetail {
                worker: Worker::look(settings, snapshot, now),
                load_ms: snapshot.load_ms,
                phase: snapshot.phase,
                phase_done: snapshot.phase_done,
                phase_total: snapshot.phase_total,
            },
            metrics: snapshot.counters,
            backend: BackendDetail {
                name: BACKEND,
                model_type: model.map(|model| model.model_type.clone()),
                parameters: model.map(|model| model.parameters),
                prefill_chunk_tokens: model.map(|model| model.prefill_chunk_tokens),
                memory: snapshot.memory.map(Memory::of),
            },
            config: Config {
                port,
                max_body_mb: settings.server.max_body_bytes / (1024 * 1024),
                context_window_tokens: profile.context_window_tokens,
                max_output_tokens: profile.max_output_tokens,
                temperature: profile.sampling.temperature,
                top_p: profile.sampling.top_p,
                startup_timeout_ms: profile.worker.startup_timeout_ms,
                request_timeout_ms: profile.worker.request_timeout_ms,
                queue_max_depth: profile.worker.queue_max_depth,
                queue_max_wait_ms: profile.worker.queue_max_wait_ms,
                max_consecutive_errors: profile.worker.max_consecutive_errors,
                cooldown_ms: profile.worker.cooldown_ms,
            },
            governor: Governor {
                enabled: false,
                instance_id: None,
                priority: None,
                rss_estimate_loaded_gb: None,
                ceiling_gb: None,
                admitted: false,
            },
            modalities: Modalities::look(snapshot),
        }
    }
}
