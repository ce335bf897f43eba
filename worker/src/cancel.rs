//! Which requests the server asked to stop.

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

use hangar_protocol::RequestId;

/// Set of cancelled requests, written by the reader thread and read by the engine.
#[derive(Debug, Default)]
pub struct CancelFlags {
    asked: Mutex<BTreeSet<RequestId>>,
}

impl CancelFlags {
    /// Marks a request.
    pub fn ask(&self, request: RequestId) {
        self.asked.lock().unwrap_or_else(PoisonError::into_inner).insert(request);
    }

    /// Whether a request is marked.
    pub fn is_asked(&self, request: RequestId) -> bool {
        self.asked.lock().unwrap_or_else(PoisonError::into_inner).contains(&request)
    }

    /// Forgets every mark up to an ended request: numbers only rise, so none of them can matter again.
    pub fn forget_through(&self, ended: RequestId) {
        self.asked.lock().unwrap_or_else(PoisonError::into_inner).retain(|request| *request > ended);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_of_ended_requests_are_forgotten_and_later_ones_kept() {
        let flags = CancelFlags::default();
        for number in [1, 2, 3] {
            flags.ask(RequestId(number));
        }
        flags.forget_through(RequestId(2));
        assert!(!flags.is_asked(RequestId(2)));
        assert!(flags.is_asked(RequestId(3)));
    }
}
