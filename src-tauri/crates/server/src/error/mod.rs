//! Errors as clients see them: the only place that turns a failure into a status, a JSON body or the
//! event that ends a broken stream.

mod code;
mod dispatch;

use axum::Json;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use hangar_media::MediaError;
use serde::Serialize;

pub use code::ErrorCode;
pub(crate) use dispatch::from_dispatch;

use crate::drones::DroneError;
use crate::flight::Door;
use crate::guard::Refusal;

/// Why a request is not answered as asked: what happened, and what to do about it.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum ApiError {
    /// Malformed JSON, a missing or ill-typed field, a value over its limit.
    #[error("{what}")]
    BadRequest {
        /// Path of the field, such as `messages[0].role`.
        param: Option<String>,
        /// What was expected and what was found, without quoting the body.
        what: String,
    },
    /// A field that cannot be honoured.
    #[error("{param} is not supported here: {cure}.")]
    UnsupportedRequest {
        /// Path of the field.
        param: String,
        /// What to do instead.
        cure: String,
    },
    /// Prompt and answer do not fit the window.
    #[error(
        "This model's maximum context length is {window_tokens} tokens. However, your messages resulted in \
         {prompt_tokens} tokens{}", what_to_shorten(*answer_tokens)
    )]
    ContextLengthExceeded {
        /// Tokens of the prompt; a lower bound where it is far too long.
        prompt_tokens: u32,
        /// Tokens asked for, where the client named them.
        answer_tokens: Option<u32>,
        /// The window.
        window_tokens: u32,
    },
    /// The guard turned the request away.
    #[error("{0}")]
    Forbidden(Refusal),
    /// No model of that name is served.
    #[error("Model {asked:?} is not served here. Known models: {known}.")]
    ModelNotFound {
        /// The name in the request, shortened.
        asked: String,
        /// The names there are.
        known: String,
    },
    /// No receipt of that id is kept.
    #[error("There is no receipt of the request {id:?}. The last 200 are at GET /admin/requests.")]
    ReceiptNotFound {
        /// The id, shortened.
        id: String,
    },
    /// A session cannot do what was asked.
    #[error(transparent)]
    Session(#[from] DroneError),
    /// A part of a kind that no session takes.
    #[error("{param} is a kind of part that is not taken here. Send text, audio, image or tool_result.")]
    UnsupportedPartType {
        /// Path of the kind.
        param: String,
    },
    /// No such path.
    #[error(
        "There is no {path:?} here. GET /v1/models, POST /v1/chat/completions, /v1/audio/transcriptions and /v1/si-drones are."
    )]
    PathNotFound {
        /// The path, shortened.
        path: String,
    },
    /// The path exists, the method does not.
    #[error("{method} is not possible on {path}. Use {allowed}.")]
    MethodNotFound {
        /// The method asked for.
        method: String,
        /// The path.
        path: &'static str,
        /// The methods there are.
        allowed: &'static str,
    },
    /// A request runs and nothing may wait.
    #[error("The model is answering another request, and no queue is configured. Try again later.")]
    WorkerBusy {
        /// When trying again makes sense.
        retry_after_s: u64,
    },
    /// An unload of a busy worker.
    #[error(
        "The model is answering a request or holds live sessions. Try again later, or send {{\"force\": true}} to end them."
    )]
    UnloadRefused {
        /// When trying again makes sense.
        retry_after_s: u64,
    },
    /// As many wait as may.
    #[error("{depth} requests are already waiting, which is as many as may. Try again later.")]
    QueueFull {
        /// Requests waiting.
        depth: u32,
        /// When trying again makes sense.
        retry_after_s: u64,
        /// Answer 429, as the client asked to.
        as_429: bool,
    },
    /// The body is over the server's limit.
    #[error("The body is over {limit_bytes} bytes. Send less, or raise server.maxBodyMb.")]
    PayloadTooLarge {
        /// The limit in force.
        limit_bytes: usize,
    },
    /// A modality that is switched off, or that the model has no sense for.
    #[error(
        "{param} holds {modality}, which {model} does not take here. Leave it out, or ask for a model that takes it: \
         GET /v1/models lists what each does."
    )]
    UnsupportedModality {
        /// Path of the part.
        param: String,
        /// The modality.
        modality: &'static str,
        /// The model.
        model: String,
    },
    /// A picture or sound that cannot be used.
    #[error("{param}: {error}.")]
    Media {
        /// Path of the field.
        param: String,
        /// Why.
        error: MediaError,
    },
    /// A type of picture or sound that is not allowed.
    #[error("{param} is {found}, which is not taken here. Send one of: {allowed}.")]
    UnsupportedMediaType {
        /// Path of the field.
        param: String,
        /// What it is, or is called where it cannot be told.
        found: String,
        /// The types that are allowed.
        allowed: String,
    },
    /// A profile whose backend this build does not have.
    #[error("{model} needs the backend {backend}, which is not there yet. Ask for another model.")]
    UnsupportedBackend {
        /// The model.
        model: String,
        /// Its backend.
        backend: &'static str,
    },
    /// A defect of ours; details are in the log.
    #[error("Something went wrong inside Hangar. The log says more.")]
    Internal,
    /// The worker failed for good.
    #[error("The model's worker failed: {what}. {cure}.")]
    WorkerFailed {
        /// What failed.
        what: String,
        /// What to do.
        cure: String,
    },
    /// The worker died while it answered.
    #[error(
        "The model's worker died while it answered ({what}). It is started again; send the request again."
    )]
    WorkerCrashed {
        /// What happened to it.
        what: String,
    },
    /// The worker stood still.
    #[error("The model's worker stood still ({what}) and is started again. Send the request again.")]
    WorkerStalled {
        /// What happened to it.
        what: String,
    },
    /// The worker cools down or could not be made ready this time.
    #[error("The model's worker is not ready: {what}. Try again in {retry_after_s} s.")]
    WorkerNotReady {
        /// Why.
        what: String,
        /// When it may be.
        retry_after_s: u64,
    },
    /// The service ends.
    #[error("Hangar is shutting down. Send the request again once it runs.")]
    ShuttingDown,
    /// The service is switched off.
    #[error("Hangar is stopped. Press Start on its page or in its menu.")]
    Stopped,
    /// The runtime is not as pinned.
    #[error("The Python runtime is not as pinned: {what}. {cure}.")]
    RuntimeUnverified {
        /// What differs.
        what: String,
        /// What to do.
        cure: String,
    },
    /// A time limit passed.
    #[error("{what} took longer than {limit_ms} ms. {cure}.")]
    Timeout {
        /// What took too long.
        what: &'static str,
        /// The limit.
        limit_ms: u64,
        /// What to do.
        cure: &'static str,
    },
}

