//! Bodies as JSON: read strictly, without ever quoting them in an error.

mod field;
mod strict;

pub(crate) use field::Field;
pub(crate) use strict::{VALUES_MAX, parse};
