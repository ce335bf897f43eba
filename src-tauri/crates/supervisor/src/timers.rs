//! The deadlines the machine asked for, as data: which are due at a given moment.

use hangar_protocol::RequestId;
use tokio::time::Instant;

use crate::machine::{Machine, Timer};

/// Armed timers: one for the state, one for the running request, one for silence, one for each waiting request.
#[derive(Debug, Default)]
pub(crate) struct Timers {
    state: Option<(Instant, Timer)>,
    request: Option<(Instant, Timer)>,
    silence: Option<(Instant, Timer)>,
    queue: Vec<(Instant, RequestId)>,
}

impl Timers {
    pub(crate) fn arm(&mut self, timer: Timer, at: Instant) {
        match timer {
            Timer::State { .. } => self.state = Some((at, timer)),
            Timer::Request(_) | Timer::CancelGrace(_) => self.request = Some((at, timer)),
            Timer::Silence(_) => self.silence = Some((at, timer)),
            Timer::Queue(request) => self.queue.push((at, request)),
        }
    }

    /// Forgets timers of requests that no longer wait, so that none pile up.
    pub(crate) fn prune(&mut self, machine: &Machine) {
        self.queue.retain(|(_, request)| machine.is_waiting(*request));
    }

    pub(crate) fn next(&self) -> Option<Instant> {
        let fixed = [&self.state, &self.request, &self.silence].into_iter().flatten().map(|(at, _)| *at);
        fixed.chain(self.queue.iter().map(|(at, _)| *at)).min()
    }

    /// Takes one timer that is due.
    pub(crate) fn take_due(&mut self, now: Instant) -> Option<Timer> {
        for slot in [&mut self.state, &mut self.request, &mut self.silence] {
            if slot.as_ref().is_some_and(|(at, _)| *at <= now) {
                return slot.take().map(|(_, timer)| timer);
            }
        }
        let at = self.queue.iter().position(|(at, _)| *at <= now)?;
        Some(Timer::Queue(self.queue.swap_remove(at).1))
    }
}
