//! Media of a request: found while it is read, decoded before a worker sees it.

mod decode;
mod found;

pub(crate) use decode::{Clip, Decoder};
pub(crate) use found::{Basket, Found};
