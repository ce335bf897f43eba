//! Chat completions: reading the request, asking the worker, writing the answer.

mod harmless;
mod message;
mod request;
mod room;
mod sampling;
mod serve;
mod still;
mod talk;
mod wire;

pub(crate) use serve::complete;
