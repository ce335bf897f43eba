//! Answers under way: how many, how long they take, and whether new ones may begin.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use tokio::sync::watch;

/// Counts answers under way; clones share the count.
#[derive(Clone, Debug)]
pub(crate) struct Flights {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    draining: AtomicBool,
    under_way: watch::Sender<usize>,
    usual_ms: AtomicU64,
}

/// One answer under way; it is over when this is dropped.
#[derive(Debug)]
pub(crate) struct Flight {
    shared: Arc<Shared>,
}

impl Flights {
    pub(crate) fn new() -> Self {
        let shared = Shared {
            draining: AtomicBool::new(false),
            under_way: watch::Sender::new(0),
            usual_ms: AtomicU64::new(0),
        };
        Self { shared: Arc::new(shared) }
    }

    /// Begins an answer, unless the service is ending.
    pub(crate) fn begin(&self) -> Option<Flight> {
        let mut begun = false;
        // Under the count's lock, so that nothing begins between the last look and the end.
        self.shared.under_way.send_modify(|count| {
            begun = !self.shared.draining.load(Ordering::SeqCst);
            *count += usize::from(begun);
        });
        begun.then(|| Flight { shared: self.shared.clone() })
    }

    /// Lets nothing new begin.
    pub(crate) fn drain(&self) {
        self.shared.under_way.send_modify(|_| self.shared.draining.store(true, Ordering::SeqCst));
    }

    /// Whether the service is ending.
    pub(crate) fn is_draining(&self) -> bool {
        self.shared.draining.load(Ordering::SeqCst)
    }

    /// Returns when no answer is under way.
    pub(crate) async fn landed(&self) {
        let mut counts = self.shared.under_way.subscribe();
        // The sender lives in self, so waiting cannot fail.
        drop(counts.wait_for(|count| *count == 0).await);
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
        self.shared.under_way.send_modify(|count| *count = count.saturating_sub(1));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn draining_lets_nothing_new_begin_and_ends_with_the_last_answer() {
        let flights = Flights::new();
        let flight = flights.begin().unwrap();
        flights.drain();
        assert!(flights.begin().is_none());
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
    fn the_wait_grows_with_those_ahead_and_stays_in_its_bounds() {
        let flights = Flights::new();
        assert_eq!(flights.retry_after_s(3), 1);
        flights.begin().unwrap().took(10_000.0);
        assert_eq!(flights.retry_after_s(3), 30);
        assert_eq!(flights.retry_after_s(1000), 120);
    }
}
