//! Workers with state that is worth more than their memory.

use hangar_protocol::StateId;

use super::*;

fn idle_timers(effects: &[Effect]) -> Vec<Timer> {
    let timer = |effect: &Effect| {
        if let Effect::Arm { timer: timer @ Timer::State { .. }, .. } = effect { Some(*timer) } else { None }
    };
    effects.iter().filter_map(timer).collect()
}

#[test]
fn a_held_worker_is_not_unloaded_when_idle_and_has_its_whole_time_once_it_is_let_go() {
    let (mut machine, generation) = ready();
    let before = Timer::State { epoch: machine.epoch };
    machine.step(Event::Held);
    machine.step(Event::Held);
    assert_eq!(machine.step(Event::TimerFired(before)), []);
    machine.step(Event::Demand(FIRST));
    let effects = machine.step(Event::Ended { generation, request: FIRST, end: finished(FIRST) });
    assert_eq!(idle_timers(&effects), []);
    assert_eq!(machine.step(Event::LetGo), []);
    let effects = machine.step(Event::LetGo);
    let [timer] = idle_timers(&effects)[..] else { panic!("{effects:?}") };
    assert!(machine.step(Event::TimerFired(timer)).contains(&Effect::Terminate));
}

#[test]
fn a_held_worker_is_unloaded_with_force_only_and_one_that_never_loaded_without() {
    let (mut machine, generation) = ready();
    machine.step(Event::Held);
    let refused = machine.step(Event::Unload { ticket: Ticket(1), reach: Reach::Idle });
    assert_eq!(refused, [Effect::Settle { ticket: Ticket(1), result: Err(DispatchError::UnloadRefused) }]);
    machine.step(Event::Unload { ticket: Ticket(2), reach: Reach::Everything });
    let effects = machine.step(exited(generation));
    assert_eq!(effects, [Effect::Settle { ticket: Ticket(2), result: Ok(()) }]);
    let effects = machine.step(Event::Unload { ticket: Ticket(3), reach: Reach::Idle });
    assert_eq!(effects, [Effect::Settle { ticket: Ticket(3), result: Ok(()) }]);
}

#[test]
fn only_a_worker_that_has_loaded_is_told_to_forget() {
    let states = vec![StateId(7)];
    let (mut machine, _) = ready();
    assert_eq!(machine.step(Event::Forget(states.clone())), [Effect::SendForget(states.clone())]);
    assert_eq!(machine.step(Event::Forget(Vec::new())), []);
    machine.step(Event::Demand(FIRST));
    assert_eq!(machine.step(Event::Forget(states.clone())), [Effect::SendForget(states.clone())]);
    machine.step(Event::Shutdown);
    assert_eq!(machine.step(Event::Forget(states.clone())), []);
    let mut unloaded = Machine::new(limits());
    assert_eq!(unloaded.step(Event::Forget(states)), []);
}
