//! Worker lifecycle, queue and pipe of one model profile.
//!
//! The deciding part is the pure machine in `machine`; the task around it owns time, pipe and child. This
//! crate must not know of HTTP, of markup, or where a runtime comes from: it is given a [`Launch`].

mod cause;
mod error;
mod exit;
mod handle;
mod link;
mod machine;
mod requests;
mod snapshot;
mod stderr;
mod task;
mod timers;
mod view;

use std::ffi::OsString;
use std::path::PathBuf;

use hangar_protocol::Phase;

pub use cause::Cause;
pub use error::DispatchError;
pub use exit::{Exit, LastExit};
pub use handle::{
    Hold, Host, Job, LoadProgress, PrefillProgress, RanOn, Reach, Reply, ReplyEvent, Restarted, Start,
    Unloaded, WorkerHandle,
};
pub use snapshot::{Counters, Snapshot, StateWord};

/// Limits of one worker; durations in milliseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// From spawn to a loaded model.
    pub startup_timeout_ms: u64,
    /// From dispatch to the end of an answer.
    pub request_timeout_ms: u64,
    /// Longest wait in the queue.
    pub queue_max_wait_ms: u64,
    /// Requests that may wait behind the active one.
    pub queue_max_depth: u32,
    /// Idle time after which the worker is unloaded; none keeps it.
    pub idle_unload_ms: Option<u64>,
    /// Failures in a row from which each start waits for the cool-down; and answers in a row that an engine may fail
    /// before its worker is replaced.
    pub max_consecutive_errors: u32,
    /// The cool-down.
    pub cooldown_ms: u64,
    /// From being asked to end to being killed.
    pub shutdown_grace_ms: u64,
    /// From a cancel to being killed for not letting go.
    pub cancel_grace_ms: u64,
    /// Silence after which a worker that said hello is given up; it beats twice a second without its interpreter.
    pub silence_ms: u64,
    /// Longest times without any progress.
    pub stall: StallLimits,
}

/// Longest times in which a worker's counters may stand still; durations in milliseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StallLimits {
    /// While weights are read and kernels compiled.
    pub load_ms: u64,
    /// While a prompt is read, besides what its chunk is allowed.
    pub prefill_ms: u64,
    /// For each token of the chunk that the worker says it works on.
    pub prefill_token_ms: u64,
    /// Between two tokens of an answer.
    pub decode_ms: u64,
}

impl StallLimits {
    /// Limits that fit these time-outs: a load may stand still for all of its time, an answer for a part.
    pub fn within(startup_timeout_ms: u64, request_timeout_ms: u64) -> Self {
        Self {
            load_ms: startup_timeout_ms,
            prefill_ms: (request_timeout_ms / 4).clamp(2_000, 120_000),
            prefill_token_ms: 20,
            decode_ms: (request_timeout_ms / 8).clamp(2_000, 60_000),
        }
    }

    /// How long a phase may stand still; `step` is the size of the step under way.
    pub(crate) fn of(&self, phase: Phase, step: u64) -> u64 {
        match phase {
            Phase::Loading | Phase::WarmingUp => self.load_ms,
            Phase::Idle | Phase::Prefill | Phase::Probing => {
                self.prefill_ms.saturating_add(self.of_step(phase, step))
            }
            Phase::Decode => self.decode_ms,
        }
    }

    /// The part of it that a step is allowed for its size.
    pub(crate) fn of_step(&self, phase: Phase, step: u64) -> u64 {
        match phase {
            Phase::Prefill | Phase::Probing => self.prefill_token_ms.saturating_mul(step),
            Phase::Idle | Phase::Loading | Phase::WarmingUp | Phase::Decode => 0,
        }
    }
}

/// Which model a worker is to load, and how.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoadOrder {
    /// The model's folder.
    pub model_dir: PathBuf,
    /// Largest prompt plus answer, in tokens.
    pub context_window_tokens: u32,
    /// Prefill chunk in tokens; none lets the worker measure it.
    pub prefill_chunk_tokens: Option<u32>,
    /// What the state of earlier prompts may take, in bytes; 0 keeps none.
    pub state_cache_bytes: u64,
}

/// How to start a worker process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorkerCommand {
    /// The executable.
    pub program: PathBuf,
    /// Its arguments.
    pub arguments: Vec<OsString>,
    /// Its whole environment; nothing is inherited.
    pub environment: Vec<(String, String)>,
}

/// Makes the command anew before every start, so that what it points at is verified each time.
pub trait Launch: Send + Sync + 'static {
    /// The command to run; may block for a few milliseconds.
    ///
    /// # Errors
    /// Why no worker can be started.
    fn command(&self) -> Result<WorkerCommand, Cause>;
}
