//! What the page and the menu show, as one value that changes only when something did.

use hangar_config::{ModelSource, Settings};
use hangar_protocol::Phase;
use hangar_supervisor::{Cause, Snapshot, StateWord};
use serde::Serialize;
use ts_rs::TS;

use super::{SERVICE, VERSION};
use crate::flight::Door;
use crate::served::Look;

/// Everything at one moment. Moments are unix seconds, so that a value does not change by growing older.
#[derive(Clone, Debug, PartialEq, Serialize, TS)]
pub struct PanelSnapshot {
    /// The service as a whole.
    pub service: ServiceView,
    /// The model that is served.
    pub profile: ProfileView,
    /// Every model that can be asked for, the default first.
    pub profiles: Vec<ServedView>,
    /// What runs and what waits.
    pub queue: QueueView,
    /// Memory by process and by use.
    pub memory: MemoryView,
    /// Counts since the service began.
    pub requests: RequestsView,
}

/// What runs the service in its own process.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, TS)]
#[serde(rename_all = "snake_case")]
pub enum HostedBy {
    /// A command: there is nothing else in the process.
    #[default]
    Command,
    /// The desktop app, whose memory is counted with the server's.
    App,
}

/// The service as a whole.
#[derive(Clone, Debug, PartialEq, Serialize, TS)]
pub struct ServiceView {
    /// Its name.
    pub name: String,
    /// Its version.
    pub version: String,
    /// Address of the page.
    pub url: String,
    /// Address for clients.
    pub api_url: String,
    /// When it began.
    #[ts(type = "number")]
    pub started_at: u64,
    /// Whether requests are taken.
    pub accepting: bool,
    /// What runs it.
    pub hosted_by: HostedBy,
}

/// The model that is served, and its worker.
#[derive(Clone, Debug, PartialEq, Serialize, TS)]
pub struct ProfileView {
    /// Name clients send as `model`.
    pub model_id: String,
    /// Whether it is the built-in demonstration model.
    pub demonstration: bool,
    /// Lifecycle state.
    #[ts(
        type = "\"unloaded\" | \"starting\" | \"loading\" | \"ready\" | \"busy\" | \"stopping\" | \"backoff\" | \"failed\" | \"closed\""
    )]
    pub state: StateWord,
    /// Since when it is in that state.
    #[ts(type = "number")]
    pub since: u64,
    /// What the engine does.
    #[ts(type = "\"idle\" | \"loading\" | \"warming_up\" | \"prefill\" | \"decode\" | \"probing\" | null")]
    pub phase: Option<Phase>,
    /// Units done in that phase.
    #[ts(type = "number")]
    pub phase_done: u64,
    /// Units to do in that phase, 0 where unknown.
    #[ts(type = "number")]
    pub phase_total: u64,
    /// Largest prompt plus answer, in tokens.
    pub context_window_tokens: u32,
    /// Most tokens of an answer by default.
    pub max_output_tokens: u32,
    /// Kind of model, once loaded.
    pub model_type: Option<String>,
    /// Its parameters, once loaded.
    #[ts(type = "number | null")]
    pub parameters: Option<u64>,
    /// How long the last load took.
    #[ts(type = "number | null")]
    pub load_ms: Option<u64>,
    /// Process of the worker.
    pub pid: Option<u32>,
    /// What went wrong last, until a load succeeds.
    pub last_error: Option<String>,
    /// Its kind.
    pub last_failure_kind: Option<String>,
    /// What a person can do about it.
    pub cure: Option<String>,
    /// When the next start is tried.
    #[ts(type = "number | null")]
    pub next_start_at: Option<u64>,
    /// Idle time after which the worker is unloaded.
    pub idle_unload_s: Option<f64>,
}

/// One of the models that can be asked for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, TS)]
pub struct ServedView {
    /// Its own name.
    pub id: String,
    /// Name clients send as `model`.
    pub model_id: String,
    /// Its state.
    #[ts(
        type = "\"unavailable\" | \"unloaded\" | \"starting\" | \"loading\" | \"ready\" | \"busy\" | \"stopping\" | \"backoff\" | \"failed\" | \"closed\""
    )]
    pub state: ServedState,
    /// Why it cannot answer, and what to do about it.
    pub hindrance: Option<String>,
    /// Requests that wait for it.
    pub waiting: u32,
}

/// State of a profile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ServedState {
    /// Its backend or its model is not there.
    Unavailable,
    /// Its worker's state.
    Worker(StateWord),
}

/// What runs and what waits.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, TS)]
pub struct QueueView {
    /// Whether a request runs.
    pub running: bool,
    /// Requests waiting behind it.
    pub waiting: u32,
    /// When each waiting one arrived, the next to run first.
    #[ts(type = "Array<number>")]
    pub waiting_since: Vec<u64>,
    /// Most that may wait.
    pub max_waiting: u32,
}

/// Memory in bytes; null is unknown, never zero.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, TS)]
pub struct MemoryView {
    /// This server's process.
    #[ts(type = "number | null")]
    pub server_bytes: Option<u64>,
    /// The worker's process.
    #[ts(type = "number | null")]
    pub worker_bytes: Option<u64>,
    /// Of the worker: arrays in use.
    #[ts(type = "number | null")]
    pub active_bytes: Option<u64>,
    /// Of the worker: most arrays ever in use.
    #[ts(type = "number | null")]
    pub peak_bytes: Option<u64>,
    /// Of the worker: kept for reuse.
    #[ts(type = "number | null")]
    pub cache_bytes: Option<u64>,
}

