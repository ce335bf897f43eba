//! What the engine is doing, readable without its help.

use std::sync::{Mutex, PoisonError};

use hangar_protocol::{Beat, Phase, RequestId};

/// The counters the next beat will carry.
#[derive(Debug)]
pub struct Counters {
    state: Mutex<Beat>,
}

impl Default for Counters {
    fn default() -> Self {
        let idle = Beat { sequence: 0, phase: Phase::Idle, request: None, done: 0, total: 0, step: 0 };
        Self { state: Mutex::new(idle) }
    }
}

impl Counters {
    /// Sets phase and counters; cheap enough for every token.
    pub fn set(&self, phase: Phase, request: Option<RequestId>, done: u64, total: u64, step: u64) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        *state = Beat { sequence: state.sequence, phase, request, done, total, step };
    }

    /// The next beat; its sequence number rises by one.
    pub fn beat(&self) -> Beat {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.sequence += 1;
        state.clone()
    }
}
