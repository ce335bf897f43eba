//! The table row by row, and a random walk that holds the invariants.

use std::collections::BTreeSet;

use hangar_protocol::{FinishReason, MemoryUse, PROTOCOL_VERSION, Timings, TokenUse};

use super::*;

fn limits() -> Limits {
    Limits {
        startup_timeout_ms: 1,
        request_timeout_ms: 2,
        queue_max_wait_ms: 3,
        queue_max_depth: 2,
        idle_unload_ms: Some(4),
        max_consecutive_errors: 3,
        cooldown_ms: 5,
        shutdown_grace_ms: 6,
        cancel_grace_ms: 7,
        silence_ms: 8,
    }
}

fn finished(request: RequestId) -> RequestEnd {
    RequestEnd::Finished(Finished {
        request,
        reason: FinishReason::Stop,
        tokens: TokenUse::default(),
        timings: Timings::default(),
        memory: MemoryUse::default(),
        warnings: Vec::new(),
    })
}

fn hello(generation: Generation) -> Event {
    Event::Hello { generation, protocol: PROTOCOL_VERSION, verdict: Verdict::Verified }
}

fn exited(generation: Generation) -> Event {
    Event::Exited { generation, status: Exit::Code(1), stderr_tail: Vec::new() }
}

fn ready() -> (Machine, Generation) {
    let mut machine = Machine::new(limits());
    machine.step(Event::Restart { ticket: Ticket(0) });
    let generation = machine.generation;
    machine.step(hello(generation));
    machine.step(Event::Loaded { generation });
    assert_eq!(machine.state, State::Ready);
    (machine, generation)
}

fn busy(request: RequestId) -> (Machine, Generation) {
    let (mut machine, generation) = ready();
    assert!(machine.step(Event::Demand(request)).contains(&Effect::Dispatch(request)));
    (machine, generation)
}

fn failure(effects: &[Effect], wanted: RequestId) -> Option<&DispatchError> {
    effects.iter().find_map(|effect| {
        if let Effect::Complete { request, outcome: Outcome::Failed(error) } = effect
            && *request == wanted
        {
            return Some(error);
        }
        None
    })
}

const FIRST: RequestId = RequestId(1);
const SECOND: RequestId = RequestId(2);

#[test]
fn the_first_demand_starts_a_worker_and_is_dispatched_once_it_is_loaded() {
    let mut machine = Machine::new(limits());
    let effects = machine.step(Event::Demand(FIRST));
    let generation = machine.generation;
    assert!(effects.contains(&Effect::Spawn(generation)));
    assert!(machine.step(hello(generation)).contains(&Effect::SendLoad));
    assert!(machine.step(Event::Loaded { generation }).contains(&Effect::Dispatch(FIRST)));
    assert_eq!(machine.word(), StateWord::Busy);
}

#[test]
fn a_second_demand_waits_and_one_over_the_depth_is_refused() {
    let (mut machine, _) = busy(FIRST);
    for number in 2..=3 {
        assert_eq!(failure(&machine.step(Event::Demand(RequestId(number))), RequestId(number)), None);
    }
    let effects = machine.step(Event::Demand(RequestId(4)));
    assert_eq!(failure(&effects, RequestId(4)), Some(&DispatchError::QueueFull { depth: 2 }));
    assert_eq!(machine.counters.queue_full_rejections, 1);
}

#[test]
fn with_depth_zero_an_overlap_is_worker_busy() {
    let mut machine = Machine::new(Limits { queue_max_depth: 0, ..limits() });
    machine.step(Event::Demand(FIRST));
    let effects = machine.step(Event::Demand(SECOND));
    assert_eq!(failure(&effects, SECOND), Some(&DispatchError::WorkerBusy));
}

#[test]
fn another_protocol_version_fails_for_good_and_kills() {
    let mut machine = Machine::new(limits());
    machine.step(Event::Demand(FIRST));
    let generation = machine.generation;
    let event = Event::Hello { generation, protocol: PROTOCOL_VERSION + 1, verdict: Verdict::Verified };
    assert!(machine.step(event).contains(&Effect::Kill));
    let effects = machine.step(exited(generation));
    assert!(matches!(
        failure(&effects, FIRST),
        Some(DispatchError::WorkerFailed { cause: Cause::WrongProtocol { .. } })
    ));
    assert_eq!(machine.word(), StateWord::Failed);
}

