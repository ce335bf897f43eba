//! What the child and the timers say.

use hangar_protocol::{PROTOCOL_VERSION, Phase, RequestId, Verdict, WorkerFault};

use super::{Effect, FIRST_BACKOFFS_MS, How, MAX_FAILURES, Machine, Outcome, RequestEnd, State, Then, Timer};
use crate::{Cause, DispatchError, Exit};

impl Machine {
    pub(super) fn hello(&mut self, protocol: u32, verdict: Verdict, effects: &mut Vec<Effect>) {
        if self.state != State::Starting {
            return;
        }
        if protocol != PROTOCOL_VERSION {
            let cause = Cause::WrongProtocol { expected: PROTOCOL_VERSION, found: protocol };
            self.stop(Then::Fail(cause), true, effects);
            return;
        }
        match verdict {
            Verdict::Verified => {
                // The epoch stays: the limit that was armed at the start holds for the load too.
                self.state = State::Loading;
                effects.push(Effect::SendLoad);
                self.watch(Phase::Loading, effects);
            }
            Verdict::Differs { what } => {
                let cause = Cause::RuntimeUnverified { what, cure: "run `hangar runtime repair`".into() };
                self.stop(Then::Fail(cause), false, effects);
            }
        }
    }

    pub(super) fn loaded(&mut self, effects: &mut Vec<Effect>) {
        if self.state != State::Loading {
            return;
        }
        self.last_failure = None;
        Self::settle(&mut self.restarts, &Ok(()), effects);
        self.proceed(effects);
    }

    pub(super) fn load_failed(&mut self, fault: WorkerFault, effects: &mut Vec<Effect>) {
        if self.state != State::Loading {
            return;
        }
        let cause = Cause::Load(fault);
        let then = if cause.retryable() { Then::Retry(cause) } else { Then::Fail(cause) };
        self.stop(then, false, effects);
    }

    pub(super) fn ended(&mut self, request: RequestId, end: RequestEnd, effects: &mut Vec<Effect>) {
        let State::Busy { request: running, cancelling } = self.state else {
            return;
        };
        if running != request {
            return;
        }
        let out_of_memory = matches!(&end, RequestEnd::Faulted(WorkerFault::OutOfMemory { .. }));
        let faulty = matches!(&end, RequestEnd::Faulted(WorkerFault::Engine { .. }));
        if !cancelling {
            let outcome = match end {
                RequestEnd::Finished(finished) => Outcome::Answered(finished),
                RequestEnd::Probed(report) => Outcome::Probed(report),
                RequestEnd::Faulted(fault) => Outcome::Failed(DispatchError::Fault(fault)),
            };
            self.complete(request, outcome, effects);
        }
        if out_of_memory {
            self.counters.oom_events += 1;
            self.stop(Then::Unload, false, effects);
            return;
        }
        self.forgive();
        self.faults = if faulty { self.faults + 1 } else { 0 };
        if self.faults >= self.limits.max_consecutive_errors {
            self.stop(Then::Unload, false, effects);
        } else {
            self.proceed(effects);
        }
    }

    pub(super) fn protocol_broken(&mut self, what: String, effects: &mut Vec<Effect>) {
        if matches!(self.state, State::Stopping { .. }) {
            return;
        }
        let cause = Cause::ProtocolBroken { what };
        self.drop_running(&cause, effects);
        self.stop(Then::Retry(cause), true, effects);
    }

    pub(super) fn exited(&mut self, status: Exit, stderr_tail: Vec<String>, effects: &mut Vec<Effect>) {
        let gone = match &mut self.state {
            State::Starting | State::Loading => Cause::ExitedEarly { status, stderr_tail },
            State::Stopping { then: Then::Retry(cause) | Then::Fail(cause), .. } => {
                let told = cause.clone().with_tail(stderr_tail);
                *cause = told.clone();
                told
            }
            State::Ready
            | State::Busy { .. }
            | State::Stopping { then: Then::Unload | Then::Restart | Then::Close, .. }
            | State::Unloaded
            | State::Backoff
            | State::Failed { .. }
            | State::Closed => Cause::Crashed { status, stderr_tail },
        };
        self.child_gone(gone, effects);
    }

    /// No child is left: the state's intention, or the failure, decides what follows.
    pub(super) fn child_gone(&mut self, cause: Cause, effects: &mut Vec<Effect>) {
        let State::Stopping { then, .. } = self.state.clone() else {
            self.drop_running(&cause, effects);
            self.fail(cause, effects);
            return;
        };
        match then {
            Then::Unload => {
                self.counters.worker_unloads += 1;
                Self::settle(&mut self.unloads, &Ok(()), effects);
                if self.queue.is_empty() {
                    self.enter(State::Unloaded);
                } else {
                    self.start(effects);
                }
            }
            Then::Restart => {
                Self::settle(&mut self.unloads, &Ok(()), effects);
                self.start(effects);
            }
            Then::Retry(cause) | Then::Fail(cause) => {
                Self::settle(&mut self.unloads, &Ok(()), effects);
                self.fail(cause, effects);
            }
            Then::Close => {
                Self::settle(&mut self.unloads, &Ok(()), effects);
                self.enter(State::Closed);
            }
        }
    }

