//! A served state folder: lock, port, workers and server in one, for the command line and the desktop app.

use std::sync::Arc;

use hangar_config::{Home, HomeError, Settings};
use hangar_provision::Resources;
use tokio::net::TcpListener;
use tokio::sync::watch;

use crate::app::unix_seconds;
use crate::instance::{Instance, InstanceError, InstanceHint};
use crate::port::{self, Listeners, PortError};
use crate::server::{Server, Wish};
use crate::switch::Switch;
use crate::views::{HostedBy, PanelSnapshot, VERSION};
use crate::workshop::RuntimeWorkshop;

/// Listens already; [`Host::run`] answers.
#[derive(Debug)]
pub struct Host {
    instance: Instance,
    server: Server,
    sockets: Vec<TcpListener>,
    url: String,
    notes: Vec<String>,
}

/// Why a state folder cannot be served.
#[derive(Debug, thiserror::Error)]
pub enum HostError {
    /// The state folder cannot be written.
    #[error(transparent)]
    Home(#[from] HomeError),
    /// Another server has it, or its lock cannot be used.
    #[error(transparent)]
    Instance(#[from] InstanceError),
    /// There is nothing to listen on.
    #[error(transparent)]
    Port(#[from] PortError),
}

impl HostError {
    /// What a person can do, where the message does not say so itself.
    pub fn cure(&self) -> Option<String> {
        match self {
            Self::Home(_) => None,
            Self::Instance(InstanceError::Held { .. }) => Some(
                "open its address, stop it with `hangar stop`, or set HANGAR_HOME to another folder"
                    .to_owned(),
            ),
            Self::Instance(InstanceError::Unusable { .. }) => {
                Some("set HANGAR_HOME to a folder that can be written".to_owned())
            }
            Self::Port(error) => Some(error.cure()),
        }
    }
}

impl Host {
    /// Takes the lock, listens, and tells others where. Nothing slow happens here: the runtime is looked at
    /// when a worker is first needed.
    ///
    /// # Errors
    /// [`HostError`] names who has the folder or the port.
    pub async fn open(
        home: &Home,
        settings: Settings,
        resources: Resources,
        hosted_by: HostedBy,
    ) -> Result<Self, HostError> {
        home.prepare()?;
        let instance = Instance::acquire(home).await?;
        let Listeners { port, sockets, notes } =
            port::open(home, settings.server.host, settings.server.pinned_port).await?;
        let url = format!("http://127.0.0.1:{port}");
        instance.publish(&InstanceHint {
            pid: std::process::id(),
            started_at: unix_seconds(),
            port,
            url: url.clone(),
            version: VERSION.to_owned(),
        })?;
        let page_dir = resources.page_dir();
        let workshop = Arc::new(RuntimeWorkshop::new(resources, home.clone()));
        let server =
            Server::builder(settings, workshop).port(port).page_dir(page_dir).hosted_by(hosted_by).build();
        Ok(Self { instance, server, sockets, url, notes })
    }

    /// The address to open.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// What a person should know about how it came up, such as another port than before.
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    /// Turns the service off and on.
    pub fn switch(&self) -> Switch {
        self.server.switch()
    }

    /// Follows what the page shows.
    pub fn panel(&self) -> watch::Receiver<Arc<PanelSnapshot>> {
        self.server.panel()
    }

    /// Answers until the wish changes; then ends in order and gives the folder back.
    ///
    /// # Errors
    /// [`HostError::Instance`] when the hint cannot be removed.
    pub async fn run(self, wish: watch::Receiver<Wish>) -> Result<(), HostError> {
        self.server.serve(self.sockets, wish).await;
        Ok(self.instance.release()?)
    }
}
