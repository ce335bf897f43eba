//! The figures of `GET /admin/stats`.

use hangar_config::{Estimate, Settings};
use hangar_supervisor::{Counters, LastExit, StateWord};
use serde::Serialize;
use tokio::time::Instant;

use super::{Memory, Modalities, Worker, rounded_ms};
use crate::served::Look;

/// `GET /admin/stats`.
#[derive(Debug, Serialize)]
pub(crate) struct Stats {
    profile: String,
    worker: WorkerDetail,
    queue: Queue,
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
    phase_age_ms: Option<u64>,
    generation: u64,
    last_exit: Option<Ended>,
}

/// Kind of a process that ended before its model was loaded.
const ENDED_EARLY: &str = "exited_early";

/// The last end of a process, with the last lines it wrote where it ended before it was ready: later ones may hold
/// what a client wrote, so they are in no answer.
#[derive(Debug, Serialize)]
struct Ended {
    kind: &'static str,
    pid: Option<u32>,
    exit_code: Option<i32>,
    signal: Option<String>,
    ago_ms: f64,
    stderr_tail: Vec<String>,
}

#[derive(Debug, Serialize)]
struct Queue {
    running: bool,
    waiting: Vec<Waiting>,
    max_depth: u32,
}

/// A request that waits; 1 is the next to run.
#[derive(Debug, Serialize)]
struct Waiting {
    position: usize,
    wait_ms: f64,
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

/// What was configured; no governor decides yet, so nothing is admitted and nothing refused.
#[derive(Debug, Serialize)]
struct Governor {
    enabled: bool,
    instance_id: String,
    priority: u32,
    rss_estimate_loaded_gb: Option<f64>,
    ceiling_gb: Option<f64>,
    admitted: Option<bool>,
}

impl Stats {
    pub(crate) fn look(settings: &Settings, port: u16, look: &Look<'_>, now: Instant) -> Self {
        let (profile, snapshot) = (look.profile, &look.snapshot);
        let model = snapshot.model.as_ref();
        Self {
            profile: profile.id.as_str().to_owned(),
            worker: WorkerDetail {
                worker: Worker::look(look, now),
                load_ms: snapshot.load_ms,
                phase: snapshot.phase,
                phase_done: snapshot.phase_done,
                phase_total: snapshot.phase_total,
                phase_age_ms: snapshot.phase_age_ms(),
                generation: snapshot.generation,
                last_exit: snapshot.last_exit.as_ref().map(|exit| ended(exit, now)),
            },
            queue: queue(look, now),
            metrics: snapshot.counters,
            backend: BackendDetail {
                name: profile.backend.word(),
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
                enabled: settings.governor.enabled,
                instance_id: settings.governor.instance_id.clone(),
                priority: profile.priority,
                rss_estimate_loaded_gb: match profile.estimate {
                    Estimate::Measured { gib } | Estimate::Given { gib } => Some(gib),
                    Estimate::Computed { .. } => None,
                },
                ceiling_gb: settings.governor.ceiling_gib,
                admitted: None,
            },
            modalities: Modalities::look(look),
        }
    }
}

fn queue(look: &Look<'_>, now: Instant) -> Queue {
    let waits = look.snapshot.waiting_since.iter().enumerate();
    let waiting = waits.map(|(ahead, since)| Waiting {
        position: ahead + 1,
        wait_ms: rounded_ms(now.saturating_duration_since(*since).as_secs_f64() * 1000.0),
    });
    Queue {
        running: look.snapshot.state == StateWord::Busy,
        waiting: waiting.collect(),
        max_depth: look.snapshot.queue_max_depth,
    }
}

fn ended(exit: &LastExit, now: Instant) -> Ended {
    let LastExit { kind, pid, .. } = *exit;
    let ago_ms = rounded_ms(now.saturating_duration_since(exit.at).as_secs_f64() * 1000.0);
    let stderr_tail = if kind == ENDED_EARLY { exit.stderr_tail.clone() } else { Vec::new() };
    Ended { kind, pid, exit_code: exit.exit.code(), signal: exit.exit.signal(), ago_ms, stderr_tail }
}
