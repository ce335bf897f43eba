//! What the outside may see of a worker at any time, without waiting for it.

use hangar_protocol::{MemoryUse, ModelFacts, Phase};
use serde::Serialize;

use crate::{Cause, LastExit};

/// Public word for the lifecycle state.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum StateWord {
    /// No process; a request starts one.
    Unloaded,
    /// Process started, not yet heard from.
    Starting,
    /// Model loading.
    Loading,
    /// Waiting for requests.
    Ready,
    /// A request runs.
    Busy,
    /// Process is being ended.
    Stopping,
    /// Waiting before the next start after a failure.
    Backoff,
    /// Failed for good.
    Failed,
    /// The service has ended.
    Closed,
}

/// Counters since the service began; names as clients know them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Counters {
    /// Answers that ended in order.
    pub successful_requests: u64,
    /// Requests that ended with an error.
    pub failed_requests: u64,
    /// Requests that had to wait.
    pub queued_requests: u64,
    /// Requests refused because the queue was full.
    pub queue_full_rejections: u64,
    /// Processes spawned.
    pub worker_starts: u64,
    /// Starts after a failure or by command.
    pub worker_restarts: u64,
    /// Unloads, idle or asked for.
    pub worker_unloads: u64,
    /// Out-of-memory faults.
    pub oom_events: u64,
    /// Processes that had to be killed.
    pub forced_kills: u64,
    /// Starts or loads over their limit.
    pub startup_timeouts: u64,
    /// Requests over their limit.
    pub request_timeouts: u64,
    /// Health probes over their limit.
    pub probe_timeouts: u64,
    /// Shutdowns over their limit.
    pub shutdown_timeouts: u64,
}

/// One look at a worker.
#[derive(Clone, Debug, PartialEq)]
pub struct Snapshot {
    /// Lifecycle state.
    pub state: StateWord,
    /// Process id while a process lives.
    pub pid: Option<u32>,
    /// Number of the latest process: rises with every start, 0 before the first.
    pub generation: u64,
    /// The last end of a process, whether asked for or not.
    pub last_exit: Option<LastExit>,
    /// Facts of the loaded model.
    pub model: Option<ModelFacts>,
    /// How long the last load took.
    pub load_ms: Option<u64>,
    /// Requests waiting (the running one not counted).
    pub queue_depth: u32,
    /// When each waiting request arrived, the next one to run first.
    pub waiting_since: Vec<tokio::time::Instant>,
    /// Most that may wait.
    pub queue_max_depth: u32,
    /// Last failure, kept until the next load succeeds.
    pub last_failure: Option<Cause>,
    /// Failures in a row.
    pub consecutive_failures: u32,
    /// Until the next start in backoff, as of this snapshot.
    pub cooldown_until: Option<tokio::time::Instant>,
    /// Since when the worker waits for requests.
    pub idle_since: Option<tokio::time::Instant>,
    /// What the engine said last that it is doing.
    pub phase: Option<Phase>,
    /// Units done in that phase.
    pub phase_done: u64,
    /// Units to do in that phase, 0 where unknown.
    pub phase_total: u64,
    /// When that phase's counters last moved, while the worker loads or answers.
    pub advanced_at: Option<tokio::time::Instant>,
    /// Memory the engine said last.
    pub memory: Option<MemoryUse>,
    /// Counters.
    pub counters: Counters,
}

impl Snapshot {
    /// A worker that was never asked for anything.
    pub fn unloaded(limits: &crate::Limits) -> Self {
        Self {
            state: StateWord::Unloaded,
            pid: None,
            generation: 0,
            last_exit: None,
            model: None,
            load_ms: None,
            queue_depth: 0,
            waiting_since: Vec::new(),
            queue_max_depth: limits.queue_max_depth,
            last_failure: None,
            consecutive_failures: 0,
            cooldown_until: None,
            idle_since: None,
            phase: None,
            phase_done: 0,
            phase_total: 0,
            advanced_at: None,
            memory: None,
            counters: Counters::default(),
        }
    }

    /// Milliseconds since the phase's counters last moved; none while nothing is to be done.
    pub fn phase_age_ms(&self) -> Option<u64> {
        let age = self.advanced_at?.elapsed();
        Some(u64::try_from(age.as_millis()).unwrap_or(u64::MAX))
    }
}