impl ApiError {
    /// The row of the table.
    pub fn code(&self) -> ErrorCode {
        match self {
            Self::BadRequest { .. } => ErrorCode::BadRequest,
            Self::UnsupportedRequest { .. } => ErrorCode::UnsupportedRequest,
            Self::ContextLengthExceeded { .. } => ErrorCode::ContextLengthExceeded,
            Self::Forbidden(_) => ErrorCode::Forbidden,
            Self::ModelNotFound { .. } => ErrorCode::ModelNotFound,
            Self::ReceiptNotFound { .. } | Self::PathNotFound { .. } | Self::MethodNotFound { .. } => {
                ErrorCode::NotFound
            }
            Self::Session(error) => error.code(),
            Self::UnsupportedPartType { .. } => ErrorCode::UnsupportedPartType,
            Self::WorkerBusy { .. } | Self::UnloadRefused { .. } => ErrorCode::WorkerBusy,
            Self::QueueFull { .. } => ErrorCode::QueueFull,
            Self::PayloadTooLarge { .. } => ErrorCode::PayloadTooLarge,
            Self::UnsupportedModality { .. } => ErrorCode::UnsupportedModality,
            Self::Media { error, .. } => media_code(error),
            Self::UnsupportedMediaType { .. } => ErrorCode::UnsupportedMediaType,
            Self::UnsupportedBackend { .. } => ErrorCode::UnsupportedBackend,
            Self::Internal => ErrorCode::InternalError,
            Self::WorkerFailed { .. } => ErrorCode::WorkerFailed,
            Self::WorkerCrashed { .. } => ErrorCode::WorkerCrashed,
            Self::WorkerStalled { .. } => ErrorCode::WorkerStalled,
            Self::WorkerNotReady { .. } => ErrorCode::WorkerNotReady,
            Self::ShuttingDown => ErrorCode::ShuttingDown,
            Self::Stopped => ErrorCode::Stopped,
            Self::RuntimeUnverified { .. } => ErrorCode::RuntimeUnverified,
            Self::Timeout { .. } => ErrorCode::Timeout,
        }
    }

    /// The status of an answer that has not begun.
    pub fn status(&self) -> StatusCode {
        if matches!(self, Self::QueueFull { as_429: true, .. }) {
            return StatusCode::TOO_MANY_REQUESTS;
        }
        self.code().status()
    }

    /// The line that ends a stream already begun, without `data: ` and newlines.
    pub fn stream_json(&self) -> String {
        let code = self.code();
        let body = StreamBody {
            error: StreamError {
                kind: "server_error",
                code: code.word(),
                message: self.to_string(),
                param: self.param(),
                retryable: code.retryable(),
            },
        };
        serde_json::to_string(&body).unwrap_or_default()
    }

