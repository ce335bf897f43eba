//! What the state routes answer, computed from one snapshot: nothing here waits for a worker.

mod panel;
mod stats;

use hangar_config::Settings;
use hangar_protocol::MemoryUse;
use hangar_supervisor::{Cause, Snapshot, StateWord};
use serde::Serialize;
use tokio::time::Instant;

use crate::flight::Door;

pub(crate) use panel::{Fixed, Readings};
pub use panel::{HostedBy, MemoryView, PanelSnapshot, ProfileView, QueueView, RequestsView, ServiceView};
pub(crate) use stats::Stats;

/// What the service calls itself in `/health` and `/ready`.
pub const SERVICE: &str = "hangar";
/// Version of this build.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");
/// The backend that answers token by token, as configurations name it.
const BACKEND: &str = "mlx_vlm_turboquant";

/// `GET /health`.
#[derive(Debug, Serialize)]
pub(crate) struct Health {
    ok: bool,
    service: &'static str,
    version: &'static str,
    accepting: bool,
}

impl Health {
    pub(crate) fn now(door: Door) -> Self {
        Self { ok: true, service: SERVICE, version: VERSION, accepting: door == Door::Open }
    }
}

/// `GET /ready`.
#[derive(Debug, Serialize)]
pub(crate) struct Ready {
    ok: bool,
    service: &'static str,
    accepting_requests: bool,
    actively_ready: bool,
    cold_load_expected: bool,
    cold_load_acceptable: bool,
    worker: Worker,
    modalities: Modalities,
}

impl Ready {
    pub(crate) fn look(settings: &Settings, snapshot: &Snapshot, door: Door, now: Instant) -> Self {
        let reach = reach(settings, snapshot);
        let accepting = door == Door::Open && reach != Reach::Never;
        Self {
            ok: accepting,
            service: SERVICE,
            accepting_requests: accepting,
            actively_ready: accepting && reach == Reach::Now,
            cold_load_expected: accepting && reach == Reach::AfterLoad,
            cold_load_acceptable: accepting,
            worker: Worker::look(settings, snapshot, now),
            modalities: Modalities::look(snapshot),
        }
    }

    /// Whether a request sent now would be taken.
    pub(crate) fn is_ok(&self) -> bool {
        self.ok
    }
}

#[derive(Debug, Serialize)]
struct Worker {
    state: StateWord,
    loaded: bool,
    model_id: String,
    pid: Option<u32>,
    last_error: Option<String>,
    last_failure_kind: Option<&'static str>,
    cooldown_remaining_s: f64,
    consecutive_failures: u32,
    idle_unload_enabled: bool,
    idle_unload_threshold_s: Option<f64>,
    idle_seconds: Option<f64>,
    queue_depth: u32,
    queue_max_depth: u32,
    live_session_count: u32,
}

impl Worker {
    fn look(settings: &Settings, snapshot: &Snapshot, now: Instant) -> Self {
        let until = snapshot.cooldown_until.map(|until| until.saturating_duration_since(now));
        let idle = snapshot.idle_since.map(|since| now.saturating_duration_since(since));
        Self {
            state: snapshot.state,
            loaded: reach(settings, snapshot) == Reach::Now,
            model_id: settings.profiles.default_profile().model_id.clone(),
            pid: snapshot.pid,
            last_error: snapshot.last_failure.as_ref().map(explained),
            last_failure_kind: snapshot.last_failure.as_ref().map(Cause::kind),
            cooldown_remaining_s: until.map_or(0.0, |left| round_ms(left.as_secs_f64())),
            consecutive_failures: snapshot.consecutive_failures,
            idle_unload_enabled: settings.profiles.default_profile().worker.idle_unload_ms.is_some(),
            idle_unload_threshold_s: settings.profiles.default_profile().worker.idle_unload_ms.map(seconds),
            idle_seconds: idle.map(|idle| round_ms(idle.as_secs_f64())),
            queue_depth: snapshot.queue_depth,
            queue_max_depth: snapshot.queue_max_depth,
            live_session_count: 0,
        }
    }
}

