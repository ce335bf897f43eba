//! What may happen to sessions, by hand and by chance.

use std::collections::BTreeSet;

use hangar_config::{SessionLimits, SessionSettings};
use hangar_protocol::Kept;
use serde_json::json;

use super::*;
use crate::drones::drone::Said;
use crate::drones::policy;
use crate::json::Field;

const TTL_MS: u64 = 10_000;

fn limits(max_turns: u32) -> Policy {
    let settings = SessionSettings {
        ttl_s: 10.0,
        max_turns,
        max_context_tokens: 1000,
        audio_seconds_per_turn: 45.0,
        most: SessionLimits { ttl_s: 300.0, turns: 16, audio_seconds_per_turn: 45.0 },
        reaper_interval_s: 5.0,
        max_sessions: 4,
        durable: false,
    };
    policy::read(&Field::root(&json!({})), &settings, 1000).unwrap()
}

fn turn(state: u64) -> Turn {
    Turn {
        state: StateId(state),
        kept: Kept { context_tokens: 10, bytes: 100 },
        parts: vec![Said::Text("a".into())],
        text: "b".into(),
        calls: Vec::new(),
        finish_reason: "stop",
        clips: Vec::new(),
        at: 0,
    }
}

fn table(most: u32) -> Table<&'static str> {
    Table::new(most)
}

fn with_one() -> Table<&'static str> {
    let mut table = table(2);
    table.create("a".into(), "pocket", limits(2), 0, 0).unwrap();
    table
}

fn answered(table: &mut Table<&'static str>, id: &str, state: u64, now_ms: u64) {
    let begun = table.begin_turn(id).unwrap();
    table.answered(id, begun.number, turn(state), 1, now_ms).unwrap();
}

#[test]
fn a_second_turn_is_refused_while_one_runs() {
    let mut table = with_one();
    let begun = table.begin_turn("a").unwrap();
    assert_eq!((begun.turn_index, begun.base, begun.held_tokens), (1, None, 0));
    assert_eq!(table.begin_turn("a"), Err(DroneError::Busy));
    table.answered("a", begun.number, turn(1), 1, 5).unwrap();
    let next = table.begin_turn("a").unwrap();
    assert_eq!((next.turn_index, next.base, next.held_tokens), (2, Some(StateId(1)), 10));
}

#[test]
fn a_turn_that_fails_leaves_the_session_as_it_was() {
    let mut table = with_one();
    answered(&mut table, "a", 1, 0);
    let before = table.find("a").unwrap().turns.clone();
    let begun = table.begin_turn("a").unwrap();
    table.failed("a", begun.number, 7);
    let drone = table.find("a").unwrap();
    assert_eq!((&drone.turns, drone.stage, drone.active_ms), (&before, Stage::Idle, 7));
    // What comes late does nothing.
    assert_eq!(table.answered("a", begun.number, turn(2), 1, 8), Err(StateId(2)));
}

#[test]
fn turns_and_sessions_are_limited_and_nobody_else_goes_for_them() {
    let mut table = with_one();
    answered(&mut table, "a", 1, 0);
    answered(&mut table, "a", 2, 0);
    assert_eq!(table.begin_turn("a"), Err(DroneError::TurnsUsedUp { most: 2 }));
    table.create("b".into(), "pocket", limits(2), 0, 0).unwrap();
    assert_eq!(
        table.create("c".into(), "pocket", limits(2), 0, 0).err(),
        Some(DroneError::Limit { most: 2 })
    );
    assert_eq!(table.fork("a", "c".into(), 0, 0).err(), Some(DroneError::Limit { most: 2 }));
    assert_eq!(table.iter().count(), 2);
}

#[test]
fn time_runs_from_the_last_turn_and_not_during_one() {
    let mut table = with_one();
    assert_eq!(table.reap(TTL_MS - 1), []);
    let begun = table.begin_turn("a").unwrap();
    assert_eq!(table.reap(5 * TTL_MS), []);
    table.answered("a", begun.number, turn(1), 1, 5 * TTL_MS).unwrap();
    assert_eq!(table.reap(6 * TTL_MS - 1), []);
    table.touch("a", 6 * TTL_MS - 1).unwrap();
    assert_eq!(table.reap(6 * TTL_MS), []);
    let [released] = table.reap(7 * TTL_MS).try_into().unwrap();
    assert_eq!(released.states, [StateId(1)]);
    assert_eq!(table.find("a").err(), Some(DroneError::Expired { ttl_s: 10 }));
    assert!(matches!(table.delete("a"), Err(DroneError::Expired { .. })));
    assert!(matches!(table.begin_turn("A"), Err(DroneError::NotFound { .. })));
}

