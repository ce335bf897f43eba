//! Frames from the server to a worker.

use serde::{Deserialize, Serialize};

use crate::Sampling;

/// Number of one request on one pipe; never used again during a worker's life.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct RequestId(pub u64);

impl std::fmt::Display for RequestId {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "req-{}", self.0)
    }
}

/// Number of a state that the worker keeps; chosen by the server, and never used for another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct StateId(pub u64);

/// Everything the server may say to a worker.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum ToWorker {
    /// Load a model; answered by `loaded` or `load_failed`.
    Load(Load),
    /// Answer a prompt; answered by `accepted`, `pieces`…, then `finished` or `failed`.
    Generate(Generate),
    /// Measure the engine's own exactness; answered by `probed` or `failed`.
    Probe(Probe),
    /// Stop the named request at the next chunk or token; it still ends with `finished`.
    Cancel(Cancel),
    /// Let go of kept states; not answered.
    Forget(Forget),
    /// Answered by `pong` without the interpreter lock.
    Ping(Ping),
    /// Finish what is running, then exit with status 0.
    Shutdown,
}

/// Which model to load, and how.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Load {
    /// Folder that holds config.json, the weights and tokenizer.json.
    pub model_dir: String,
    /// Largest prompt plus answer in tokens; longer prompts fail with `context_length_exceeded`.
    pub context_window_tokens: u32,
    /// Prefill chunk in tokens; null lets the worker measure the best one on this machine.
    pub prefill_chunk_tokens: Option<u32>,
    /// What the state of earlier prompts may take, kept for those that begin alike; 0 keeps none. States with a
    /// number count, and are not dropped for it.
    pub state_cache_bytes: u64,
}

/// One prompt to answer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Generate {
    /// Number the answering frames carry.
    pub request: RequestId,
    /// The rendered prompt.
    pub prompt: Prompt,
    /// How tokens are chosen.
    pub sampling: Sampling,
    /// Most tokens to generate, at least 1.
    pub max_tokens: u32,
    /// The kept state that the prompt goes on from; null begins anew.
    pub base: Option<StateId>,
    /// Number under which the state at the end of the answer is kept. Nothing is kept of an answer that is
    /// cancelled or fails.
    pub keep: Option<StateId>,
}

/// Names states to let go of.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Forget {
    /// The states; those that are not there are passed over.
    pub states: Vec<StateId>,
}

/// A rendered prompt: groups in order, and the media their segments point at.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Prompt {
    /// One group a message; a group's end is a place where cached state may be cut.
    pub groups: Vec<Group>,
    /// Media named by index from the segments.
    pub media: Vec<Media>,
}

/// The segments of one message.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Group {
    /// Segments in order.
    pub segments: Vec<Segment>,
}

/// A stretch of prompt.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Segment {
    /// Literal text: never read as control tokens, whatever it spells.
    Text {
        /// The text.
        text: String,
    },
    /// One control token by its name in the tokenizer, such as `<|turn>`.
    Control {
        /// The token's name.
        token: String,
    },
    /// An image, with its begin and end markers.
    Image {
        /// Index into the prompt's media.
        media: u32,
    },
    /// An audio clip, with its begin and end markers.
    Audio {
        /// Index into the prompt's media.
        media: u32,
    },
}

/// Decoded media; the worker never sees a container format.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Media {
    /// Interleaved 8-bit RGB rows, top to bottom, base64.
    Rgb8 {
        /// Width in pixels.
        width: u32,
        /// Height in pixels.
        height: u32,
        /// `width * height * 3` bytes in base64.
        data_base64: String,
    },
    /// Mono samples at 16 kHz, 32-bit little-endian float in -1..1, base64.
    Pcm16k {
        /// `4 * samples` bytes in base64.
        data_base64: String,
    },
}

/// Measures whether a warm cache gives the same next-token distribution as a cold run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Probe {
    /// Number the answering frame carries.
    pub request: RequestId,
    /// Prompt with at least two groups: every group border is tried as the warm border.
    pub prompt: Prompt,
}

/// Names the request to stop.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Cancel {
    /// The request.
    pub request: RequestId,
}

/// Asks for a sign of life of the pipe.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Ping {
    /// Echoed in the answer.
    pub nonce: u64,
}
