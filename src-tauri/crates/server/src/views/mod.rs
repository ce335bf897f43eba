//! What the state routes answer, computed from one snapshot: nothing here waits for a worker.

mod modalities;
mod panel;
mod stats;

use std::collections::BTreeMap;

use hangar_protocol::MemoryUse;
use hangar_supervisor::{Cause, StateWord};
use serde::{Serialize, Serializer};
use tokio::time::Instant;

use crate::flight::Door;
use crate::served::Look;

use modalities::Modalities;
pub(crate) use panel::{Fixed, Readings};
pub use panel::{
    HostedBy, MemoryView, PanelSnapshot, ProfileView, QueueView, RequestsView, ServedState, ServedView,
    ServiceView,
};
pub(crate) use stats::Stats;

/// What the service calls itself in `/health` and `/ready`.
pub const SERVICE: &str = "hangar";
/// Version of this build.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");

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

/// `GET /ready`; the first profile is the default, and the answer is about it.
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
    profiles: BTreeMap<String, Worker>,
}

impl Ready {
    pub(crate) fn look(default: &Look<'_>, all: &[Look<'_>], door: Door, now: Instant) -> Self {
        let reach = reach(default);
        let accepting = door == Door::Open && reach != Reach::Never;
        let each = |look: &Look<'_>| (look.profile.id.as_str().to_owned(), Worker::look(look, now));
        Self {
            ok: accepting,
            service: SERVICE,
            accepting_requests: accepting,
            actively_ready: accepting && reach == Reach::Now,
            cold_load_expected: accepting && reach == Reach::AfterLoad,
            cold_load_acceptable: accepting,
            worker: Worker::look(default, now),
            modalities: Modalities::look(default),
            profiles: all.iter().map(each).collect(),
        }
    }

    /// Whether a request sent now would be taken.
    pub(crate) fn is_ok(&self) -> bool {
        self.ok
    }
}

#[derive(Debug, Serialize)]
struct Worker {
    state: ServedState,
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
    fn look(look: &Look<'_>, now: Instant) -> Self {
        let (snapshot, worker) = (&look.snapshot, &look.profile.worker);
        let until = snapshot.cooldown_until.map(|until| until.saturating_duration_since(now));
        let idle = snapshot.idle_since.map(|since| now.saturating_duration_since(since));
        Self {
            state: look.state(),
            loaded: reach(look) == Reach::Now,
            model_id: look.profile.model_id.clone(),
            pid: snapshot.pid,
            last_error: look.hindrance().or_else(|| snapshot.last_failure.as_ref().map(explained)),
            last_failure_kind: snapshot.last_failure.as_ref().map(Cause::kind),
            cooldown_remaining_s: until.map_or(0.0, |left| round_ms(left.as_secs_f64())),
            consecutive_failures: snapshot.consecutive_failures,
            idle_unload_enabled: worker.idle_unload_ms.is_some(),
            idle_unload_threshold_s: worker.idle_unload_ms.map(seconds),
            idle_seconds: idle.map(|idle| round_ms(idle.as_secs_f64())),
            queue_depth: snapshot.queue_depth,
            queue_max_depth: snapshot.queue_max_depth,
            live_session_count: look.live_sessions,
        }
    }
}

/// `GET /v1/models`.
#[derive(Debug, Serialize)]
pub(crate) struct Models {
    object: &'static str,
    data: Vec<Model>,
}

/// `GET /v1/models/{id}`.
#[derive(Debug, Serialize)]
pub(crate) struct Model {
    id: String,
    object: &'static str,
    created: u64,
    owned_by: &'static str,
    profile: String,
    modalities: Modalities,
    context_window: u32,
    max_output_tokens: u32,
    state: ServedState,
    backend: &'static str,
}

impl Models {
    pub(crate) fn look(all: &[Look<'_>], created: u64) -> Self {
        Self { object: "list", data: all.iter().map(|look| Model::look(look, created)).collect() }
    }
}

impl Model {
    pub(crate) fn look(look: &Look<'_>, created: u64) -> Self {
        Self {
            id: look.profile.model_id.clone(),
            object: "model",
            created,
            owned_by: "local",
            profile: look.profile.id.as_str().to_owned(),
            modalities: Modalities::look(look),
            context_window: look.profile.context_window_tokens,
            max_output_tokens: look.profile.max_output_tokens,
            state: look.state(),
            backend: look.profile.backend.word(),
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

    /// Most ever held, in GiB.
    pub(crate) fn peak_gb(self) -> f64 {
        self.peak_gb
    }
}

/// How soon a request would be worked on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reach {
    Now,
    AfterLoad,
    Never,
}

fn reach(look: &Look<'_>) -> Reach {
    if look.unavailable.is_some() {
        return Reach::Never;
    }
    match look.snapshot.state {
        StateWord::Ready | StateWord::Busy => Reach::Now,
        StateWord::Unloaded | StateWord::Starting | StateWord::Loading | StateWord::Stopping => {
            Reach::AfterLoad
        }
        // A demand in the first short waits is queued; in a cool-down it is refused.
        StateWord::Backoff
            if look.snapshot.consecutive_failures < look.profile.worker.max_consecutive_errors =>
        {
            Reach::AfterLoad
        }
        StateWord::Backoff | StateWord::Failed | StateWord::Closed => Reach::Never,
    }
}

impl Look<'_> {
    /// The state as it is served.
    pub(crate) fn state(&self) -> ServedState {
        if self.unavailable.is_some() {
            return ServedState::Unavailable;
        }
        ServedState::Worker(self.snapshot.state)
    }
}

impl Serialize for ServedState {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Unavailable => serializer.serialize_str("unavailable"),
            Self::Worker(state) => state.serialize(serializer),
        }
    }
}

fn explained(cause: &Cause) -> String {
    cause.cure().map_or_else(|| cause.to_string(), |cure| format!("{cause}: {cure}"))
}

fn seconds(duration_ms: u64) -> f64 {
    std::time::Duration::from_millis(duration_ms).as_secs_f64()
}

fn round_ms(number: f64) -> f64 {
    (number * 1000.0).round() / 1000.0
}

/// Milliseconds to a thousandth; what is no number is 0.
pub(crate) fn rounded_ms(time_ms: f64) -> f64 {
    if time_ms.is_finite() { round_ms(time_ms) } else { 0.0 }
}

/// Binary gigabytes with four digits.
#[expect(clippy::cast_precision_loss, reason = "shown with four digits")]
pub(crate) fn gigabytes(bytes: u64) -> f64 {
    let exact = bytes as f64 / (1024.0 * 1024.0 * 1024.0);
    (exact * 10_000.0).round() / 10_000.0
}

#[cfg(test)]
mod tests;