#[test]
fn a_differing_runtime_is_refused_before_anything_is_loaded() {
    let mut machine = Machine::new(limits());
    machine.step(Event::Demand(FIRST));
    let generation = machine.generation;
    let verdict = Verdict::Differs { what: "language.py".into() };
    let effects = machine.step(Event::Hello { generation, protocol: PROTOCOL_VERSION, verdict });
    assert!(!effects.contains(&Effect::SendLoad));
    machine.step(exited(generation));
    assert!(matches!(&machine.state, State::Failed { cause: Cause::RuntimeUnverified { .. } }));
}

#[test]
fn a_crash_fails_the_running_request_and_keeps_the_waiting_one() {
    let (mut machine, generation) = busy(FIRST);
    machine.step(Event::Demand(SECOND));
    let effects = machine.step(exited(generation));
    assert!(matches!(failure(&effects, FIRST), Some(DispatchError::WorkerCrashed { .. })));
    assert_eq!(failure(&effects, SECOND), None);
    let epoch = machine.epoch;
    let effects = machine.step(Event::TimerFired(Timer::State { epoch }));
    assert!(matches!(effects[0], Effect::Spawn(_)), "{effects:?}");
}

#[test]
fn failures_in_a_row_lead_to_a_cool_down_and_then_to_failed() {
    let mut machine = Machine::new(limits());
    for number in 1..=10_u64 {
        let request = RequestId(number);
        machine.step(Event::Demand(request));
        let effects = machine.step(exited(machine.generation));
        match number {
            1 | 2 => assert_eq!(failure(&effects, request), None),
            3..=9 => {
                assert!(matches!(failure(&effects, request), Some(DispatchError::WorkerNotReady { .. })));
                let refused = machine.step(Event::Demand(RequestId(100)));
                assert!(matches!(failure(&refused, RequestId(100)), Some(DispatchError::CoolingDown { .. })));
            }
            _ => assert_eq!(machine.word(), StateWord::Failed),
        }
        if number < 10 {
            let epoch = machine.epoch;
            machine.step(Event::TimerFired(Timer::State { epoch }));
        }
    }
    assert!(matches!(machine.step(Event::Restart { ticket: Ticket(1) })[0], Effect::Spawn(_)));
}

#[test]
fn a_cancelled_request_ends_at_once_and_the_worker_lives_on() {
    let (mut machine, generation) = busy(FIRST);
    machine.step(Event::Demand(SECOND));
    let effects = machine.step(Event::Cancel(FIRST));
    assert_eq!(failure(&effects, FIRST), Some(&DispatchError::Cancelled));
    assert!(effects.contains(&Effect::SendCancel(FIRST)));
    let effects = machine.step(Event::Ended { generation, request: FIRST, end: finished(FIRST) });
    assert!(effects.contains(&Effect::Dispatch(SECOND)));
    assert_eq!(machine.counters.successful_requests, 0);
}

#[test]
fn a_worker_that_does_not_let_go_is_killed_and_started_again_for_who_waits() {
    let (mut machine, generation) = busy(FIRST);
    machine.step(Event::Demand(SECOND));
    machine.step(Event::Cancel(FIRST));
    assert!(machine.step(Event::TimerFired(Timer::CancelGrace(FIRST))).contains(&Effect::Kill));
    machine.step(exited(generation));
    let epoch = machine.epoch;
    assert!(matches!(machine.step(Event::TimerFired(Timer::State { epoch }))[0], Effect::Spawn(_)));
}

#[test]
fn a_worker_that_falls_silent_is_killed_and_its_request_ends_as_stalled() {
    let (mut machine, generation) = busy(FIRST);
    let late = Generation(generation.0 - 1);
    assert_eq!(machine.step(Event::TimerFired(Timer::Silence(late))), []);
    let effects = machine.step(Event::TimerFired(Timer::Silence(generation)));
    assert_eq!(failure(&effects, FIRST), Some(&DispatchError::WorkerCrashed { cause: Cause::Silent }));
    assert!(effects.contains(&Effect::Kill));
}