    /// The field at fault.
    pub(crate) fn param(&self) -> Option<&str> {
        match self {
            Self::BadRequest { param, .. } => param.as_deref(),
            Self::UnsupportedRequest { param, .. }
            | Self::UnsupportedModality { param, .. }
            | Self::Media { param, .. }
            | Self::UnsupportedMediaType { param, .. }
            | Self::UnsupportedPartType { param } => Some(param),
            Self::Session(error) => error.param(),
            Self::ModelNotFound { .. } | Self::UnsupportedBackend { .. } => Some("model"),
            Self::ContextLengthExceeded { answer_tokens: Some(asked), window_tokens, .. }
                if asked >= window_tokens =>
            {
                Some("max_tokens")
            }
            Self::ContextLengthExceeded { .. } => Some("messages"),
            Self::Forbidden(refusal) => refusal.header(),
            Self::ReceiptNotFound { .. }
            | Self::PathNotFound { .. }
            | Self::MethodNotFound { .. }
            | Self::WorkerBusy { .. }
            | Self::UnloadRefused { .. }
            | Self::QueueFull { .. }
            | Self::PayloadTooLarge { .. }
            | Self::Internal
            | Self::WorkerFailed { .. }
            | Self::WorkerCrashed { .. }
            | Self::WorkerStalled { .. }
            | Self::WorkerNotReady { .. }
            | Self::ShuttingDown
            | Self::Stopped
            | Self::RuntimeUnverified { .. }
            | Self::Timeout { .. } => None,
        }
    }

    fn retry_after_s(&self) -> Option<u64> {
        match self {
            Self::WorkerBusy { retry_after_s }
            | Self::UnloadRefused { retry_after_s }
            | Self::QueueFull { retry_after_s, .. }
            | Self::WorkerNotReady { retry_after_s, .. } => Some((*retry_after_s).clamp(1, 120)),
            Self::WorkerCrashed { .. } | Self::WorkerStalled { .. } => Some(1),
            Self::ShuttingDown => Some(5),
            Self::BadRequest { .. }
            | Self::Session(_)
            | Self::UnsupportedPartType { .. }
            | Self::UnsupportedRequest { .. }
            | Self::ContextLengthExceeded { .. }
            | Self::Forbidden(_)
            | Self::ModelNotFound { .. }
            | Self::ReceiptNotFound { .. }
            | Self::PathNotFound { .. }
            | Self::MethodNotFound { .. }
            | Self::PayloadTooLarge { .. }
            | Self::UnsupportedModality { .. }
            | Self::Media { .. }
            | Self::UnsupportedMediaType { .. }
            | Self::UnsupportedBackend { .. }
            | Self::Internal
            | Self::WorkerFailed { .. }
            | Self::Stopped
            | Self::RuntimeUnverified { .. }
            | Self::Timeout { .. } => None,
        }
    }
}

/// What is wrong with the way media came is a bad request; what is wrong with the media has types of its own.
fn media_code(error: &MediaError) -> ErrorCode {
    match error {
        MediaError::Empty
        | MediaError::TooManyBytes { .. }
        | MediaError::NotInline
        | MediaError::NotBase64 { .. } => ErrorCode::BadRequest,
        MediaError::ImageUnknown | MediaError::ImageTooLarge { .. } | MediaError::ImageDamaged { .. } => {
            ErrorCode::InvalidImage
        }
        MediaError::AudioTooLong { .. } => ErrorCode::AudioTooLong,
        MediaError::AudioUnknown
        | MediaError::AudioCodec
        | MediaError::AudioDamaged { .. }
        | MediaError::AudioCutShort { .. }
        | MediaError::AudioCoding { .. }
        | MediaError::AudioChannels { .. }
        | MediaError::AudioRate { .. }
        | MediaError::AudioTooShort { .. } => ErrorCode::InvalidAudio,
    }
}

impl From<Door> for ApiError {
    /// Why nothing may begin behind a door that is not open.
    fn from(door: Door) -> Self {
        match door {
            Door::Stopped => Self::Stopped,
            Door::Open | Door::Ending => Self::ShuttingDown,
        }
    }
}

impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        let code = self.code();
        let body = ReplyBody {
            error: ReplyError {
                kind: code.word(),
                message: self.to_string(),
                retryable: code.retryable(),
                code: code.word(),
                param: self.param(),
            },
        };
        let mut response = (self.status(), Json(body)).into_response();
        let headers = response.headers_mut();
        headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
        if let Some(seconds) = self.retry_after_s() {
            headers.insert(header::RETRY_AFTER, HeaderValue::from(seconds));
        }
        if let Self::MethodNotFound { allowed, .. } = &self {
            headers.insert(header::ALLOW, HeaderValue::from_static(allowed));
        }
        response
    }
}

fn what_to_shorten(answer_tokens: Option<u32>) -> String {
    match answer_tokens {
        None => ". Please reduce the length of the messages.".to_owned(),
        Some(tokens) => format!(
            ", and {tokens} were requested for the answer. Please reduce the length of the messages or max_tokens."
        ),
    }
}

#[derive(Serialize)]
struct ReplyBody<'a> {
    error: ReplyError<'a>,
}

#[derive(Serialize)]
struct ReplyError<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    message: String,
    retryable: bool,
    code: &'static str,
    param: Option<&'a str>,
}

#[derive(Serialize)]
struct StreamBody<'a> {
    error: StreamError<'a>,
}

#[derive(Serialize)]
struct StreamError<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    code: &'static str,
    message: String,
    param: Option<&'a str>,
    retryable: bool,
}

#[cfg(test)]
mod tests;
