//! Faults of a worker: the only error type that crosses the pipe.

use serde::{Deserialize, Serialize};

/// A worker's fault with its figures; prompts, media and paths of a user's data never appear in one.
#[derive(Clone, Debug, PartialEq, thiserror::Error, Serialize, Deserialize)]
#[serde(tag = "code", rename_all = "snake_case")]
pub enum WorkerFault {
    /// The installed runtime differs from its pins.
    #[error("runtime differs from its pins: {what}")]
    RuntimeUnverified {
        /// What differs.
        what: String,
    },
    /// A file of the model is not there.
    #[error("model file {file} is missing")]
    ModelMissing {
        /// File name inside the model folder, or the path of the folder when all of it is missing.
        file: String,
    },
    /// A file of the model is there but not whole or not readable.
    #[error("model file {file} is damaged: {what}")]
    ModelDamaged {
        /// File name inside the model folder.
        file: String,
        /// What is wrong, with sizes where known.
        what: String,
    },
    /// The model is whole, but not one this worker runs.
    #[error("model is not supported: {what}")]
    ModelUnsupported {
        /// Why.
        what: String,
    },
    /// Prompt and answer do not fit the window.
    #[error(
        "prompt of {prompt_tokens} tokens plus {max_tokens} to generate exceeds the window of {window_tokens}"
    )]
    ContextLengthExceeded {
        /// Tokens of the prompt; a lower bound where it was refused before all of it was tokenised.
        prompt_tokens: u32,
        /// Tokens asked to generate.
        max_tokens: u32,
        /// The window.
        window_tokens: u32,
    },
    /// The prompt cannot be turned into tokens or media features.
    #[error("prompt cannot be read: {what}")]
    PromptInvalid {
        /// Why, without quoting the prompt.
        what: String,
    },
    /// Tokens cannot be chosen that way.
    #[error("sampling.{field} {what}")]
    SamplingInvalid {
        /// The field of [`crate::Sampling`].
        field: String,
        /// What is wrong with it, as the end of a sentence.
        what: String,
    },
    /// The state to go on from is not kept here: let go of, or of another worker.
    #[error("state {state} is not kept")]
    StateUnknown {
        /// Its number.
        state: u64,
    },
    /// Memory ran out; the worker should be started anew.
    #[error("out of memory: {what}")]
    OutOfMemory {
        /// What was being done.
        what: String,
    },
    /// Anything the engine raised that has no name here.
    #[error("engine error: {what}")]
    Engine {
        /// Kind of the exception; its text stays in the worker's log.
        what: String,
    },
}

impl WorkerFault {
    /// Whether doing the same again may succeed.
    pub fn retryable(&self) -> bool {
        match self {
            Self::RuntimeUnverified { .. }
            | Self::ModelMissing { .. }
            | Self::ModelDamaged { .. }
            | Self::ModelUnsupported { .. }
            | Self::ContextLengthExceeded { .. }
            | Self::PromptInvalid { .. }
            | Self::SamplingInvalid { .. }
            | Self::StateUnknown { .. } => false,
            Self::OutOfMemory { .. } | Self::Engine { .. } => true,
        }
    }
}