    pub(super) fn timer_fired(&mut self, timer: Timer, effects: &mut Vec<Effect>) {
        match timer {
            Timer::State { epoch } if epoch == self.epoch => self.state_timer_fired(effects),
            Timer::State { .. } => {}
            Timer::Request(request) => {
                if self.runs(request) {
                    self.counters.request_timeouts += 1;
                    let limit_ms = self.limits.request_timeout_ms;
                    self.give_up(request, DispatchError::RequestTimeout { limit_ms }, effects);
                }
            }
            Timer::CancelGrace(request) => {
                if self.state == (State::Busy { request, cancelling: true }) {
                    let cause = Cause::Unresponsive { limit_ms: self.cancel_grace_ms() };
                    self.dump_and_kill(Then::Retry(cause), effects);
                }
            }
            Timer::Silence(generation) if generation == self.generation => self.fell_silent(effects),
            Timer::Stall { generation, mark } if generation == self.generation => {
                self.stalled(mark, effects);
            }
            Timer::Silence(_) | Timer::Stall { .. } => {}
            Timer::Queue(request) => {
                if self.is_waiting(request) {
                    self.queue.retain(|waiting| *waiting != request);
                    let limit_ms = self.limits.queue_max_wait_ms;
                    self.complete(
                        request,
                        Outcome::Failed(DispatchError::QueueTimeout { limit_ms }),
                        effects,
                    );
                }
            }
        }
    }

    pub(super) fn cools_down(&self) -> bool {
        self.failures >= self.limits.max_consecutive_errors
    }

    fn state_timer_fired(&mut self, effects: &mut Vec<Effect>) {
        let limit_ms = self.limits.startup_timeout_ms;
        match self.state.clone() {
            State::Starting => {
                self.counters.startup_timeouts += 1;
                self.stop(Then::Retry(Cause::StartTimeout { limit_ms }), true, effects);
            }
            State::Loading => {
                self.counters.startup_timeouts += 1;
                self.dump_and_kill(Then::Retry(Cause::LoadTimeout { limit_ms }), effects);
            }
            State::Ready => {
                self.forgive();
                self.stop(Then::Unload, false, effects);
            }
            State::Stopping { then, how: How::Asked } => {
                self.counters.shutdown_timeouts += 1;
                self.stop(then, true, effects);
            }
            State::Stopping { then, how: How::Dumping } => self.stop(then, true, effects),
            State::Backoff => {
                if self.queue.is_empty() && self.restarts.is_empty() {
                    self.enter(State::Unloaded);
                } else {
                    self.counters.worker_restarts += 1;
                    self.start(effects);
                }
            }
            State::Stopping { how: How::Killed, .. }
            | State::Unloaded
            | State::Busy { .. }
            | State::Failed { .. }
            | State::Closed => {}
        }
    }

    fn drop_running(&mut self, cause: &Cause, effects: &mut Vec<Effect>) {
        if let State::Busy { request, cancelling: false } = self.state {
            let error = DispatchError::WorkerCrashed { cause: cause.clone() };
            self.complete(request, Outcome::Failed(error), effects);
        }
    }

    /// Counts a failure and chooses between another try, a cool-down and giving up.
    fn fail(&mut self, cause: Cause, effects: &mut Vec<Effect>) {
        self.failures += 1;
        self.last_failure = Some(cause.clone());
        let had_loaded = matches!(cause, Cause::Crashed { .. } | Cause::Stalled { .. });
        if !cause.retryable() || self.failures >= MAX_FAILURES {
            let error = DispatchError::WorkerFailed { cause: cause.clone() };
            self.fail_queue(&error, effects);
            Self::settle(&mut self.restarts, &Err(error), effects);
            self.enter(State::Failed { cause });
            return;
        }
        if self.cools_down() {
            self.backoff_ms = self.limits.cooldown_ms;
            let error = DispatchError::WorkerNotReady { cause, retry_ms: Some(self.backoff_ms) };
            self.fail_queue(&error, effects);
            Self::settle(&mut self.restarts, &Err(error), effects);
        } else {
            let tried = usize::try_from(self.failures.saturating_sub(1)).unwrap_or(usize::MAX);
            let usual_ms = FIRST_BACKOFFS_MS.get(tried).copied().unwrap_or(self.limits.cooldown_ms);
            // One that had loaded will most likely load again; who waits need not wait longer.
            self.backoff_ms = if tried == 0 && had_loaded { 0 } else { usual_ms };
        }
        self.enter(State::Backoff);
        self.arm_state(self.backoff_ms, effects);
    }
}
