//! Turning the service off and on while the listener, the page and its Start button stay.

use std::time::Duration;

use hangar_supervisor::Reach;

use crate::flight::{Door, Flights};
use crate::served::{Roster, Served};

/// Longest time that running answers are given to end when the service is turned off.
const LET_END: Duration = Duration::from_secs(10);

/// The service's switch; clones are the same switch.
#[derive(Clone, Debug)]
pub struct Switch {
    flights: Flights,
    roster: Roster,
}

impl Switch {
    pub(crate) fn new(flights: Flights, roster: Roster) -> Self {
        Self { flights, roster }
    }

    /// Whether requests are taken.
    pub fn is_on(&self) -> bool {
        self.flights.door() == Door::Open
    }

    /// Takes requests again.
    pub fn turn_on(&self) {
        self.flights.set(Door::Open);
    }

    /// Takes nothing new, lets running answers end for a while, and unloads the workers; returns once their
    /// processes are gone, or at once when the service is turned on again meanwhile.
    pub async fn turn_off(&self) {
        self.flights.set(Door::Stopped);
        tokio::select! {
            () = self.flights.landed() => {}
            () = tokio::time::sleep(LET_END) => tracing::warn!("answers still running are ended"),
            () = self.flights.door_left(Door::Stopped) => return,
        }
        let benches = self.roster.iter().filter_map(Served::known_bench);
        let unloads = futures::future::join_all(
            benches.map(|bench| async move { bench.worker.unload(Reach::Everything).await }),
        );
        for error in unloads.await.into_iter().filter_map(Result::err) {
            tracing::warn!(%error, "worker was not unloaded");
        }
    }
}
