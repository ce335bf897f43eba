//! The table of error types: word, status, whether trying again may help.

use axum::http::StatusCode;

/// Every error type a client may ever see; a new one is added here first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ErrorCode {
    /// Malformed JSON, a missing or ill-typed field, a value over its limit.
    BadRequest,
    /// A field or role that cannot be honoured.
    UnsupportedRequest,
    /// Prompt and answer do not fit the window.
    ContextLengthExceeded,
    /// An image that cannot be decoded or is over its limit.
    InvalidImage,
    /// Audio that cannot be decoded.
    InvalidAudio,
    /// Audio over its limit.
    AudioTooLong,
    /// A refused Host, Origin or peer.
    Forbidden,
    /// No such model.
    ModelNotFound,
    /// No such session.
    SessionNotFound,
    /// No such path, or another method.
    NotFound,
    /// A request runs and nothing may wait, or an unload without force.
    WorkerBusy,
    /// As many wait as may.
    QueueFull,
    /// The session's worker is gone.
    SessionLost,
    /// A turn of the session runs.
    SessionBusy,
    /// As many sessions as may.
    SessionLimit,
    /// The session had all its turns.
    MaxTurnsExceeded,
    /// The session is full.
    MaxContextTokensExceeded,
    /// The session's time is over.
    SessionExpired,
    /// The body is over the server's limit.
    PayloadTooLarge,
    /// A part kind that is not taken here.
    UnsupportedPartType,
    /// A MIME type that is not allowed.
    UnsupportedMediaType,
    /// A modality that is off or not supported.
    UnsupportedModality,
    /// Not with this backend.
    UnsupportedBackend,
    /// A defect of ours.
    InternalError,
    /// The worker failed for good.
    WorkerFailed,
    /// The worker died.
    WorkerCrashed,
    /// The worker stood still.
    WorkerStalled,
    /// The worker could not be made ready, or cools down.
    WorkerNotReady,
    /// There is not memory enough.
    GovernorRefused,
    /// The model wrote something that cannot be read.
    BackendFormatError,
    /// The service ends.
    ShuttingDown,
    /// The service is switched off.
    Stopped,
    /// The runtime is not as pinned.
    RuntimeUnverified,
    /// A time limit passed.
    Timeout,
}

impl ErrorCode {
    /// All types, in the order of the table.
    pub const ALL: [Self; 34] = [
        Self::BadRequest,
        Self::UnsupportedRequest,
        Self::ContextLengthExceeded,
        Self::InvalidImage,
        Self::InvalidAudio,
        Self::AudioTooLong,
        Self::Forbidden,
        Self::ModelNotFound,
        Self::SessionNotFound,
        Self::NotFound,
        Self::WorkerBusy,
        Self::QueueFull,
        Self::SessionLost,
        Self::SessionBusy,
        Self::SessionLimit,
        Self::MaxTurnsExceeded,
        Self::MaxContextTokensExceeded,
        Self::SessionExpired,
        Self::PayloadTooLarge,
        Self::UnsupportedPartType,
        Self::UnsupportedMediaType,
        Self::UnsupportedModality,
        Self::UnsupportedBackend,
        Self::InternalError,
        Self::WorkerFailed,
        Self::WorkerCrashed,
        Self::WorkerStalled,
        Self::WorkerNotReady,
        Self::GovernorRefused,
        Self::BackendFormatError,
        Self::ShuttingDown,
        Self::Stopped,
        Self::RuntimeUnverified,
        Self::Timeout,
    ];

