//! How long answers of one model usually take, for telling when to come back.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// A running mean; clones share it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Pace {
    usual_ms: Arc<AtomicU64>,
}

impl Pace {
    /// Remembers how long an answer took in the worker.
    pub(crate) fn took(&self, total_ms: f64) {
        let ms = Duration::try_from_secs_f64(total_ms / 1000.0).map_or(0, |time| time.as_millis());
        let ms = u64::try_from(ms).unwrap_or(u64::MAX);
        let usual_ms = self.usual_ms.load(Ordering::Relaxed);
        let next = if usual_ms == 0 { ms } else { (usual_ms.saturating_mul(3).saturating_add(ms)) / 4 };
        self.usual_ms.store(next.max(1), Ordering::Relaxed);
    }

    /// When trying again makes sense with that many ahead, in seconds: about as long as they usually take.
    pub(crate) fn retry_after_s(&self, ahead: u32) -> u64 {
        let usual_ms = self.usual_ms.load(Ordering::Relaxed);
        usual_ms.saturating_mul(u64::from(ahead)).div_ceil(1000).clamp(1, 120)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_wait_grows_with_those_ahead_and_stays_in_its_bounds() {
        let pace = Pace::default();
        assert_eq!(pace.retry_after_s(3), 1);
        pace.took(10_000.0);
        assert_eq!(pace.retry_after_s(3), 30);
        assert_eq!(pace.retry_after_s(1000), 120);
    }
}
