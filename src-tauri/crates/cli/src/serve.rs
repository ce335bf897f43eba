//! `hangar serve`: the server in this process.

use std::process::ExitCode;

use hangar_server::{Echo, Journal, Start, follow_signals};

use crate::arguments::Serve;
use crate::failure::Failure;
use crate::say;

/// Threads of the server: requests wait for the model, not for these.
const THREADS: usize = 2;

/// Serves until it is told to end.
pub(crate) fn serve(options: &Serve) -> Result<ExitCode, Failure> {
    if options.detached {
        // Fails only for a leader of a group, which a started process is not; then the terminal stays.
        nix::unistd::setsid().ok();
    }
    let start = Start::from_environment()?.pin_port(options.port);
    // In the background nobody looks, and the file behind standard error is not bounded.
    let echo = if options.detached { Echo::Nowhere } else { Echo::Terminal };
    let _journal = Journal::begin(start.log_level(), Some(&start.home().logs_dir()), echo)?;
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(THREADS).enable_all().build();
    runtime.map_err(Failure::NoRuntime)?.block_on(async {
        let wish = follow_signals().map_err(Failure::NoRuntime)?;
        let host = start.open().await?;
        for note in host.notes() {
            say::note(note);
        }
        say::line(&format!("Hangar is listening on {}", host.url()));
        host.run(wish).await?;
        Ok(ExitCode::SUCCESS)
    })
}