#[test]
fn a_request_over_its_limit_is_timed_out() {
    let (mut machine, _) = busy(FIRST);
    let effects = machine.step(Event::TimerFired(Timer::Request(FIRST)));
    assert_eq!(failure(&effects, FIRST), Some(&DispatchError::RequestTimeout { limit_ms: 2 }));
}

#[test]
fn unload_of_a_busy_worker_needs_force() {
    let (mut machine, generation) = busy(FIRST);
    let refused = machine.step(Event::Unload { ticket: Ticket(1), force: false });
    assert_eq!(refused, [Effect::Settle { ticket: Ticket(1), result: Err(DispatchError::UnloadRefused) }]);
    let effects = machine.step(Event::Unload { ticket: Ticket(2), force: true });
    assert_eq!(failure(&effects, FIRST), Some(&DispatchError::Cancelled));
    let effects = machine.step(exited(generation));
    assert_eq!(effects, [Effect::Settle { ticket: Ticket(2), result: Ok(()) }]);
    assert_eq!(machine.word(), StateWord::Unloaded);
}

#[test]
fn idle_time_unloads_and_a_late_timer_of_an_earlier_state_does_nothing() {
    let (mut machine, generation) = ready();
    let early = machine.epoch;
    machine.step(Event::Demand(FIRST));
    machine.step(Event::Ended { generation, request: FIRST, end: finished(FIRST) });
    assert_eq!(machine.step(Event::TimerFired(Timer::State { epoch: early })), []);
    let epoch = machine.epoch;
    assert!(machine.step(Event::TimerFired(Timer::State { epoch })).contains(&Effect::Terminate));
    machine.step(exited(generation));
    assert_eq!(machine.word(), StateWord::Unloaded);
}

#[test]
fn a_demand_during_an_unload_starts_a_new_worker_afterwards() {
    let (mut machine, generation) = ready();
    machine.step(Event::Unload { ticket: Ticket(1), force: false });
    assert_eq!(failure(&machine.step(Event::Demand(FIRST)), FIRST), None);
    assert!(machine.step(exited(generation)).iter().any(|effect| matches!(effect, Effect::Spawn(_))));
}

#[test]
fn close_is_never_undone() {
    let (mut machine, generation) = ready();
    machine.step(Event::Shutdown);
    machine.step(Event::Unload { ticket: Ticket(1), force: true });
    machine.step(Event::Restart { ticket: Ticket(2) });
    machine.step(exited(generation));
    assert_eq!(machine.word(), StateWord::Closed);
    assert_eq!(failure(&machine.step(Event::Demand(FIRST)), FIRST), Some(&DispatchError::ShuttingDown));
}

#[test]
fn out_of_memory_ends_the_worker_after_its_answer() {
    let (mut machine, generation) = busy(FIRST);
    let fault = WorkerFault::OutOfMemory { what: "prefill".into() };
    let end = RequestEnd::Faulted(fault.clone());
    let effects = machine.step(Event::Ended { generation, request: FIRST, end });
    assert_eq!(failure(&effects, FIRST), Some(&DispatchError::Fault(fault)));
    assert!(effects.contains(&Effect::Terminate));
    assert_eq!(machine.counters.oom_events, 1);
}

/// Seeded generator: a failing walk is found again by its seed.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % sides
    }
}

/// What the outside knows of the machine, from its effects alone.
#[derive(Default)]
struct World {
    open: BTreeSet<u64>,
    tickets: BTreeSet<u64>,
    child: Option<Generation>,
    running: Option<RequestId>,
    timers: Vec<Timer>,
    number: u64,
}

