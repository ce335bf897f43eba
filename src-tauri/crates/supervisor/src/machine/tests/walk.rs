//! A random walk that holds the invariants.

use std::collections::BTreeSet;

use hangar_protocol::StateId;

use super::*;

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
        match dice.roll(20) {
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
                    Event::Unload {
                        ticket,
                        reach: if dice.roll(2) == 0 { Reach::Idle } else { Reach::Everything },
                    }
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
            15 | 16 => {
                let phases = [Phase::Idle, Phase::Loading, Phase::Prefill, Phase::Decode, Phase::Probing];
                let phase = phases[usize::try_from(dice.roll(5)).unwrap()];
                advanced(generation, phase, dice.roll(50), dice.roll(9))
            }
            18 if dice.roll(4) == 0 => match dice.roll(3) {
                0 => Event::Forget(vec![StateId(self.number)]),
                1 => Event::Held,
                _ => Event::LetGo,
            },
            17 if dice.roll(10) == 0 => Event::TimerFired(Timer::Silence(generation)),
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
                Effect::SendLoad
                | Effect::SendCancel(_)
                | Effect::SendForget(_)
                | Effect::Terminate
                | Effect::DumpStacks
                | Effect::Kill => {
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
