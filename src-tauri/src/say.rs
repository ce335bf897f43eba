//! What a person reads in the terminal the app was started from.

use std::io::Write;

/// Writes a line to standard output; a closed pipe is not worth a word.
pub(crate) fn line(text: &str) {
    let mut out = std::io::stdout().lock();
    drop(writeln!(out, "{text}").and_then(|()| out.flush()));
}

/// Writes a remark to standard error.
pub(crate) fn note(text: &str) {
    drop(writeln!(std::io::stderr().lock(), "{text}"));
}

/// Writes what went wrong and, indented, what to do about it.
pub(crate) fn failure(what: &dyn std::fmt::Display, cure: Option<&str>) {
    note(&format!("hangar: {what}"));
    if let Some(cure) = cure {
        note(&format!("  {cure}"));
    }
}
