//! `hangar serve`: the server in this process.

use std::process::ExitCode;

use hangar_server::{Start, follow_signals};
use tracing_subscriber::EnvFilter;

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
    log_to_stderr(start.log_level())?;
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

fn log_to_stderr(level: &str) -> Result<(), Failure> {
    let filter = EnvFilter::try_new(level).map_err(|_| Failure::LogLevel { level: level.to_owned() })?;
    tracing_subscriber::fmt()
        .with_env_filter(filter)
        // Colours need a feature that is not built in; asking for them would end the process.
        .with_ansi(false)
        .with_writer(std::io::stderr)
        .init();
    Ok(())
}
