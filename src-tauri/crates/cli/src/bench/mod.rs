//! `hangar bench`: ratios against named peers in one run, never a judgement in a test.

mod chat;
mod control;
mod floor;
mod folder;
mod http;
mod media;
mod overhead;
mod peer;
mod report;
mod served;
mod soak;
mod spread;
mod words;

use std::path::PathBuf;
use std::process::ExitCode;

use report::Report;

use crate::arguments::Bench;
use crate::failure::Failure;
use crate::say;

/// Carries out one of the benches.
pub(crate) fn bench(command: &Bench) -> Result<ExitCode, Failure> {
    match command {
        Bench::Overhead(options) => Ok(say_report(&overhead::measure(options)?, options.json)),
        Bench::Chat(options) => Ok(say_report(&chat::measure(options)?, options.json)),
        Bench::Media(options) => Ok(say_report(&media::measure(options)?, options.json)),
        Bench::Control(options) => Ok(say_report(&control::measure(options)?, options.json)),
    }
}

/// Why a bench could not be carried out.
#[derive(Debug, thiserror::Error)]
pub(crate) enum BenchError {
    /// A process of the bench did not start or ended early.
    #[error("{who} {what}")]
    Process {
        /// Which one.
        who: &'static str,
        /// What happened, with its last words.
        what: String,
    },
    /// An answer is not what was asked for.
    #[error("{who} answered with what cannot be used: {what}")]
    Answer {
        /// Who answered.
        who: &'static str,
        /// What was wrong.
        what: String,
    },
    /// A file of the bench cannot be used.
    #[error("{} cannot be used: {source}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
}

fn say_report(report: &Report, as_json: bool) -> ExitCode {
    if as_json {
        say::line(&serde_json::to_string_pretty(report).unwrap_or_default());
    } else {
        say::line(&report.text());
    }
    ExitCode::SUCCESS
}
