//! Why a session cannot do what was asked.

use crate::error::ErrorCode;

/// What is in the way, with the cure.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DroneError {
    /// There never was one, or it was deleted.
    #[error("There is no session {id:?}. Create one with POST /v1/si-drones.")]
    NotFound {
        /// The id, shortened.
        id: String,
    },
    /// Its time was over.
    #[error("The session's time is over: {ttl_s} s passed without a turn. Create a new one.")]
    Expired {
        /// Its life after a turn, in whole seconds.
        ttl_s: u64,
    },
    /// The worker that had its state is gone.
    #[error("The session's state is lost: the model was unloaded or started anew. Create a new session.")]
    Lost,
    /// A turn runs.
    #[error("A turn of this session is running. Send the next one when it has ended.")]
    Busy,
    /// As many as may.
    #[error("{most} sessions are live, which is as many as may. Delete one, or raise sessions.maxSessions.")]
    Limit {
        /// The limit.
        most: u32,
    },
    /// It had all its turns.
    #[error("The session has had its {most} turns. Create a new one, or roll it back.")]
    TurnsUsedUp {
        /// The limit.
        most: u32,
    },
    /// The turn does not fit.
    #[error(
        "The session holds {held_tokens} tokens, and this turn needs {wanted_tokens} more; at most {most_tokens} \
         may be held. Send less, lower max_tokens, or create a new session."
    )]
    ContextFull {
        /// Tokens before the turn.
        held_tokens: u32,
        /// Tokens of the turn and its answer; a lower bound where it is far too long.
        wanted_tokens: u64,
        /// The limit.
        most_tokens: u32,
    },
    /// There was no such turn.
    #[error("to_turn is {asked}, and the session has had {turns} turns. Send a number from 0 to {turns}.")]
    NoSuchTurn {
        /// What was asked for.
        asked: u64,
        /// Turns so far.
        turns: u32,
    },
}

impl DroneError {
    /// Its row of the table of errors.
    pub(crate) fn code(&self) -> ErrorCode {
        match self {
            Self::NotFound { .. } => ErrorCode::SessionNotFound,
            Self::Expired { .. } => ErrorCode::SessionExpired,
            Self::Lost => ErrorCode::SessionLost,
            Self::Busy => ErrorCode::SessionBusy,
            Self::Limit { .. } => ErrorCode::SessionLimit,
            Self::TurnsUsedUp { .. } => ErrorCode::MaxTurnsExceeded,
            Self::ContextFull { .. } => ErrorCode::MaxContextTokensExceeded,
            Self::NoSuchTurn { .. } => ErrorCode::BadRequest,
        }
    }

    /// The field at fault.
    pub(crate) fn param(&self) -> Option<&'static str> {
        match self {
            Self::NotFound { .. } => Some("session_id"),
            Self::ContextFull { .. } => Some("parts"),
            Self::NoSuchTurn { .. } => Some("to_turn"),
            Self::Expired { .. }
            | Self::Lost
            | Self::Busy
            | Self::Limit { .. }
            | Self::TurnsUsedUp { .. } => None,
        }
    }
}
