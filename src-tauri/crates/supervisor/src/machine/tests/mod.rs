//! The table row by row.

mod held;
mod walk;
mod watchdog;

use hangar_protocol::{
    FinishReason, Finished, MemoryUse, PROTOCOL_VERSION, Timings, TokenUse, Verdict, WorkerFault,
};

use super::*;
use crate::{Exit, Reach, StallLimits};

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
        stall: StallLimits { load_ms: 10, prefill_ms: 20, prefill_token_ms: 3, decode_ms: 40 },
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
        kept: None,
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

fn advanced(generation: Generation, phase: Phase, done: u64, step: u64) -> Event {
    Event::Advanced { generation, doing: Doing { phase, done, total: 900, step } }
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
    assert!(machine.step(Event::TimerFired(Timer::CancelGrace(FIRST))).contains(&Effect::DumpStacks));
    machine.step(exited(generation));
    let epoch = machine.epoch;
    assert!(matches!(machine.step(Event::TimerFired(Timer::State { epoch }))[0], Effect::Spawn(_)));
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
    let refused = machine.step(Event::Unload { ticket: Ticket(1), reach: Reach::Idle });
    assert_eq!(refused, [Effect::Settle { ticket: Ticket(1), result: Err(DispatchError::UnloadRefused) }]);
    let effects = machine.step(Event::Unload { ticket: Ticket(2), reach: Reach::Everything });
    assert_eq!(failure(&effects, FIRST), Some(&DispatchError::Cancelled));
    let effects = machine.step(exited(generation));
    assert_eq!(effects, [Effect::Settle { ticket: Ticket(2), result: Ok(()) }]);
    assert_eq!(machine.word(), StateWord::Unloaded);
}

#[test]
fn an_unload_that_reaches_everything_leaves_nobody_to_start_a_worker_for() {
    let (mut machine, generation) = busy(FIRST);
    machine.step(Event::Demand(SECOND));
    let effects = machine.step(Event::Unload { ticket: Ticket(1), reach: Reach::Everything });
    for request in [FIRST, SECOND] {
        assert_eq!(failure(&effects, request), Some(&DispatchError::Cancelled));
    }
    let effects = machine.step(exited(generation));
    assert_eq!(effects, [Effect::Settle { ticket: Ticket(1), result: Ok(()) }]);
    assert_eq!(machine.word(), StateWord::Unloaded);
}

#[test]
fn a_worker_that_had_loaded_is_started_again_at_once_and_the_second_time_later() {
    let (mut machine, generation) = busy(FIRST);
    machine.step(exited(generation));
    assert_eq!((machine.word(), machine.backoff_ms()), (StateWord::Backoff, 0));
    let epoch = machine.epoch;
    machine.step(Event::Demand(SECOND));
    machine.step(Event::TimerFired(Timer::State { epoch }));
    assert_eq!(machine.word(), StateWord::Starting);
    let generation = machine.generation;
    machine.step(exited(generation));
    assert_eq!(machine.backoff_ms(), 2_000);
}

#[test]
fn an_engine_that_fails_every_answer_is_replaced() {
    let (mut machine, generation) = ready();
    for number in 1..=machine.limits.max_consecutive_errors {
        let request = RequestId(u64::from(number));
        assert_eq!(machine.word(), StateWord::Ready);
        machine.step(Event::Demand(request));
        let end = RequestEnd::Faulted(WorkerFault::Engine { what: "ValueError".into() });
        machine.step(Event::Ended { generation, request, end });
    }
    assert_eq!(machine.word(), StateWord::Stopping);
    machine.step(exited(generation));
    assert_eq!(machine.word(), StateWord::Unloaded);
    machine.step(Event::Demand(RequestId(100)));
    assert_eq!(machine.word(), StateWord::Starting);
}

#[test]
fn who_left_takes_no_place_of_those_who_come() {
    let (mut machine, _) = busy(FIRST);
    machine.limits.queue_max_depth = 0;
    machine.step(Event::Cancel(FIRST));
    assert_eq!(failure(&machine.step(Event::Demand(SECOND)), SECOND), None);
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
    machine.step(Event::Unload { ticket: Ticket(1), reach: Reach::Idle });
    assert_eq!(failure(&machine.step(Event::Demand(FIRST)), FIRST), None);
    assert!(machine.step(exited(generation)).iter().any(|effect| matches!(effect, Effect::Spawn(_))));
}

#[test]
fn close_is_never_undone() {
    let (mut machine, generation) = ready();
    machine.step(Event::Shutdown);
    machine.step(Event::Unload { ticket: Ticket(1), reach: Reach::Everything });
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
