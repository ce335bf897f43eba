//! `hangar serve`: the server in this process.

use std::process::ExitCode;

use hangar_provision::Resources;
use hangar_server::{Host, Wish};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::watch;
use tracing_subscriber::EnvFilter;

use crate::arguments::Serve;
use crate::failure::Failure;
use crate::{place, say};

/// Threads of the server: requests wait for the model, not for these.
const THREADS: usize = 2;

/// Serves until it is told to end.
pub(crate) fn serve(options: &Serve) -> Result<ExitCode, Failure> {
    if options.detached {
        // Fails only for a leader of a group, which a started process is not; then the terminal stays.
        nix::unistd::setsid().ok();
    }
    let home = place::home()?;
    home.prepare()?;
    let loaded = place::settings(&home)?;
    let mut settings = loaded.settings;
    log_to_stderr(&settings.log_level)?;
    for key in &loaded.unknown_keys {
        tracing::warn!(key, file = %home.local_config().display(), "a key that nobody reads");
    }
    settings.server.pinned_port = options.port.or(settings.server.pinned_port);
    let resources = Resources::locate()?;
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(THREADS).enable_all().build();
    runtime.map_err(Failure::NoRuntime)?.block_on(async {
        let wish = follow_signals().map_err(Failure::NoRuntime)?;
        let host = Host::open(&home, settings, resources).await?;
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

/// The first signal asks for an orderly end, the second for one at once.
fn follow_signals() -> std::io::Result<watch::Receiver<Wish>> {
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut hangup = signal(SignalKind::hangup())?;
    let (sender, receiver) = watch::channel(Wish::Run);
    tokio::spawn(async move {
        for wish in [Wish::Drain, Wish::AtOnce] {
            tokio::select! {
                _ = terminate.recv() => {}
                _ = interrupt.recv() => {}
                _ = hangup.recv() => {}
            }
            sender.send_replace(wish);
        }
        sender.closed().await;
    });
    Ok(receiver)
}