impl World {
    fn event(&mut self, dice: &mut Dice, machine: &Machine) -> Event {
        let stale = Generation(machine.generation.0.saturating_sub(1));
        let generation = if dice.roll(8) == 0 { stale } else { machine.generation };
        let request = RequestId(self.number.saturating_sub(dice.roll(4)));
        match dice.roll(17) {
            0..=3 => {
                self.number += 1;
                self.open.insert(self.number);
                Event::Demand(RequestId(self.number))
            }
            4 => Event::Cancel(request),
            5 if dice.roll(4) == 0 => {
                self.number += 1;
                self.tickets.insert(self.number);
                let ticket = Ticket(self.number);
                if dice.roll(2) == 0 {
                    Event::Restart { ticket }
                } else {
                    Event::Unload { ticket, force: dice.roll(2) == 0 }
                }
            }
            6 => exited(generation),
            7 => Event::SpawnFailed { generation, cause: Cause::SpawnFailed { what: "none".into() } },
            8 if dice.roll(6) == 0 => Event::ProtocolBroken { generation, what: "x".into() },
            9 if dice.roll(6) == 0 => {
                let fault = WorkerFault::Engine { what: "x".into() };
                Event::LoadFailed { generation, fault }
            }
            10 | 11 => hello(generation),
            12 => Event::Loaded { generation },
            13 | 14 => {
                let request = self.running.unwrap_or(request);
                Event::Ended { generation, request, end: finished(request) }
            }
            _ if !self.timers.is_empty() => {
                let sides = u64::try_from(self.timers.len()).unwrap();
                let index = usize::try_from(dice.roll(sides)).unwrap();
                Event::TimerFired(self.timers.swap_remove(index))
            }
            _ => hello(generation),
        }
    }

    fn take(&mut self, effects: Vec<Effect>) {
        for effect in effects {
            match effect {
                Effect::Spawn(generation) => {
                    assert_eq!(self.child, None, "at most one child");
                    self.child = Some(generation);
                }
                Effect::Dispatch(request) => {
                    assert!(self.open.contains(&request.0), "an ended request is not dispatched");
                    assert!(self.child.is_some(), "no dispatch without a child");
                    self.running = Some(request);
                }
                Effect::Complete { request, .. } => {
                    assert!(self.open.remove(&request.0), "each request completes exactly once");
                }
                Effect::Settle { ticket, .. } => {
                    assert!(self.tickets.remove(&ticket.0), "each command is settled exactly once");
                }
                Effect::Arm { timer, .. } => self.timers.push(timer),
                Effect::SendLoad | Effect::SendCancel(_) | Effect::Terminate | Effect::Kill => {
                    assert!(self.child.is_some(), "nothing is sent without a child");
                }
            }
        }
    }
}

#[test]
fn a_million_random_events_keep_the_invariants_and_shutdown_always_reaches_closed() {
    let mut total = 0;
    for seed in 1..=500_u64 {
        let mut dice = Dice(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1);
        let mut machine =
            Machine::new(Limits { queue_max_depth: u32::try_from(seed % 4).unwrap(), ..limits() });
        let mut world = World::default();
        for _ in 0..2_000 {
            let event = world.event(&mut dice, &machine);
            let before = machine.child_lives();
            let gone = matches!(&event, Event::Exited { generation, .. } | Event::SpawnFailed { generation, .. }
                if before && *generation == machine.generation);
            if gone {
                world.child = None;
                world.running = None;
            }
            let effects = machine.step(event);
            world.take(effects);
            assert!(machine.queue.len() <= usize::try_from(machine.limits.queue_max_depth).unwrap() + 1);
            assert_eq!(world.child.is_some(), machine.child_lives(), "seed {seed}");
            let waiting = machine.queue.len()
                + usize::from(matches!(machine.state, State::Busy { cancelling: false, .. }));
            assert_eq!(world.open.len(), waiting, "no request is lost, seed {seed}");
            total += 1;
        }
        let effects = machine.step(Event::Shutdown);
        world.take(effects);
        if machine.child_lives() {
            world.child = None;
            let effects = machine.step(exited(machine.generation));
            world.take(effects);
        }
        assert_eq!(machine.word(), StateWord::Closed, "seed {seed}");
        assert!(world.open.is_empty() && world.tickets.is_empty(), "everything waiting ends, seed {seed}");
    }
    assert_eq!(total, 1_000_000);
}
