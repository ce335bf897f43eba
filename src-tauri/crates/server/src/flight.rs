//! Answers under way: how many, and whether new ones may begin.

use std::sync::Arc;

use hangar_supervisor::DispatchError;
use tokio::sync::watch;

use crate::error::{ApiError, from_dispatch};
use crate::pace::Pace;

/// Counts answers under way; clones share the count.
#[derive(Clone, Debug)]
pub(crate) struct Flights {
    shared: Arc<Shared>,
}

/// Whether answers may begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Door {
    /// They may.
    Open,
    /// The service is switched off; it can be switched on again.
    Stopped,
    /// The process is ending.
    Ending,
}

#[derive(Debug)]
struct Shared {
    traffic: watch::Sender<Traffic>,
}

#[derive(Clone, Copy, Debug)]
struct Traffic {
    door: Door,
    under_way: usize,
}

/// One answer under way; it is over when this is dropped.
#[derive(Debug)]
pub(crate) struct Flight {
    shared: Arc<Shared>,
}

impl Flights {
    pub(crate) fn new() -> Self {
        let traffic = watch::Sender::new(Traffic { door: Door::Open, under_way: 0 });
        Self { shared: Arc::new(Shared { traffic }) }
    }

    /// Begins an answer, or says what is in the way.
    pub(crate) fn begin(&self) -> Result<Flight, Door> {
        let mut door = Door::Open;
        // Under the one lock, so that nothing begins between the last look and the end.
        self.shared.traffic.send_modify(|traffic| {
            door = traffic.door;
            traffic.under_way += usize::from(door == Door::Open);
        });
        match door {
            Door::Open => Ok(Flight { shared: self.shared.clone() }),
            Door::Stopped | Door::Ending => Err(door),
        }
    }

    /// Sets the door; an ending is never taken back.
    pub(crate) fn set(&self, door: Door) {
        self.shared.traffic.send_modify(|traffic| {
            if traffic.door != Door::Ending {
                traffic.door = door;
            }
        });
    }

    /// Whether answers may begin.
    pub(crate) fn door(&self) -> Door {
        self.shared.traffic.borrow().door
    }

    /// What a client is told of a request that ended so: what was cut off by the switch is stopped, not crashed.
    pub(crate) fn told(&self, error: &DispatchError, pace: &Pace) -> ApiError {
        match (error, self.door()) {
            (DispatchError::Cancelled, door @ (Door::Stopped | Door::Ending)) => door.into(),
            (error, _) => from_dispatch(error, pace),
        }
    }

    /// Returns once the door is another than this.
    pub(crate) async fn door_left(&self, door: Door) {
        let mut traffic = self.shared.traffic.subscribe();
        // The sender lives in self, so waiting cannot fail.
        drop(traffic.wait_for(|traffic| traffic.door != door).await);
    }

    /// Returns when no answer is under way.
    pub(crate) async fn landed(&self) {
        let mut traffic = self.shared.traffic.subscribe();
        drop(traffic.wait_for(|traffic| traffic.under_way == 0).await);
    }
}

impl Flight {
    /// What a client is told of an answer that ended so; see [`Flights::told`].
    pub(crate) fn told(&self, error: &DispatchError, pace: &Pace) -> ApiError {
        Flights { shared: self.shared.clone() }.told(error, pace)
    }
}

impl Drop for Flight {
    fn drop(&mut self) {
        self.shared.traffic.send_modify(|traffic| traffic.under_way = traffic.under_way.saturating_sub(1));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_closed_door_lets_nothing_new_begin_and_ends_with_the_last_answer() {
        let flights = Flights::new();
        let flight = flights.begin().unwrap();
        flights.set(Door::Ending);
        assert_eq!(flights.begin().unwrap_err(), Door::Ending);
        let waiting = tokio::spawn({
            let flights = flights.clone();
            async move { flights.landed().await }
        });
        tokio::task::yield_now().await;
        assert!(!waiting.is_finished());
        drop(flight);
        waiting.await.unwrap();
    }

    #[test]
    fn a_stopped_service_opens_again_and_an_ending_one_never() {
        let flights = Flights::new();
        flights.set(Door::Stopped);
        assert_eq!(flights.begin().unwrap_err(), Door::Stopped);
        flights.set(Door::Open);
        assert!(flights.begin().is_ok());
        flights.set(Door::Ending);
        flights.set(Door::Open);
        assert_eq!(flights.door(), Door::Ending);
    }
}
