//! Answers under way: how many, how long they take, and whether new ones may begin.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use tokio::sync::watch;

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
    usual_ms: AtomicU64,
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
        Self { shared: Arc::new(Shared { traffic, usual_ms: AtomicU64::new(0) }) }
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

    /// When trying again makes sense with that many ahead: about as long as they usually take.
    pub(crate) fn retry_after_s(&self, ahead: u32) -> u64 {
        let usual_ms = self.shared.usual_ms.load(Ordering::Relaxed);
        usual_ms.saturating_mul(u64::from(ahead)).div_ceil(1000).clamp(1, 120)
    }
}

impl Flight {
    /// Remembers how long an answer took in the worker, for estimates.
    pub(crate) fn took(&self, total_ms: f64) {
        let ms = std::time::Duration::try_from_secs_f64(total_ms / 1000.0).map_or(0, |time| time.as_millis());
        let ms = u64::try_from(ms).unwrap_or(u64::MAX);
        let usual_ms = self.shared.usual_ms.load(Ordering::Relaxed);
        let next = if usual_ms == 0 { ms } else { (usual_ms.saturating_mul(3).saturating_add(ms)) / 4 };
        self.shared.usual_ms.store(next.max(1), Ordering::Relaxed);
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

    #[test]
    fn the_wait_grows_with_those_ahead_and_stays_in_its_bounds() {
        let flights = Flights::new();
        assert_eq!(flights.retry_after_s(3), 1);
        flights.begin().unwrap().took(10_000.0);
        assert_eq!(flights.retry_after_s(3), 30);
        assert_eq!(flights.retry_after_s(1000), 120);
    }
}