/// `GET /v1/models`.
#[derive(Debug, Serialize)]
pub(crate) struct Models {
    object: &'static str,
    data: Vec<Model>,
}

#[derive(Debug, Serialize)]
struct Model {
    id: String,
    object: &'static str,
    created: u64,
    owned_by: &'static str,
    modalities: Modalities,
    context_window: u32,
    max_output_tokens: u32,
    state: StateWord,
    backend: &'static str,
}

impl Models {
    pub(crate) fn look(settings: &Settings, snapshot: &Snapshot, created: u64) -> Self {
        let profile = settings.profiles.default_profile();
        let model = Model {
            id: profile.model_id.clone(),
            object: "model",
            created,
            owned_by: "local",
            modalities: Modalities::look(snapshot),
            context_window: profile.context_window_tokens,
            max_output_tokens: profile.max_output_tokens,
            state: snapshot.state,
            backend: BACKEND,
        };
        Self { object: "list", data: vec![model] }
    }
}

#[derive(Debug, Serialize)]
struct Modalities {
    configured: Vec<&'static str>,
    backend_supported: Vec<&'static str>,
    effective: Vec<&'static str>,
    vision: Vision,
    strict_capability_check: bool,
}

#[derive(Debug, Serialize)]
struct Vision {
    configured: bool,
    effective: bool,
}

impl Modalities {
    /// Text is offered; what else the model has towers for is known once it was loaded.
    fn look(snapshot: &Snapshot) -> Self {
        let towers = snapshot.model.as_ref().map(|model| (model.image, model.audio));
        let (image, audio) = towers.unwrap_or_default();
        let found = [("text", true), ("image", image), ("audio", audio)];
        Self {
            configured: vec!["text"],
            backend_supported: found.iter().filter(|(_, there)| *there).map(|(name, _)| *name).collect(),
            effective: vec!["text"],
            vision: Vision { configured: false, effective: false },
            strict_capability_check: true,
        }
    }
}

/// Memory in binary gigabytes, as clients read it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub(crate) struct Memory {
    active_gb: f64,
    peak_gb: f64,
    cache_gb: f64,
}

impl Memory {
    pub(crate) fn of(memory: MemoryUse) -> Self {
        Self {
            active_gb: gigabytes(memory.active_bytes),
            peak_gb: gigabytes(memory.peak_bytes),
            cache_gb: gigabytes(memory.cache_bytes),
        }
    }
}

/// How soon a request would be worked on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reach {
    Now,
    AfterLoad,
    Never,
}

fn reach(settings: &Settings, snapshot: &Snapshot) -> Reach {
    match snapshot.state {
        StateWord::Ready | StateWord::Busy => Reach::Now,
        StateWord::Unloaded | StateWord::Starting | StateWord::Loading | StateWord::Stopping => {
            Reach::AfterLoad
        }
        // A demand in the first short waits is queued; in a cool-down it is refused.
        StateWord::Backoff
            if snapshot.consecutive_failures
                < settings.profiles.default_profile().worker.max_consecutive_errors =>
        {
            Reach::AfterLoad
        }
        StateWord::Backoff | StateWord::Failed | StateWord::Closed => Reach::Never,
    }
}

fn explained(cause: &Cause) -> String {
    cause.cure().map_or_else(|| cause.to_string(), |cure| format!("{cause}: {cure}"))
}

fn seconds(duration_ms: u64) -> f64 {
    std::time::Duration::from_millis(duration_ms).as_secs_f64()
}

fn round_ms(seconds: f64) -> f64 {
    (seconds * 1000.0).round() / 1000.0
}

#[expect(clippy::cast_precision_loss, reason = "shown with four digits")]
fn gigabytes(bytes: u64) -> f64 {
    let exact = bytes as f64 / (1024.0 * 1024.0 * 1024.0);
    (exact * 10_000.0).round() / 10_000.0
}

#[cfg(test)]
mod tests;
