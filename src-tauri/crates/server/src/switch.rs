//! Turning the service off and on while the listener, the page and its Start button stay.

use std::time::Duration;

use hangar_supervisor::WorkerHandle;

use crate::flight::{Door, Flights};

/// Longest time that running answers are given to end when the service is turned off.
const LET_END: Duration = Duration::from_secs(10);

/// The service's switch; clones are the same switch.
#[derive(Clone, Debug)]
pub struct Switch {
    flights: Flights,
    worker: WorkerHandle,
}

impl Switch {
    pub(crate) fn new(flights: Flights, worker: WorkerHandle) -> Self {
        Self { flights, worker }
    }

    /// Whether requests are taken.
    pub fn is_on(&self) -> bool {
        self.flights.door() == Door::Open
    }

    /// Takes requests again.
    pub fn turn_on(&self) {
        self.flights.set(Door::Open);
    }

    /// Takes nothing new, lets running answers end for a while, and unloads the worker; returns once its
    /// process is gone, or at once when the service is turned on again meanwhile.
    pub async fn turn_off(&self) {
        self.flights.set(Door::Stopped);
        tokio::select! {
            () = self.flights.landed() => {}
            () = tokio::time::sleep(LET_END) => tracing::warn!("answers still running are ended"),
            () = self.flights.door_left(Door::Stopped) => return,
        }
        if let Err(error) = self.worker.unload(true).await {
            tracing::warn!(%error, "worker was not unloaded");
        }
    }
}
