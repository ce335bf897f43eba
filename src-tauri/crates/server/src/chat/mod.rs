//! Chat completions: reading the request, asking the worker, writing the answer.

mod harmless;
mod hearing;
mod message;
mod past;
mod request;
mod room;
mod said;
mod sampling;
mod scores;
mod serve;
mod still;
mod talk;
mod thinking;
mod timings;
mod tools;
mod wire;

pub(crate) use hearing::{Heard, Hearing};
pub(crate) use request::{ChatRequest, TokenLimit, model, read_tokens, wants_stream};
pub(crate) use sampling::read as read_sampling;
pub(crate) use serve::{begin, complete, finish_sampling, written};
pub(crate) use still::Still;
pub(crate) use talk::{Talk, stream_headers};
pub(crate) use thinking::{Asked, read as read_thinking};
pub(crate) use tools::read as read_tools;
pub(crate) use wire::data;
