//! One session, its turns and what it is doing.

use hangar_gemma::PastCall;
use hangar_protocol::{Kept, StateId};

use super::DroneError;
use super::policy::Policy;
use crate::media::Clip;

/// One session.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Drone<S> {
    /// `sidr_` and letters and digits.
    pub(crate) id: String,
    /// What was settled at its creation.
    pub(crate) setup: S,
    /// Its limits.
    pub(crate) policy: Policy,
    /// Unix seconds.
    pub(crate) created_at: u64,
    /// When it was created, had its last turn, or was touched.
    pub(crate) active_ms: u64,
    /// The turns so far.
    pub(crate) turns: Vec<Turn>,
    /// The worker process that has its state; none before the first turn.
    pub(crate) generation: Option<u64>,
    /// What it is doing.
    pub(crate) stage: Stage,
}

/// What a session is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stage {
    /// It waits for a turn.
    Idle,
    /// A turn runs, under this number.
    Turning(u64),
    /// The worker that had its state is gone.
    Lost,
}

/// One turn that was answered.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Turn {
    /// The state at its end.
    pub(crate) state: StateId,
    /// How much that is.
    pub(crate) kept: Kept,
    /// What was sent, without media.
    pub(crate) parts: Vec<Said>,
    /// The answer.
    pub(crate) text: String,
    /// The calls it made.
    pub(crate) calls: Vec<PastCall>,
    /// Why it ended.
    pub(crate) finish_reason: &'static str,
    /// The clips that its sound became.
    pub(crate) clips: Vec<Clip>,
    /// Unix seconds.
    pub(crate) at: u64,
}

/// A part of a turn, as the transcript tells it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Said {
    /// Text.
    Text(String),
    /// A picture.
    Image {
        /// What it was.
        mime_type: &'static str,
        /// Size as it came.
        bytes: usize,
    },
    /// Sound.
    Audio {
        /// What it was.
        mime_type: &'static str,
        /// Size as it came.
        bytes: usize,
    },
    /// What a tool gave back.
    ToolResult {
        /// The call it answers.
        call_id: Option<String>,
        /// What came back.
        text: String,
    },
}

/// A turn that may run.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Begun<S> {
    /// Its number, for the end.
    pub(crate) number: u64,
    /// What was settled at the session's creation.
    pub(crate) setup: S,
    /// The session's limits.
    pub(crate) policy: Policy,
    /// From 1.
    pub(crate) turn_index: u32,
    /// The state to go on from.
    pub(crate) base: Option<StateId>,
    /// Tokens of that state.
    pub(crate) held_tokens: u32,
    /// The calls that its tools may answer now.
    pub(crate) calls: Vec<PastCall>,
}

/// What is left of a session that ended.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Released<S> {
    /// What was settled at its creation.
    pub(crate) setup: S,
    /// The states that nobody needs any more.
    pub(crate) states: Vec<StateId>,
}

impl<S> Drone<S> {
    /// When its time is over, unless a turn begins before.
    pub(crate) fn expires_ms(&self) -> u64 {
        self.active_ms.saturating_add(self.policy.ttl_ms())
    }

    /// Whether a turn may begin.
    ///
    /// # Errors
    /// That one runs, or that there is nothing to go on from any more.
    pub(crate) fn check_idle(&self) -> Result<(), DroneError> {
        match self.stage {
            Stage::Idle => Ok(()),
            Stage::Turning(_) => Err(DroneError::Busy),
            Stage::Lost => Err(DroneError::Lost),
        }
    }
}
