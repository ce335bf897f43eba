//! Rust half of a worker process: reads frames, answers pings, beats and keeps cancel flags without the
//! engine's help, so that a long prefill never makes the pipe look dead.
//!
//! This crate must not know what a model computes. The Python extension module is behind the feature
//! `python`; the scripted engine drives the same loop in tests.

mod cancel;
mod counters;
mod outlet;
mod pipe;
#[cfg(feature = "python")]
mod python;
pub mod scripted;

pub use cancel::CancelFlags;
pub use counters::Counters;
pub use outlet::Outlet;
pub use pipe::{Command, Ended, Pipe, beat_until_closed, read_frames};
