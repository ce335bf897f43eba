//! Standstill and silence.

use super::*;

#[test]
fn a_worker_that_falls_silent_is_killed_and_its_request_ends_as_stalled() {
    let (mut machine, generation) = busy(FIRST);
    let late = Generation(generation.0 - 1);
    assert_eq!(machine.step(Event::TimerFired(Timer::Silence(late))), []);
    let effects = machine.step(Event::TimerFired(Timer::Silence(generation)));
    assert_eq!(failure(&effects, FIRST), Some(&DispatchError::Stalled { cause: Cause::Silent }));
    assert!(effects.contains(&Effect::DumpStacks) && !effects.contains(&Effect::Kill));
    let epoch = machine.epoch;
    assert!(machine.step(Event::TimerFired(Timer::State { epoch })).contains(&Effect::Kill));
    assert_eq!(machine.counters.shutdown_timeouts, 0);
}

/// The limit of the watch that effects begin.
fn watch(effects: &[Effect]) -> Option<(Timer, u64)> {
    effects.iter().find_map(|effect| {
        let Effect::Arm { timer: timer @ Timer::Stall { .. }, after_ms } = effect else { return None };
        Some((*timer, *after_ms))
    })
}

#[test]
fn each_phase_has_its_limit_and_a_chunk_is_allowed_for_its_size() {
    let mut machine = Machine::new(limits());
    machine.step(Event::Demand(FIRST));
    let generation = machine.generation;
    assert_eq!(watch(&machine.step(hello(generation))).unwrap().1, 10);
    assert_eq!(watch(&machine.step(Event::Loaded { generation })).unwrap().1, 20);
    for (phase, step, limit_ms) in [
        (Phase::Prefill, 0, 20),
        (Phase::Prefill, 100, 320),
        (Phase::Decode, 0, 40),
        (Phase::Probing, 10, 50),
    ] {
        assert_eq!(watch(&machine.step(advanced(generation, phase, 1, step))).unwrap().1, limit_ms);
    }
    let late = Generation(generation.0 - 1);
    assert_eq!(machine.step(advanced(late, Phase::Decode, 2, 0)), []);
}

#[test]
fn a_worker_whose_counters_stand_still_is_dumped_killed_and_started_again() {
    let (mut machine, generation) = busy(FIRST);
    machine.step(Event::Demand(SECOND));
    let (early, _) = watch(&machine.step(advanced(generation, Phase::Prefill, 0, 128))).unwrap();
    let (timer, _) = watch(&machine.step(advanced(generation, Phase::Decode, 7, 0))).unwrap();
    assert_eq!(machine.step(Event::TimerFired(early)), [], "the counters moved since");
    let effects = machine.step(Event::TimerFired(timer));
    let Some(DispatchError::Stalled {
        cause: Cause::Stalled { phase: Phase::Decode, done: 7, limit_ms: 40, .. },
    }) = failure(&effects, FIRST)
    else {
        panic!("{effects:?}")
    };
    assert!(effects.contains(&Effect::DumpStacks));
    let epoch = machine.epoch;
    assert!(machine.step(Event::TimerFired(Timer::State { epoch })).contains(&Effect::Kill));
    assert_eq!(machine.exit_kind(), "stalled");
    let stderr_tail = vec!["  File \"engine.py\", line 1 in prefill".to_owned()];
    let status = Exit::Signal(9);
    machine.step(Event::Exited { generation, status, stderr_tail: stderr_tail.clone() });
    assert!(
        matches!(machine.last_failure(), Some(Cause::Stalled { stderr_tail: kept, .. }) if *kept == stderr_tail)
    );
    let epoch = machine.epoch;
    assert!(matches!(machine.step(Event::TimerFired(Timer::State { epoch }))[0], Effect::Spawn(_)));
}

#[test]
fn a_load_that_stands_still_is_ended_and_tried_again_for_who_waits() {
    let mut machine = Machine::new(limits());
    machine.step(Event::Demand(FIRST));
    let generation = machine.generation;
    let (timer, _) = watch(&machine.step(hello(generation))).unwrap();
    let effects = machine.step(Event::TimerFired(timer));
    assert_eq!(failure(&effects, FIRST), None);
    machine.step(exited(generation));
    let epoch = machine.epoch;
    assert!(matches!(machine.step(Event::TimerFired(Timer::State { epoch }))[0], Effect::Spawn(_)));
}

#[test]
fn a_cancelled_prefill_may_end_the_chunk_it_is_in() {
    let (mut machine, generation) = busy(FIRST);
    machine.step(advanced(generation, Phase::Prefill, 0, 100));
    let effects = machine.step(Event::Cancel(FIRST));
    let timer = Timer::CancelGrace(FIRST);
    assert!(effects.contains(&Effect::Arm { timer, after_ms: 307 }), "{effects:?}");
}

#[test]
fn a_watch_that_fires_when_nothing_is_to_be_done_does_nothing() {
    let (mut machine, generation) = busy(FIRST);
    let (timer, _) = watch(&machine.step(advanced(generation, Phase::Decode, 1, 0))).unwrap();
    machine.step(Event::Ended { generation, request: FIRST, end: finished(FIRST) });
    assert_eq!(machine.step(Event::TimerFired(timer)), []);
    assert_eq!(machine.word(), StateWord::Ready);
}