#[test]
fn a_session_whose_worker_is_gone_is_lost_and_takes_no_place() {
    let mut table = with_one();
    table.create("empty".into(), "pocket", limits(2), 0, 0).unwrap();
    answered(&mut table, "a", 1, 0);
    table.lose(|_| Some(1));
    assert!(table.find("a").unwrap().stage == Stage::Idle);
    table.lose(|_| Some(2));
    assert_eq!(table.begin_turn("a"), Err(DroneError::Lost));
    assert_eq!(table.fork("a", "b".into(), 0, 0).err(), Some(DroneError::Lost));
    // One without a turn has nothing to lose.
    assert!(table.begin_turn("empty").is_ok());
    table.create("b".into(), "pocket", limits(2), 0, 0).unwrap();
    assert_eq!(table.delete("a").unwrap().states, []);
}

#[test]
fn a_rollback_lets_go_of_what_came_after_and_a_fork_keeps_it() {
    let mut table = with_one();
    answered(&mut table, "a", 1, 0);
    answered(&mut table, "a", 2, 0);
    table.fork("a", "b".into(), 0, 0).unwrap();
    assert_eq!(table.roll_back("a", 1, 0).unwrap().1, []);
    assert_eq!(table.roll_back("a", 2, 0).err(), Some(DroneError::NoSuchTurn { asked: 2, turns: 1 }));
    assert_eq!(table.begin_turn("a").unwrap().base, Some(StateId(1)));
    assert_eq!(table.roll_back("a", 0, 0).err(), Some(DroneError::Busy));
    assert_eq!(table.roll_back("b", 0, 0).unwrap().1, [StateId(2)]);
    assert_eq!(table.delete("a").unwrap().states, [StateId(1)]);
    assert_eq!(table.begin_turn("b").unwrap().base, None);
}

#[test]
fn whatever_happens_each_state_is_let_go_of_once_and_when_nobody_stands_on_it() {
    let mut chance = fastrand::Rng::with_seed(9);
    let mut table = table(4);
    let (mut now_ms, mut last, mut generation) = (0, 0, 1);
    let mut running: Vec<(String, u64)> = Vec::new();
    let mut kept: BTreeSet<u64> = BTreeSet::new();
    for round in 0..200_000_u64 {
        now_ms += chance.u64(0..400);
        let id = chance.u8(0..6).to_string();
        let mut gone: Vec<StateId> = Vec::new();
        match chance.u8(0..12) {
            0 | 1 if table.find(&id).is_err() => {
                drop(table.create(id, "pocket", limits(4), round, now_ms));
            }
            2..=4 => {
                if let Ok(begun) = table.begin_turn(&id) {
                    assert!(
                        begun.base.is_none_or(|state| kept.contains(&state.0)),
                        "a turn stands on kept state"
                    );
                    running.push((id, begun.number));
                }
            }
            5 | 6 if !running.is_empty() => {
                let (id, number) = running.swap_remove(chance.usize(0..running.len()));
                last += 1;
                match table.answered(&id, number, turn(last), generation, now_ms) {
                    Ok(_) => assert!(kept.insert(last)),
                    Err(state) => assert_eq!(state, StateId(last)),
                }
            }
            7 if !running.is_empty() => {
                let (id, number) = running.swap_remove(chance.usize(0..running.len()));
                table.failed(&id, number, now_ms);
            }
            8 => {
                if let Ok((_, states)) = table.roll_back(&id, chance.u64(0..5), now_ms) {
                    gone = states;
                }
            }
            9 if table.find("f").is_err() => drop(table.fork(&id, "f".into(), round, now_ms)),
            10 => {
                if let Ok(released) = table.delete(if chance.bool() { "f" } else { &id }) {
                    gone = released.states;
                }
            }
            11 if chance.u8(0..20) == 0 => {
                generation += 1;
                running.drain(..).for_each(|(id, number)| table.failed(&id, number, now_ms));
                table.lose(|_| Some(generation));
                kept.clear();
            }
            _ => gone = table.reap(now_ms).into_iter().flat_map(|released| released.states).collect(),
        }
        for state in gone {
            assert!(kept.remove(&state.0), "{state:?} is let go of once");
        }
        let used: BTreeSet<u64> = table
            .iter()
            .filter(|drone| drone.stage != Stage::Lost)
            .flat_map(|drone| &drone.turns)
            .map(|turn| turn.state.0)
            .collect();
        assert_eq!(used, kept);
    }
}
