//! Frames from a worker to the server.

use serde::{Deserialize, Serialize};

use crate::{RequestId, WorkerFault};

/// Everything a worker may say to the server.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum FromWorker {
    /// First frame of every worker.
    Hello(Hello),
    /// Periodic sign of life with counters; sent without the interpreter lock.
    Beat(Beat),
    /// The model is in memory and warmed up.
    Loaded(Loaded),
    /// The model could not be loaded.
    LoadFailed(LoadFailed),
    /// The prompt was read and fits; prefill begins.
    Accepted(Accepted),
    /// Newly generated output.
    Pieces(Pieces),
    /// The request ended in order (also when cancelled).
    Finished(Finished),
    /// The request ended with a fault; the worker lives on.
    Failed(Failed),
    /// Answer to a probe.
    Probed(Probed),
    /// Answer to a ping.
    Pong(Pong),
}

/// Who this worker is, before it loads anything.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Hello {
    /// Must equal [`crate::PROTOCOL_VERSION`].
    pub protocol: u32,
    /// Version of the worker package.
    pub worker: String,
    /// Version of the Python interpreter, or "none" for a scripted engine.
    pub python: String,
    /// Version of mlx as installed.
    pub mlx: String,
    /// Version of mlx-vlm as installed.
    pub mlx_vlm: String,
    /// Process id of the worker.
    pub pid: u32,
    /// Whether the pinned packages and patched files are as they must be.
    pub verdict: Verdict,
}

/// Result of comparing the installed runtime with its pins.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "verdict", rename_all = "snake_case")]
pub enum Verdict {
    /// Versions and file hashes are as pinned.
    Verified,
    /// Something differs; the worker refuses to load.
    Differs {
        /// What differs, as a lower-case fragment naming package or file, expected and found.
        what: String,
    },
}

/// Periodic counters; a live pipe with unmoving counters is a wedge.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Beat {
    /// Rises by one with every beat.
    pub sequence: u64,
    /// What the engine is doing.
    pub phase: Phase,
    /// The request being worked on, if any.
    pub request: Option<RequestId>,
    /// Units done in this phase (tokens, or load steps).
    pub done: u64,
    /// Units to do in this phase; 0 where unknown.
    pub total: u64,
    /// Units of the step under way, before whose end the counters cannot move; 0 where it is small or unknown.
    pub step: u64,
}

/// What the engine is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Phase {
    /// Waiting for a command.
    Idle,
    /// Importing and loading weights.
    Loading,
    /// Compiling kernels and measuring the chunk size.
    WarmingUp,
    /// Reading a prompt, counted in tokens.
    Prefill,
    /// Generating, counted in tokens.
    Decode,
    /// Running an exactness probe.
    Probing,
}

/// A model is ready.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Loaded {
    /// What was loaded.
    pub model: ModelFacts,
    /// Time from the load command to now.
    pub load_ms: u64,
    /// Memory after loading.
    pub memory: MemoryUse,
}

/// Facts about a loaded model.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ModelFacts {
    /// `model_type` of its config.json.
    pub model_type: String,
    /// Parameters in the language model and towers.
    pub parameters: u64,
    /// Rows of its vocabulary.
    pub vocabulary_tokens: u32,
    /// Whether it has a vision tower.
    pub image: bool,
    /// Whether it has an audio tower.
    pub audio: bool,
    /// Prefill chunk in use, measured or asked for.
    pub prefill_chunk_tokens: u32,
}

/// Memory as the engine counts it, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MemoryUse {
    /// Held by arrays now.
    pub active_bytes: u64,
    /// Most ever held by arrays.
    pub peak_bytes: u64,
    /// Kept by the allocator for reuse.
    pub cache_bytes: u64,
}

/// Why loading failed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LoadFailed {
    /// The fault.
    pub fault: WorkerFault,
}

/// A prompt was tokenised and fits.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Accepted {
    /// The request.
    pub request: RequestId,
    /// Tokens of the whole prompt, media placeholders included.
    pub prompt_tokens: u32,
    /// Of these, tokens whose state was reused.
    pub cached_tokens: u32,
}

/// Output as it is generated.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Pieces {
    /// The request.
    pub request: RequestId,
    /// Tokens generated so far, also those that no piece tells of yet.
    pub made_tokens: u32,
    /// Pieces in order.
    pub pieces: Vec<Piece>,
}

/// Output decided by token id, so that a control token and a user's look-alike characters stay apart.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Piece {
    /// Text; always whole UTF-8 characters.
    Text {
        /// The text.
        text: String,
    },
    /// A control token by name.
    Control {
        /// The token's name, such as `<|tool_call>`.
        token: String,
    },
    /// Text with its log-probabilities; comes in place of `text` where they were asked for.
    Scored {
        /// The text.
        text: String,
        /// The tokens that begin in this text, in order; the last one may end in a later piece.
        tokens: Vec<ScoredToken>,
    },
}

/// A generated text token and what else the model might have said.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ScoredToken {
    /// What the token adds to the text.
    pub bytes: Vec<u8>,
    /// Natural logarithm of its probability; at least -9999.
    pub logprob: f32,
    /// The likeliest tokens, the likeliest first.
    pub top: Vec<Candidate>,
}

/// A token that might have been generated.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Candidate {
    /// What the token would add to the text; a control token's name.
    pub bytes: Vec<u8>,
    /// Natural logarithm of its probability; at least -9999.
    pub logprob: f32,
}

/// Why generation ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FinishReason {
    /// The model ended its turn, handed over to a tool, or came to the end of its grammar.
    Stop,
    /// A stop text was generated; it and what follows were not delivered.
    StopText,
    /// `max_tokens` or the context window was reached.
    Length,
    /// The server asked to stop.
    Cancelled,
}

/// A request ended in order.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Finished {
    /// The request.
    pub request: RequestId,
    /// Why it ended.
    pub reason: FinishReason,
    /// Tokens in and out.
    pub tokens: TokenUse,
    /// Time spent.
    pub timings: Timings,
    /// Memory after the request.
    pub memory: MemoryUse,
    /// What of the request was let go, a sentence each.
    pub warnings: Vec<String>,
    /// The state that was kept, where one was asked for.
    pub kept: Option<Kept>,
}

/// A state that is kept under a number.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Kept {
    /// Tokens of its context: of all prompts and answers that led to it.
    pub context_tokens: u32,
    /// Bytes of that context's state; states that have a beginning in common share its bytes.
    pub bytes: u64,
}

/// Token counts of one request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TokenUse {
    /// Tokens of the whole prompt.
    pub prompt_tokens: u32,
    /// Of these, reused from a cache.
    pub cached_tokens: u32,
    /// Tokens generated, the ending control token included.
    pub completion_tokens: u32,
}

/// Durations of one request in milliseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Timings {
    /// From acceptance to the first token.
    pub prefill_ms: f64,
    /// From the first token to the last.
    pub generation_ms: f64,
}

/// A request ended with a fault.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Failed {
    /// The request.
    pub request: RequestId,
    /// The fault.
    pub fault: WorkerFault,
}

/// Answer to a probe.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Probed {
    /// The request.
    pub request: RequestId,
    /// What was measured.
    pub report: ProbeReport,
}

/// How far warm runs were from the cold run.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct ProbeReport {
    /// Largest absolute difference of next-token log-probabilities over vocabulary and borders.
    pub worst_abs_logprob: f64,
    /// Warm borders tried.
    pub borders: u32,
    /// Tokens of the prompt.
    pub prompt_tokens: u32,
}

/// Answer to a ping.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Pong {
    /// The ping's nonce.
    pub nonce: u64,
}
