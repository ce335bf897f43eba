//! Frames between the server and its worker processes: one JSON object per line, tagged by `type`.
//!
//! This crate knows serde only. It must not know what a model, a queue or an HTTP request is beyond the
//! shapes that cross the pipe. [`PROTOCOL_VERSION`] changes with every change of a shape: both sides ship
//! together, so unequal versions are refused rather than translated.

mod codec;
mod fault;
mod from_worker;
mod sampling;
mod to_worker;

pub use codec::{FrameError, MAX_FROM_WORKER_BYTES, MAX_TO_WORKER_BYTES, Splitter, decode, encode};
pub use fault::WorkerFault;
pub use from_worker::{
    Accepted, Beat, Candidate, Failed, FinishReason, Finished, FromWorker, Hello, Kept, LoadFailed, Loaded,
    MemoryUse, ModelFacts, Phase, Piece, Pieces, Pong, ProbeReport, Probed, ScoredToken, Timings, TokenUse,
    Verdict,
};
pub use sampling::{CallableTool, Grammar, Sampling, Thought};
pub use to_worker::{
    Cancel, Forget, Generate, Group, Load, Media, Ping, Probe, Prompt, RequestId, Segment, StateId, ToWorker,
};

/// Version of every shape in this crate; the worker's `hello` carries it and the server refuses another.
pub const PROTOCOL_VERSION: u32 = 5;
