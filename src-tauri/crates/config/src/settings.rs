//! What the service was told, resolved once.

use std::net::IpAddr;
use std::path::PathBuf;

use crate::profile::Profiles;
use crate::value::{AllowedHost, ApiKey};

/// Everything the service was told, resolved once.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    /// The listener, and who may speak to it.
    pub server: ServerSettings,
    /// The models.
    pub profiles: Profiles,
    /// Memory shared with other services of this machine.
    pub governor: GovernorSettings,
    /// Filter of the log, in tracing's syntax.
    pub log_level: String,
}

/// The listener, and who may speak to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerSettings {
    /// A pinned port must be free; without one the next free port from 4017 is taken and remembered.
    pub pinned_port: Option<u16>,
    /// Where to listen; anything but loopback only together with allowed hosts and a key.
    pub host: ListenHost,
    /// Names this server may be called by besides those of loopback.
    pub allowed_hosts: Vec<AllowedHost>,
    /// The key that callers must show.
    pub api_key: Option<ApiKey>,
    /// Whether admin routes answer callers on this machine only.
    pub admin_local_only: bool,
    /// Largest request body, in bytes.
    pub max_body_bytes: usize,
}

/// Where to listen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ListenHost {
    /// This machine only, by both addresses it calls itself.
    Loopback,
    /// An address that others can reach.
    Address(IpAddr),
}

/// Memory shared with other services of this machine.
#[derive(Clone, Debug, PartialEq)]
pub struct GovernorSettings {
    /// Whether loading asks for memory first.
    pub enabled: bool,
    /// Name of this service in the shared table.
    pub instance_id: String,
    /// Folder of the shared table.
    pub state_dir: PathBuf,
    /// Most GiB of all services together; none is computed from the machine.
    pub ceiling_gib: Option<f64>,
    /// Whether a less important model may unload a more important one.
    pub allow_lower_priority_to_preempt_higher: bool,
    /// Age in seconds at which a row without a process counts for nothing.
    pub stale_after_s: u64,
}
