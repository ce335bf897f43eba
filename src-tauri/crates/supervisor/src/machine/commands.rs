//! Commands of the outside: demand, cancel, unload, restart, shutdown.

use hangar_protocol::{RequestId, StateId};

use super::{Effect, How, Machine, Outcome, State, Then, Ticket, Timer};
use crate::{DispatchError, Reach};

impl Machine {
    pub(super) fn demand(&mut self, request: RequestId, effects: &mut Vec<Effect>) {
        if let Some(refusal) = self.refusal() {
            if matches!(refusal, DispatchError::QueueFull { .. } | DispatchError::WorkerBusy) {
                self.counters.queue_full_rejections += 1;
            }
            self.complete(request, Outcome::Failed(refusal), effects);
            return;
        }
        self.queue.push_back(request);
        match self.state {
            State::Ready => {
                self.proceed(effects);
                return;
            }
            State::Unloaded => self.start(effects),
            State::Busy { .. } => self.counters.queued_requests += 1,
            State::Starting | State::Loading | State::Stopping { .. } | State::Backoff => {
                if self.queue.len() > 1 {
                    self.counters.queued_requests += 1;
                }
            }
            State::Failed { .. } | State::Closed => {}
        }
        effects.push(Effect::Arm { timer: Timer::Queue(request), after_ms: self.limits.queue_max_wait_ms });
    }

    pub(super) fn cancel(&mut self, request: RequestId, effects: &mut Vec<Effect>) {
        if self.is_waiting(request) {
            self.queue.retain(|waiting| *waiting != request);
            self.complete(request, Outcome::Failed(DispatchError::Cancelled), effects);
        } else if self.runs(request) {
            self.give_up(request, DispatchError::Cancelled, effects);
        }
    }

    /// A worker that has not loaded yet, or is on its way out, keeps nothing.
    pub(super) fn forget(&self, states: Vec<StateId>, effects: &mut Vec<Effect>) {
        if matches!(self.state, State::Ready | State::Busy { .. }) && !states.is_empty() {
            effects.push(Effect::SendForget(states));
        }
    }

    pub(super) fn held(&mut self) {
        self.holds += 1;
        if self.state == State::Ready {
            // The idle timer belongs to the epoch before.
            self.enter(State::Ready);
        }
    }

    pub(super) fn let_go(&mut self, effects: &mut Vec<Effect>) {
        self.holds = self.holds.saturating_sub(1);
        if self.holds == 0 && self.state == State::Ready {
            self.rest(effects);
        }
    }

    pub(super) fn unload(&mut self, ticket: Ticket, reach: Reach, effects: &mut Vec<Effect>) {
        match reach {
            Reach::Everything => self.fail_queue(&DispatchError::Cancelled, effects),
            Reach::Idle if self.is_wanted() || self.is_held() => {
                effects.push(Effect::Settle { ticket, result: Err(DispatchError::UnloadRefused) });
                return;
            }
            Reach::Idle => {}
        }
        match self.state.clone() {
            State::Unloaded | State::Failed { .. } | State::Closed => {
                effects.push(Effect::Settle { ticket, result: Ok(()) });
            }
            State::Backoff => {
                let cause = self.last_failure.clone();
                self.enter(State::Unloaded);
                if let Some(cause) = cause {
                    self.fail_queue(&DispatchError::WorkerNotReady { cause, retry_ms: None }, effects);
                }
                Self::settle(&mut self.restarts, &Err(DispatchError::Cancelled), effects);
                effects.push(Effect::Settle { ticket, result: Ok(()) });
            }
            State::Busy { request, cancelling } => {
                if !cancelling {
                    self.complete(request, Outcome::Failed(DispatchError::Cancelled), effects);
                }
                effects.push(Effect::SendCancel(request));
                self.begin_unload(ticket, effects);
            }
            State::Starting | State::Loading | State::Ready => self.begin_unload(ticket, effects),
            State::Stopping { then, how } => {
                self.unloads.push(ticket);
                if then != Then::Close {
                    Self::settle(&mut self.restarts, &Err(DispatchError::Cancelled), effects);
                    self.change_intention(Then::Unload, how);
                }
            }
        }
    }

