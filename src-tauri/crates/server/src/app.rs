//! What every route may use.

use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use hangar_config::Settings;
use tokio::sync::watch;

use crate::drones::Drones;
use crate::flight::Flights;
use crate::media::Decoder;
use crate::receipts::Receipts;
use crate::served::Roster;
use crate::switch::Switch;
use crate::views::PanelSnapshot;

/// Shared by all routes; clones are cheap.
#[derive(Clone, Debug)]
pub(crate) struct App {
    /// What was configured.
    pub(crate) settings: Arc<Settings>,
    /// The served profiles.
    pub(crate) roster: Roster,
    /// How the last requests went.
    pub(crate) receipts: Receipts,
    /// The sessions.
    pub(crate) drones: Drones,
    /// Answers under way.
    pub(crate) flights: Flights,
    /// Decodes pictures and sound.
    pub(crate) decoder: Decoder,
    /// Turns the service off and on.
    pub(crate) switch: Switch,
    /// What the page shows.
    pub(crate) panel: watch::Receiver<Arc<PanelSnapshot>>,
    /// The port listened on.
    pub(crate) port: u16,
    /// When the service began, in unix seconds.
    pub(crate) started_at: u64,
    /// Silence after which a stream says that it is still there.
    pub(crate) still_here_after: Duration,
}

/// Now, in unix seconds.
pub(crate) fn unix_seconds() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}
