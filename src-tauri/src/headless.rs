//! The server alone, as `hangar serve` runs it, where no window can be shown.

use std::process::ExitCode;

use hangar_server::{Start, StartError, follow_signals};
use tokio::runtime::Runtime;

use crate::display::Why;
use crate::say;

/// Serves until it is told to end.
pub(crate) fn run(runtime: &Runtime, start: Result<Start, StartError>, why: &Why) -> ExitCode {
    say::note(&why.told());
    match runtime.block_on(serve(start)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(Failure::Start(error)) => {
            say::failure(&error, error.cure().as_deref());
            ExitCode::FAILURE
        }
        Err(Failure::Signals(error)) => {
            say::failure(&format!("signals cannot be followed: {error}"), None);
            ExitCode::FAILURE
        }
    }
}

enum Failure {
    Start(StartError),
    Signals(std::io::Error),
}

async fn serve(start: Result<Start, StartError>) -> Result<(), Failure> {
    let wish = follow_signals().map_err(Failure::Signals)?;
    let host = start.map_err(Failure::Start)?.open().await.map_err(Failure::Start)?;
    for note in host.notes() {
        say::note(note);
    }
    say::line(&format!("Hangar is listening on {}", host.url()));
    host.run(wish).await.map_err(|error| Failure::Start(error.into()))
}
