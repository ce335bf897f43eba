//! The worker's lifecycle as a pure machine: events in, effects out.
//!
//! It names no clock, no IO and no async runtime; the task around it owns time, pipe and child. Events of a
//! child carry its generation and timers carry the epoch of the state that armed them, so late ones fall on
//! the floor.

mod commands;
mod events;
#[cfg(test)]
mod tests;
mod vocabulary;
mod watchdog;

use std::collections::VecDeque;

use hangar_protocol::{Phase, RequestId};

pub(crate) use self::vocabulary::{
    Doing, Effect, Event, Generation, How, Outcome, RequestEnd, State, Then, Ticket, Timer,
};
use crate::{Cause, Counters, DispatchError, Limits, StateWord};

/// Failures in a row after which nobody tries again by himself.
const MAX_FAILURES: u32 = 10;
/// Waits after the first failures, in milliseconds; later ones wait for the cool-down.
const FIRST_BACKOFFS_MS: [u64; 2] = [500, 2_000];

/// The machine.
#[derive(Debug)]
pub(crate) struct Machine {
    limits: Limits,
    state: State,
    epoch: u64,
    generation: Generation,
    doing: Doing,
    /// Rises whenever the watch begins anew, so that earlier watches do nothing.
    mark: u64,
    queue: VecDeque<RequestId>,
    unloads: Vec<Ticket>,
    restarts: Vec<Ticket>,
    failures: u32,
    /// How many hold off unloads.
    holds: u32,
    /// Answers in a row that this worker's engine failed.
    faults: u32,
    last_failure: Option<Cause>,
    backoff_ms: u64,
    counters: Counters,
}

impl Machine {
    pub(crate) fn new(limits: Limits) -> Self {
        Self {
            limits,
            state: State::Unloaded,
            epoch: 0,
            generation: Generation(0),
            doing: Doing { phase: Phase::Idle, done: 0, total: 0, step: 0 },
            mark: 0,
            queue: VecDeque::new(),
            unloads: Vec::new(),
            restarts: Vec::new(),
            failures: 0,
            holds: 0,
            faults: 0,
            last_failure: None,
            backoff_ms: 0,
            counters: Counters::default(),
        }
    }

    /// Takes one event and says what is to be done, in order.
    pub(crate) fn step(&mut self, event: Event) -> Vec<Effect> {
        let mut effects = Vec::new();
        match event {
            Event::Demand(request) => self.demand(request, &mut effects),
            Event::Cancel(request) => self.cancel(request, &mut effects),
            Event::Forget(states) => self.forget(states, &mut effects),
            Event::Held => self.held(),
            Event::LetGo => self.let_go(&mut effects),
            Event::Unload { ticket, reach } => self.unload(ticket, reach, &mut effects),
            Event::Restart { ticket } => self.restart(ticket, &mut effects),
            Event::Shutdown => self.shutdown(&mut effects),
            Event::TimerFired(timer) => self.timer_fired(timer, &mut effects),
            Event::SpawnFailed { generation, .. }
            | Event::Exited { generation, .. }
            | Event::Hello { generation, .. }
            | Event::Loaded { generation }
            | Event::LoadFailed { generation, .. }
            | Event::Ended { generation, .. }
            | Event::ProtocolBroken { generation, .. }
            | Event::Advanced { generation, .. }
                if generation != self.generation || !self.child_lives() => {}
            Event::SpawnFailed { cause, .. } => self.child_gone(cause, &mut effects),
            Event::Exited { status, stderr_tail, .. } => self.exited(status, stderr_tail, &mut effects),
            Event::Hello { protocol, verdict, .. } => self.hello(protocol, verdict, &mut effects),
            Event::Loaded { .. } => self.loaded(&mut effects),
            Event::LoadFailed { fault, .. } => self.load_failed(fault, &mut effects),
            Event::Ended { request, end, .. } => self.ended(request, end, &mut effects),
            Event::ProtocolBroken { what, .. } => self.protocol_broken(what, &mut effects),
            Event::Advanced { doing, .. } => self.advanced(doing, &mut effects),
        }
        effects
    }

    pub(crate) fn word(&self) -> StateWord {
        match self.state {
            State::Unloaded => StateWord::Unloaded,
            State::Starting => StateWord::Starting,
            State::Loading => StateWord::Loading,
            State::Ready => StateWord::Ready,
            State::Busy { .. } => StateWord::Busy,
            State::Stopping { .. } => StateWord::Stopping,
            State::Backoff => StateWord::Backoff,
            State::Failed { .. } => StateWord::Failed,
            State::Closed => StateWord::Closed,
        }
    }

