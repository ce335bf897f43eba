//! Chat completions: reading the request, asking the worker, writing the answer.

mod harmless;
mod message;
mod request;
mod serve;
mod wire;

pub(crate) use serve::complete;