/// Counts since the service began.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, TS)]
pub struct RequestsView {
    /// Answers that ended in order.
    #[ts(type = "number")]
    pub answered: u64,
    /// Requests that ended with an error.
    #[ts(type = "number")]
    pub failed: u64,
    /// Requests refused because the queue was full.
    #[ts(type = "number")]
    pub refused: u64,
}

/// What does not change while the service runs.
#[derive(Clone, Debug)]
pub(crate) struct Fixed {
    service: ServiceView,
    model_id: String,
    demonstration: bool,
    context_window_tokens: u32,
    max_output_tokens: u32,
    idle_unload_s: Option<f64>,
}

/// What is read beside the worker's snapshot.
#[derive(Clone, Debug)]
pub(crate) struct Readings {
    pub(crate) waiting_since: Vec<u64>,
    pub(crate) door: Door,
    pub(crate) since: u64,
    pub(crate) next_start_at: Option<u64>,
    pub(crate) server_bytes: Option<u64>,
    pub(crate) worker_bytes: Option<u64>,
}

impl Fixed {
    pub(crate) fn new(settings: &Settings, port: u16, started_at: u64, hosted_by: HostedBy) -> Self {
        let url = format!("http://127.0.0.1:{port}");
        let service = ServiceView {
            name: SERVICE.to_owned(),
            version: VERSION.to_owned(),
            api_url: format!("{url}/v1"),
            url,
            started_at,
            accepting: true,
            hosted_by,
        };
        let profile = settings.profiles.default_profile();
        Self {
            service,
            model_id: profile.model_id.clone(),
            demonstration: profile.source == ModelSource::BuiltInPocket,
            context_window_tokens: profile.context_window_tokens,
            max_output_tokens: profile.max_output_tokens,
            idle_unload_s: profile.worker.idle_unload_ms.map(super::seconds),
        }
    }
}

impl PanelSnapshot {
    pub(crate) fn look(fixed: &Fixed, all: &[Look<'_>], snapshot: &Snapshot, readings: Readings) -> Self {
        let failure = snapshot.last_failure.as_ref();
        Self {
            service: ServiceView { accepting: readings.door == Door::Open, ..fixed.service.clone() },
            profile: ProfileView {
                model_id: fixed.model_id.clone(),
                demonstration: fixed.demonstration,
                state: snapshot.state,
                since: readings.since,
                phase: snapshot.phase,
                phase_done: snapshot.phase_done,
                phase_total: snapshot.phase_total,
                context_window_tokens: fixed.context_window_tokens,
                max_output_tokens: fixed.max_output_tokens,
                model_type: snapshot.model.as_ref().map(|model| model.model_type.clone()),
                parameters: snapshot.model.as_ref().map(|model| model.parameters),
                load_ms: snapshot.load_ms,
                pid: snapshot.pid,
                last_error: failure.map(ToString::to_string),
                last_failure_kind: failure.map(|cause| cause.kind().to_owned()),
                cure: failure.and_then(Cause::cure),
                next_start_at: readings.next_start_at,
                idle_unload_s: fixed.idle_unload_s,
            },
            profiles: all.iter().map(ServedView::of).collect(),
            queue: QueueView {
                running: snapshot.state == StateWord::Busy,
                waiting: snapshot.queue_depth,
                waiting_since: readings.waiting_since,
                max_waiting: snapshot.queue_max_depth,
            },
            memory: MemoryView {
                server_bytes: readings.server_bytes,
                worker_bytes: readings.worker_bytes,
                active_bytes: snapshot.memory.map(|memory| memory.active_bytes),
                peak_bytes: snapshot.memory.map(|memory| memory.peak_bytes),
                cache_bytes: snapshot.memory.map(|memory| memory.cache_bytes),
            },
            requests: RequestsView {
                answered: snapshot.counters.successful_requests,
                failed: snapshot.counters.failed_requests,
                refused: snapshot.counters.queue_full_rejections,
            },
        }
    }
}

impl ServedView {
    fn of(look: &Look<'_>) -> Self {
        Self {
            id: look.profile.id.as_str().to_owned(),
            model_id: look.profile.model_id.clone(),
            state: look.state(),
            hindrance: look.hindrance(),
            waiting: look.snapshot.queue_depth,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../ui/src/lib/generated/panel.ts");

    /// With HANGAR_WRITE_TYPES=1 it writes the file instead.
    #[test]
    fn the_types_of_the_page_are_those_of_the_server() {
        let config = ts_rs::Config::default();
        let types = [
            PanelSnapshot::decl(&config),
            HostedBy::decl(&config),
            ServiceView::decl(&config),
            ProfileView::decl(&config),
            ServedView::decl(&config),
            QueueView::decl(&config),
            MemoryView::decl(&config),
            RequestsView::decl(&config),
        ];
        let mut text = "// Made from the server's types by its tests; do not edit.\n".to_owned();
        for declared in types {
            text.push_str(&format!("\nexport {declared}\n"));
        }
        if std::env::var_os("HANGAR_WRITE_TYPES").is_some() {
            std::fs::write(FILE, &text).unwrap();
        }
        let written = std::fs::read_to_string(FILE).unwrap_or_default();
        assert!(written == text, "stale: run `HANGAR_WRITE_TYPES=1 cargo test -p hangar-server the_types`");
    }
}
