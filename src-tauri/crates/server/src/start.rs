//! What a process that serves reads before it listens, for the command line and the desktop app alike.

use std::path::PathBuf;

use hangar_config::{Adjustment, ConfigError, Environment, Home, HomeError, Settings, UnknownKey};
use hangar_provision::{ProvisionError, Resources};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::watch;

use crate::host::{Host, HostError};
use crate::server::Wish;
use crate::views::HostedBy;

/// State folder, settings and read-only data of one service, before it listens.
#[derive(Clone, Debug)]
pub struct Start {
    home: Home,
    settings: Settings,
    noticed: Noticed,
    resources: Resources,
    hosted_by: HostedBy,
}

/// What was noticed in the local file; told once the log is set up.
#[derive(Clone, Debug)]
struct Noticed {
    file: PathBuf,
    unknown_keys: Vec<UnknownKey>,
    adjustments: Vec<Adjustment>,
}

/// Why there is nothing to serve.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// No state folder, or one that cannot be written.
    #[error(transparent)]
    Home(#[from] HomeError),
    /// The configuration cannot be used.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// The program's own files are not there.
    #[error(transparent)]
    Resources(#[from] ProvisionError),
    /// Another server has the folder or the port.
    #[error(transparent)]
    Host(#[from] HostError),
}

impl StartError {
    /// What a person can do, where the message does not say so itself.
    pub fn cure(&self) -> Option<String> {
        match self {
            Self::Home(_) => None,
            Self::Config(error) => error.cure(),
            Self::Resources(error) => error.hint(),
            Self::Host(error) => error.cure(),
        }
    }
}

impl Start {
    /// Reads `HANGAR_HOME` and its settings, and makes the folder.
    ///
    /// # Errors
    /// [`StartError`] names the folder, the file or the variable that cannot be used.
    pub fn from_environment() -> Result<Self, StartError> {
        let home = Home::from_environment(variable)?;
        home.prepare()?;
        let loaded = hangar_config::load(&home, &Environment::read(variable))?;
        let resources = Resources::locate()?;
        let noticed =
            Noticed { file: loaded.file, unknown_keys: loaded.unknown_keys, adjustments: loaded.adjustments };
        Ok(Self { home, settings: loaded.settings, noticed, resources, hosted_by: HostedBy::default() })
    }

    /// Pins the port, if one is given, over whatever the settings say.
    #[must_use]
    pub fn pin_port(mut self, port: Option<u16>) -> Self {
        self.settings.server.pinned_port = port.or(self.settings.server.pinned_port);
        self
    }

    /// Says what runs the service; a command, if nothing is said.
    #[must_use]
    pub fn hosted_by(mut self, host: HostedBy) -> Self {
        self.hosted_by = host;
        self
    }

    /// The state folder.
    pub fn home(&self) -> &Home {
        &self.home
    }

    /// Filter of the log, in tracing's syntax.
    pub fn log_level(&self) -> &str {
        &self.settings.log_level
    }

    /// Takes the folder and listens; see [`Host::open`].
    ///
    /// # Errors
    /// [`StartError::Host`] names who has the folder or the port.
    pub async fn open(self) -> Result<Host, StartError> {
        let file = self.noticed.file.display();
        for key in &self.noticed.unknown_keys {
            tracing::warn!(%file, "{key}");
        }
        for adjustment in &self.noticed.adjustments {
            tracing::warn!(%file, "{adjustment}");
        }
        Ok(Host::open(&self.home, self.settings, self.resources, self.hosted_by).await?)
    }
}

/// The folder of the log files in the state folder that the environment names, whether or not it is there.
pub fn logs_dir() -> Option<PathBuf> {
    Home::from_environment(variable).ok().map(|home| home.logs_dir())
}

/// The folder of the app's web view in the same state folder, whether or not it is there.
pub fn webview_dir() -> Option<PathBuf> {
    Home::from_environment(variable).ok().map(|home| home.webview_dir())
}

/// The first signal to end asks for an orderly end, the second for one at once.
///
/// # Errors
/// What the system says when signals cannot be followed.
pub fn follow_signals() -> std::io::Result<watch::Receiver<Wish>> {
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

fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok()
}
