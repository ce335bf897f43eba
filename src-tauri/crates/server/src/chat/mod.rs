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

pub(crate) use request::{ChatRequest, TokenLimit};
pub(crate) use serve::{begin, complete};
pub(crate) use talk::Talk;
pub(crate) use thinking::Asked;
