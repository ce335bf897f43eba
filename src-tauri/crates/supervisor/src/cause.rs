//! Why a worker is not, or no longer, running.

use hangar_protocol::{Phase, WorkerFault};

use crate::Exit;

/// One reason, with the figures a person needs.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum Cause {
    /// The runtime is not as pinned.
    #[error("Python runtime is not as pinned: {what}")]
    RuntimeUnverified {
        /// What differs.
        what: String,
        /// What to run.
        cure: String,
    },
    /// There is no runtime.
    #[error("Python runtime is missing")]
    RuntimeMissing {
        /// What to run.
        cure: String,
    },
    /// The process could not be started.
    #[error("worker process could not be started: {what}")]
    SpawnFailed {
        /// What the system said.
        what: String,
    },
    /// The process ended before its model was loaded.
    #[error("worker ended with {status} before it was ready")]
    ExitedEarly {
        /// Exit code or signal.
        status: Exit,
        /// Last lines of its log.
        stderr_tail: Vec<String>,
    },
    /// The process ended with a loaded model.
    #[error("worker ended with {status}")]
    Crashed {
        /// Exit code or signal.
        status: Exit,
        /// Last lines of its log.
        stderr_tail: Vec<String>,
    },
    /// Worker and server come from different builds.
    #[error("worker speaks protocol {found}, this server speaks {expected}")]
    WrongProtocol {
        /// This server's version.
        expected: u32,
        /// The worker's version.
        found: u32,
    },
    /// The worker wrote what is not a frame.
    #[error("worker broke the protocol: {what}")]
    ProtocolBroken {
        /// What was wrong, without the bytes.
        what: String,
    },
    /// No hello in time.
    #[error("worker did not answer within {limit_ms} ms of its start")]
    StartTimeout {
        /// The limit.
        limit_ms: u64,
    },
    /// No loaded model in time.
    #[error("model did not load within {limit_ms} ms")]
    LoadTimeout {
        /// The limit.
        limit_ms: u64,
    },
    /// The worker could not load the model.
    #[error("model could not be loaded: {0}")]
    Load(WorkerFault),
    /// The process exists but says nothing, not even that it lives.
    #[error("worker fell silent")]
    Silent,
    /// The process says that it lives, but what it does makes no progress.
    #[error("worker made no progress for {limit_ms} ms while {}", doing(*.phase))]
    Stalled {
        /// What it was doing.
        phase: Phase,
        /// Units done in that phase.
        done: u64,
        /// Units to do in that phase, 0 where unknown.
        total: u64,
        /// How long it was waited for.
        limit_ms: u64,
        /// Last lines of its log, the stacks of its threads among them.
        stderr_tail: Vec<String>,
    },
    /// A cancelled request would not end.
    #[error("worker did not let go of a cancelled request within {limit_ms} ms")]
    Unresponsive {
        /// The limit.
        limit_ms: u64,
    },
}

impl Cause {
    /// Stable word for programs.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::RuntimeUnverified { .. } => "runtime_unverified",
            Self::RuntimeMissing { .. } => "runtime_missing",
            Self::SpawnFailed { .. } => "spawn_failed",
            Self::ExitedEarly { .. } => "exited_early",
            Self::Crashed { .. } => "crashed",
            Self::WrongProtocol { .. } => "wrong_protocol",
            Self::ProtocolBroken { .. } => "protocol_broken",
            Self::StartTimeout { .. } => "start_timeout",
            Self::LoadTimeout { .. } => "load_timeout",
            Self::Load(_) => "load_failed",
            Self::Unresponsive { .. } => "unresponsive",
            Self::Silent => "silent",
            Self::Stalled { .. } => "stalled",
        }
    }

    /// Whether the same start may succeed without anybody mending something first.
    pub fn retryable(&self) -> bool {
        match self {
            Self::RuntimeUnverified { .. } | Self::RuntimeMissing { .. } | Self::WrongProtocol { .. } => {
                false
            }
            Self::Load(fault) => fault.retryable(),
            Self::SpawnFailed { .. }
            | Self::ExitedEarly { .. }
            | Self::Crashed { .. }
            | Self::ProtocolBroken { .. }
            | Self::StartTimeout { .. }
            | Self::LoadTimeout { .. }
            | Self::Silent
            | Self::Stalled { .. }
            | Self::Unresponsive { .. } => true,
        }
    }

    /// The same cause with the last lines of the log of the process that it ended.
    #[must_use]
    pub(crate) fn with_tail(self, tail: Vec<String>) -> Self {
        match self {
            Self::Stalled { phase, done, total, limit_ms, .. } => {
                Self::Stalled { phase, done, total, limit_ms, stderr_tail: tail }
            }
            Self::RuntimeUnverified { .. }
            | Self::RuntimeMissing { .. }
            | Self::SpawnFailed { .. }
            | Self::ExitedEarly { .. }
            | Self::Crashed { .. }
            | Self::WrongProtocol { .. }
            | Self::ProtocolBroken { .. }
            | Self::StartTimeout { .. }
            | Self::LoadTimeout { .. }
            | Self::Load(_)
            | Self::Silent
            | Self::Unresponsive { .. } => self,
        }
    }

    /// What a person can do, where there is something.
    pub fn cure(&self) -> Option<String> {
        match self {
            Self::RuntimeUnverified { cure, .. } | Self::RuntimeMissing { cure } => Some(cure.clone()),
            Self::WrongProtocol { .. } => {
                Some("run `npm start` again: server and worker must be one build".into())
            }
            Self::Load(WorkerFault::RuntimeUnverified { .. }) => Some("run `hangar runtime repair`".into()),
            Self::Load(WorkerFault::ModelMissing { .. } | WorkerFault::ModelDamaged { .. }) => {
                Some("put the model's files in place again".into())
            }
            Self::Load(WorkerFault::ModelUnsupported { .. }) => {
                Some("name a Gemma 4 model in model.path".into())
            }
            Self::LoadTimeout { .. } | Self::StartTimeout { .. } => {
                Some("raise worker.startupTimeoutMs".into())
            }
            Self::Load(
                WorkerFault::ContextLengthExceeded { .. }
                | WorkerFault::PromptInvalid { .. }
                | WorkerFault::SamplingInvalid { .. }
                | WorkerFault::StateUnknown { .. }
                | WorkerFault::OutOfMemory { .. }
                | WorkerFault::Engine { .. },
            )
            | Self::SpawnFailed { .. }
            | Self::ExitedEarly { .. }
            | Self::Crashed { .. }
            | Self::ProtocolBroken { .. }
            | Self::Silent
            | Self::Stalled { .. }
            | Self::Unresponsive { .. } => None,
        }
    }
}

fn doing(phase: Phase) -> &'static str {
    match phase {
        Phase::Idle => "taking up a request",
        Phase::Loading => "loading the model",
        Phase::WarmingUp => "warming up",
        Phase::Prefill => "reading the prompt",
        Phase::Decode => "answering",
        Phase::Probing => "probing",
    }
}
