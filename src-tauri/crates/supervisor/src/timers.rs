//! The deadlines the machine asked for, as data: which are due at a given moment.

use std::time::Duration;

use hangar_protocol::RequestId;
use tokio::time::Instant;

use crate::machine::{Machine, Timer};

/// Lateness from which this process itself was held up, and so may have missed what the worker said.
const HELD_UP: Duration = Duration::from_secs(2);
/// What a watch on the worker gets on top then, to read what was missed.
const CATCHING_UP: Duration = Duration::from_secs(5);

/// Armed timers: one for the state, one for the running request, one each for silence and standstill, one for
/// each waiting request.
#[derive(Debug, Default)]
pub(crate) struct Timers {
    state: Option<(Instant, Timer)>,
    request: Option<(Instant, Timer)>,
    silence: Option<(Instant, Timer)>,
    stall: Option<(Instant, Timer)>,
    queue: Vec<(Instant, RequestId)>,
}

impl Timers {
    pub(crate) fn arm(&mut self, timer: Timer, at: Instant) {
        match timer {
            Timer::State { .. } => self.state = Some((at, timer)),
            Timer::Request(_) | Timer::CancelGrace(_) => self.request = Some((at, timer)),
            Timer::Silence(_) => self.silence = Some((at, timer)),
            Timer::Stall { .. } => self.stall = Some((at, timer)),
            Timer::Queue(request) => self.queue.push((at, request)),
        }
    }

    /// Forgets timers of requests that no longer wait, so that none pile up.
    pub(crate) fn prune(&mut self, machine: &Machine) {
        self.queue.retain(|(_, request)| machine.is_waiting(*request));
    }

    pub(crate) fn next(&self) -> Option<Instant> {
        let fixed = [&self.state, &self.request, &self.silence, &self.stall];
        let fixed = fixed.into_iter().flatten().map(|(at, _)| *at);
        fixed.chain(self.queue.iter().map(|(at, _)| *at)).min()
    }

    /// Takes one timer that is due. A watch on the worker that is found long after its time is put off once: this
    /// process was stopped or starved, and what the worker said meanwhile is still unread.
    pub(crate) fn take_due(&mut self, now: Instant) -> Option<Timer> {
        for (at, _) in [&mut self.silence, &mut self.stall].into_iter().flatten() {
            if *at + HELD_UP < now {
                *at = now + CATCHING_UP;
            }
        }
        for slot in [&mut self.state, &mut self.request, &mut self.silence, &mut self.stall] {
            if slot.as_ref().is_some_and(|(at, _)| *at <= now) {
                return slot.take().map(|(_, timer)| timer);
            }
        }
        let at = self.queue.iter().position(|(at, _)| *at <= now)?;
        Some(Timer::Queue(self.queue.swap_remove(at).1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::Generation;

    const SILENCE: Timer = Timer::Silence(Generation(1));

    #[test]
    fn a_watch_is_due_at_its_time_and_put_off_when_this_process_was_held_up() {
        let start = Instant::now();
        let mut timers = Timers::default();
        timers.arm(SILENCE, start + Duration::from_secs(1));
        assert_eq!(timers.take_due(start), None);
        assert_eq!(timers.take_due(start + Duration::from_secs(1)), Some(SILENCE));
        timers.arm(SILENCE, start + Duration::from_secs(1));
        let late = start + Duration::from_secs(60);
        assert_eq!(timers.take_due(late), None);
        assert_eq!(timers.next(), Some(late + CATCHING_UP));
        assert_eq!(timers.take_due(late + CATCHING_UP), Some(SILENCE));
    }

    #[test]
    fn other_timers_are_taken_however_late() {
        let start = Instant::now();
        let mut timers = Timers::default();
        timers.arm(Timer::Request(RequestId(1)), start);
        timers.arm(Timer::Queue(RequestId(2)), start);
        let late = start + Duration::from_secs(60);
        assert_eq!(timers.take_due(late), Some(Timer::Request(RequestId(1))));
        assert_eq!(timers.take_due(late), Some(Timer::Queue(RequestId(2))));
        assert_eq!(timers.take_due(late), None);
    }
}