    /// The word clients see as `type` and `code`.
    pub fn word(self) -> &'static str {
        self.row().0
    }

    /// The status it is answered with; a full queue is also answered 429 where the client asks for it.
    pub fn status(self) -> StatusCode {
        self.row().1
    }

    /// Whether the same request may succeed later.
    pub fn retryable(self) -> bool {
        self.row().2
    }

    fn row(self) -> (&'static str, StatusCode, bool) {
        use StatusCode as Status;
        match self {
            Self::BadRequest => ("bad_request", Status::BAD_REQUEST, false),
            Self::UnsupportedRequest => ("unsupported_request", Status::BAD_REQUEST, false),
            Self::ContextLengthExceeded => ("context_length_exceeded", Status::BAD_REQUEST, false),
            Self::InvalidImage => ("invalid_image", Status::BAD_REQUEST, false),
            Self::InvalidAudio => ("invalid_audio", Status::BAD_REQUEST, false),
            Self::AudioTooLong => ("audio_too_long", Status::BAD_REQUEST, false),
            Self::Forbidden => ("forbidden", Status::FORBIDDEN, false),
            Self::ModelNotFound => ("model_not_found", Status::NOT_FOUND, false),
            Self::SessionNotFound => ("session_not_found", Status::NOT_FOUND, false),
            Self::NotFound => ("not_found", Status::NOT_FOUND, false),
            Self::WorkerBusy => ("worker_busy", Status::CONFLICT, true),
            Self::QueueFull => ("queue_full", Status::CONFLICT, true),
            Self::SessionLost => ("session_lost", Status::CONFLICT, false),
            Self::SessionBusy => ("session_busy", Status::CONFLICT, true),
            Self::SessionLimit => ("session_limit", Status::CONFLICT, true),
            Self::MaxTurnsExceeded => ("max_turns_exceeded", Status::CONFLICT, false),
            Self::MaxContextTokensExceeded => ("max_context_tokens_exceeded", Status::CONFLICT, false),
            Self::SessionExpired => ("session_expired", Status::GONE, false),
            Self::PayloadTooLarge => ("payload_too_large", Status::PAYLOAD_TOO_LARGE, false),
            Self::UnsupportedPartType => ("unsupported_part_type", Status::UNSUPPORTED_MEDIA_TYPE, false),
            Self::UnsupportedMediaType => ("unsupported_media_type", Status::UNSUPPORTED_MEDIA_TYPE, false),
            Self::UnsupportedModality => ("unsupported_modality", Status::UNPROCESSABLE_ENTITY, false),
            Self::UnsupportedBackend => ("unsupported_backend", Status::UNPROCESSABLE_ENTITY, false),
            Self::InternalError => ("internal_error", Status::INTERNAL_SERVER_ERROR, false),
            Self::WorkerFailed => ("worker_failed", Status::SERVICE_UNAVAILABLE, false),
            Self::WorkerCrashed => ("worker_crashed", Status::SERVICE_UNAVAILABLE, true),
            Self::WorkerStalled => ("worker_stalled", Status::SERVICE_UNAVAILABLE, true),
            Self::WorkerNotReady => ("worker_not_ready", Status::SERVICE_UNAVAILABLE, true),
            Self::GovernorRefused => ("governor_refused", Status::SERVICE_UNAVAILABLE, true),
            Self::BackendFormatError => ("backend_format_error", Status::SERVICE_UNAVAILABLE, true),
            Self::ShuttingDown => ("shutting_down", Status::SERVICE_UNAVAILABLE, true),
            Self::Stopped => ("stopped", Status::SERVICE_UNAVAILABLE, false),
            Self::RuntimeUnverified => ("runtime_unverified", Status::SERVICE_UNAVAILABLE, false),
            Self::Timeout => ("timeout", Status::GATEWAY_TIMEOUT, true),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_whole_table_of_types_stays_as_clients_know_it() {
        let rows: Vec<String> = ErrorCode::ALL
            .iter()
            .map(|code| {
                let retry = if code.retryable() { "retryable" } else { "final" };
                format!("{} {} {retry}", code.status().as_u16(), code.word())
            })
            .collect();
        insta::assert_snapshot!(rows.join("\n"));
    }

    #[test]
    fn every_type_stands_once_in_the_table() {
        let words: std::collections::BTreeSet<_> = ErrorCode::ALL.iter().map(|code| code.word()).collect();
        assert_eq!(words.len(), ErrorCode::ALL.len());
    }
}