    pub(super) fn restart(&mut self, ticket: Ticket, effects: &mut Vec<Effect>) {
        match self.state.clone() {
            State::Closed => {
                effects.push(Effect::Settle { ticket, result: Err(DispatchError::ShuttingDown) });
            }
            State::Stopping { then: Then::Close, .. } => {
                effects.push(Effect::Settle { ticket, result: Err(DispatchError::ShuttingDown) });
            }
            State::Unloaded | State::Backoff | State::Failed { .. } => {
                self.restarts.push(ticket);
                self.forgive();
                self.counters.worker_restarts += 1;
                self.start(effects);
            }
            State::Stopping { how, .. } => {
                self.restarts.push(ticket);
                self.forgive();
                self.counters.worker_restarts += 1;
                self.change_intention(Then::Restart, how);
            }
            State::Busy { request, cancelling } => {
                if !cancelling {
                    self.complete(request, Outcome::Failed(DispatchError::Cancelled), effects);
                }
                effects.push(Effect::SendCancel(request));
                self.begin_restart(ticket, effects);
            }
            State::Starting | State::Loading | State::Ready => self.begin_restart(ticket, effects),
        }
    }

    pub(super) fn shutdown(&mut self, effects: &mut Vec<Effect>) {
        self.fail_queue(&DispatchError::ShuttingDown, effects);
        Self::settle(&mut self.restarts, &Err(DispatchError::ShuttingDown), effects);
        match self.state.clone() {
            State::Closed => {}
            State::Unloaded | State::Backoff | State::Failed { .. } => self.enter(State::Closed),
            State::Stopping { how, .. } => self.change_intention(Then::Close, how),
            State::Busy { request, cancelling } => {
                if !cancelling {
                    self.complete(request, Outcome::Failed(DispatchError::ShuttingDown), effects);
                }
                effects.push(Effect::SendCancel(request));
                self.stop(Then::Close, false, effects);
            }
            State::Starting | State::Loading | State::Ready => self.stop(Then::Close, false, effects),
        }
    }

    /// Ends a running request for its caller and asks the worker to let go of it.
    pub(super) fn give_up(&mut self, request: RequestId, error: DispatchError, effects: &mut Vec<Effect>) {
        self.complete(request, Outcome::Failed(error), effects);
        self.enter(State::Busy { request, cancelling: true });
        effects.push(Effect::SendCancel(request));
        let timer = Timer::CancelGrace(request);
        effects.push(Effect::Arm { timer, after_ms: self.cancel_grace_ms() });
    }

    pub(super) fn runs(&self, wanted: RequestId) -> bool {
        matches!(self.state, State::Busy { request, cancelling: false } if request == wanted)
    }

    /// Past failures no longer count.
    pub(super) fn forgive(&mut self) {
        self.failures = 0;
    }

    fn is_wanted(&self) -> bool {
        matches!(self.state, State::Busy { .. }) || !self.queue.is_empty()
    }

    /// One that has no state to lose is not held, whatever is hoped of it.
    fn is_held(&self) -> bool {
        self.holds > 0 && matches!(self.state, State::Ready)
    }

    fn begin_unload(&mut self, ticket: Ticket, effects: &mut Vec<Effect>) {
        self.unloads.push(ticket);
        Self::settle(&mut self.restarts, &Err(DispatchError::Cancelled), effects);
        self.stop(Then::Unload, false, effects);
    }

    fn begin_restart(&mut self, ticket: Ticket, effects: &mut Vec<Effect>) {
        self.restarts.push(ticket);
        self.forgive();
        self.counters.worker_restarts += 1;
        self.stop(Then::Restart, false, effects);
    }

    /// Keeps the epoch: the grace timer of the running stop stays in force.
    fn change_intention(&mut self, then: Then, how: How) {
        self.state = State::Stopping { then, how };
    }

    fn refusal(&self) -> Option<DispatchError> {
        match &self.state {
            State::Closed | State::Stopping { then: Then::Close, .. } => {
                return Some(DispatchError::ShuttingDown);
            }
            State::Failed { cause } | State::Stopping { then: Then::Fail(cause), .. } => {
                return Some(DispatchError::WorkerFailed { cause: cause.clone() });
            }
            State::Backoff if self.cools_down() => {
                return Some(DispatchError::CoolingDown {
                    remaining_ms: self.backoff_ms,
                    failures: self.failures,
                });
            }
            State::Unloaded
            | State::Starting
            | State::Loading
            | State::Ready
            | State::Busy { .. }
            | State::Stopping { then: Then::Unload | Then::Restart | Then::Retry(_), .. }
            | State::Backoff => {}
        }
        // Who left no longer counts; the worker lets go of it within moments.
        let running = u32::from(matches!(self.state, State::Busy { cancelling: false, .. }));
        if self.queue_depth() + running <= self.limits.queue_max_depth {
            None
        } else if self.limits.queue_max_depth == 0 {
            Some(DispatchError::WorkerBusy)
        } else {
            Some(DispatchError::QueueFull { depth: self.limits.queue_max_depth })
        }
    }
}