    pub(crate) fn queue_depth(&self) -> u32 {
        u32::try_from(self.queue.len()).unwrap_or(u32::MAX)
    }

    pub(crate) fn is_waiting(&self, request: RequestId) -> bool {
        self.queue.contains(&request)
    }

    /// Who waits, in order.
    pub(crate) fn waiting(&self) -> impl Iterator<Item = RequestId> {
        self.queue.iter().copied()
    }

    /// Number of the latest child.
    pub(crate) fn generation(&self) -> Generation {
        self.generation
    }

    /// What an end of the child in this state is called.
    pub(crate) fn exit_kind(&self) -> &'static str {
        match &self.state {
            State::Starting | State::Loading => "exited_early",
            State::Stopping { then: Then::Retry(cause) | Then::Fail(cause), .. } => cause.kind(),
            State::Stopping { then: Then::Unload | Then::Restart | Then::Close, .. } => "ended",
            State::Ready
            | State::Busy { .. }
            | State::Unloaded
            | State::Backoff
            | State::Failed { .. }
            | State::Closed => "crashed",
        }
    }

    pub(crate) fn failures(&self) -> u32 {
        self.failures
    }

    pub(crate) fn last_failure(&self) -> Option<&Cause> {
        self.last_failure.as_ref()
    }

    /// Length of the wait in force, in milliseconds; meaningful in backoff only.
    pub(crate) fn backoff_ms(&self) -> u64 {
        self.backoff_ms
    }

    pub(crate) fn counters(&self) -> Counters {
        self.counters
    }

    /// Whether a process exists or is being made.
    pub(crate) fn child_lives(&self) -> bool {
        match self.state {
            State::Starting | State::Loading | State::Ready | State::Busy { .. } | State::Stopping { .. } => {
                true
            }
            State::Unloaded | State::Backoff | State::Failed { .. } | State::Closed => false,
        }
    }

    fn enter(&mut self, state: State) {
        self.state = state;
        self.epoch += 1;
    }

    fn arm_state(&self, after_ms: u64, effects: &mut Vec<Effect>) {
        effects.push(Effect::Arm { timer: Timer::State { epoch: self.epoch }, after_ms });
    }

    fn start(&mut self, effects: &mut Vec<Effect>) {
        self.generation.0 += 1;
        self.counters.worker_starts += 1;
        self.faults = 0;
        self.enter(State::Starting);
        effects.push(Effect::Spawn(self.generation));
        self.arm_state(self.limits.startup_timeout_ms, effects);
    }

    /// Asks a living child to end; `kill` where asking is of no use.
    fn stop(&mut self, then: Then, kill: bool, effects: &mut Vec<Effect>) {
        self.enter(State::Stopping { then, how: if kill { How::Killed } else { How::Asked } });
        if kill {
            self.counters.forced_kills += 1;
            effects.push(Effect::Kill);
        } else {
            effects.push(Effect::Terminate);
            self.arm_state(self.limits.shutdown_grace_ms, effects);
        }
    }

    /// Ready with nothing to do, or busy with the head of the queue.
    fn proceed(&mut self, effects: &mut Vec<Effect>) {
        if let Some(request) = self.queue.pop_front() {
            self.enter(State::Busy { request, cancelling: false });
            effects.push(Effect::Dispatch(request));
            self.watch(Phase::Idle, effects);
            let timer = Timer::Request(request);
            effects.push(Effect::Arm { timer, after_ms: self.limits.request_timeout_ms });
        } else {
            self.rest(effects);
        }
    }

    /// Ready, and unloaded after a while unless somebody holds it.
    fn rest(&mut self, effects: &mut Vec<Effect>) {
        self.enter(State::Ready);
        if let Some(idle_ms) = self.limits.idle_unload_ms
            && self.holds == 0
        {
            self.arm_state(idle_ms, effects);
        }
    }

    fn complete(&mut self, request: RequestId, outcome: Outcome, effects: &mut Vec<Effect>) {
        match &outcome {
            Outcome::Answered(_) | Outcome::Probed(_) => self.counters.successful_requests += 1,
            Outcome::Failed(_) => self.counters.failed_requests += 1,
        }
        effects.push(Effect::Complete { request, outcome });
    }

    fn fail_queue(&mut self, error: &DispatchError, effects: &mut Vec<Effect>) {
        for request in std::mem::take(&mut self.queue) {
            self.complete(request, Outcome::Failed(error.clone()), effects);
        }
    }

    fn settle(tickets: &mut Vec<Ticket>, result: &Result<(), DispatchError>, effects: &mut Vec<Effect>) {
        for ticket in tickets.drain(..) {
            effects.push(Effect::Settle { ticket, result: result.clone() });
        }
    }
}
