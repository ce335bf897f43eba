//! All sessions and what may happen to them. It names no clock and no worker: the time comes in as milliseconds
//! since the service began, and the number of the worker's process as a figure.

use std::collections::{BTreeMap, HashMap, VecDeque};

use hangar_protocol::StateId;

use super::DroneError;
use super::drone::{Begun, Drone, Released, Stage, Turn};
use super::policy::Policy;

/// Ended sessions whose end is remembered, so that they are told apart from those that never were.
const REMEMBERED: usize = 1000;

/// All sessions.
#[derive(Debug)]
pub(crate) struct Table<S> {
    most: u32,
    live: BTreeMap<String, Drone<S>>,
    expired: VecDeque<(String, u64)>,
    /// How many sessions stand on a state.
    users: HashMap<StateId, u32>,
    last_turn: u64,
}

impl<S: Clone> Table<S> {
    /// No sessions, and at most so many at once.
    pub(crate) fn new(most: u32) -> Self {
        Self { most, live: BTreeMap::new(), expired: VecDeque::new(), users: HashMap::new(), last_turn: 0 }
    }

    /// Every session, by id.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &Drone<S>> {
        self.live.values()
    }

    /// Begins a session under a new id.
    ///
    /// # Errors
    /// [`DroneError::Limit`]; no other session goes for it.
    pub(crate) fn create(
        &mut self,
        id: String,
        setup: S,
        policy: Policy,
        created_at: u64,
        now_ms: u64,
    ) -> Result<&Drone<S>, DroneError> {
        self.check_room()?;
        let (turns, generation, stage) = (Vec::new(), None, Stage::Idle);
        let drone =
            Drone { id: id.clone(), setup, policy, created_at, active_ms: now_ms, turns, generation, stage };
        self.live.insert(id.clone(), drone);
        self.find(&id)
    }

    /// One session.
    ///
    /// # Errors
    /// [`DroneError::NotFound`] or [`DroneError::Expired`].
    pub(crate) fn find(&self, id: &str) -> Result<&Drone<S>, DroneError> {
        self.live.get(id).ok_or_else(|| self.missing(id))
    }

    /// Begins a turn: from here to its end no other may.
    ///
    /// # Errors
    /// What is in the way.
    pub(crate) fn begin_turn(&mut self, id: &str) -> Result<Begun<S>, DroneError> {
        let number = self.last_turn + 1;
        let missing = self.missing(id);
        let drone = self.live.get_mut(id).ok_or(missing)?;
        drone.check_idle()?;
        let most = drone.policy.max_turns;
        let turn_index = u32::try_from(drone.turns.len()).unwrap_or(u32::MAX).saturating_add(1);
        if turn_index > most {
            return Err(DroneError::TurnsUsedUp { most });
        }
        drone.stage = Stage::Turning(number);
        self.last_turn = number;
        let last = drone.turns.last();
        Ok(Begun {
            number,
            setup: drone.setup.clone(),
            policy: drone.policy.clone(),
            turn_index,
            base: last.map(|turn| turn.state),
            held_tokens: last.map_or(0, |turn| turn.kept.context_tokens),
            calls: last.map(|turn| turn.calls.clone()).unwrap_or_default(),
        })
    }

    /// Ends a turn that was answered by this worker process; the state of one whose session is gone comes back.
    pub(crate) fn answered(
        &mut self,
        id: &str,
        number: u64,
        turn: Turn,
        generation: u64,
        now_ms: u64,
    ) -> Result<&Drone<S>, StateId> {
        let state = turn.state;
        let Some(drone) = self.live.get_mut(id).filter(|drone| drone.stage == Stage::Turning(number)) else {
            return Err(state);
        };
        drone.turns.push(turn);
        drone.generation = Some(generation);
        drone.stage = Stage::Idle;
        drone.active_ms = now_ms;
        self.users.insert(state, 1);
        Ok(drone)
    }

    /// Ends a turn that was not answered: the session is as it was before, but for its time.
    pub(crate) fn failed(&mut self, id: &str, number: u64, now_ms: u64) {
        if let Some(drone) = self.live.get_mut(id)
            && drone.stage == Stage::Turning(number)
        {
            drone.stage = Stage::Idle;
            drone.active_ms = now_ms;
        }
    }

    /// Gives a session its whole time again.
    ///
    /// # Errors
    /// As [`Self::find`].
    pub(crate) fn touch(&mut self, id: &str, now_ms: u64) -> Result<&Drone<S>, DroneError> {
        let missing = self.missing(id);
        let drone = self.live.get_mut(id).ok_or(missing)?;
        drone.active_ms = now_ms;
        Ok(drone)
    }

    /// Forgets what came after that many turns.
    ///
    /// # Errors
    /// [`DroneError::NoSuchTurn`], or that the session is not idle.
    pub(crate) fn roll_back(
        &mut self,
        id: &str,
        to_turn: u64,
        now_ms: u64,
    ) -> Result<(&Drone<S>, Vec<StateId>), DroneError> {
        let missing = self.missing(id);
        let drone = self.live.get_mut(id).ok_or(missing)?;
        drone.check_idle()?;
        let turns = u32::try_from(drone.turns.len()).unwrap_or(u32::MAX);
        let keep = usize::try_from(to_turn).ok().filter(|keep| *keep <= drone.turns.len());
        let keep = keep.ok_or(DroneError::NoSuchTurn { asked: to_turn, turns })?;
        let gone: Vec<StateId> = drone.turns.split_off(keep).into_iter().map(|turn| turn.state).collect();
        drone.active_ms = now_ms;
        let states = unused(&mut self.users, gone);
        Ok((self.find(id)?, states))
    }

    /// Begins another session that has everything of this one.
    ///
    /// # Errors
    /// That there is no room, or the session is not idle.
    pub(crate) fn fork(
        &mut self,
        id: &str,
        new_id: String,
        created_at: u64,
        now_ms: u64,
    ) -> Result<&Drone<S>, DroneError> {
        self.find(id)?.check_idle()?;
        self.check_room()?;
        let fork = Drone { id: new_id.clone(), created_at, active_ms: now_ms, ..self.find(id)?.clone() };
        for turn in &fork.turns {
            *self.users.entry(turn.state).or_default() += 1;
        }
        self.live.insert(new_id.clone(), fork);
        self.find(&new_id)
    }

    /// Ends a session, whatever it is doing.
    ///
    /// # Errors
    /// As [`Self::find`].
    pub(crate) fn delete(&mut self, id: &str) -> Result<Released<S>, DroneError> {
        let drone = self.live.remove(id).ok_or_else(|| self.missing(id))?;
        Ok(self.release(drone))
    }

    /// Ends every session whose time is over; one whose turn runs has time until its end.
    pub(crate) fn reap(&mut self, now_ms: u64) -> Vec<Released<S>> {
        let over =
            |drone: &Drone<S>| !matches!(drone.stage, Stage::Turning(_)) && now_ms >= drone.expires_ms();
        let ids: Vec<String> =
            self.live.values().filter(|drone| over(drone)).map(|drone| drone.id.clone()).collect();
        let mut released = Vec::new();
        for id in ids {
            if let Some(drone) = self.live.remove(&id) {
                self.expired.truncate(REMEMBERED - 1);
                self.expired.push_front((id, drone.policy.ttl_ms().div_ceil(1000)));
                released.push(self.release(drone));
            }
        }
        released
    }

    /// The process that is there now has none of the state of an earlier one: idle sessions that stood on that
    /// are lost. `now` tells the process of a setup, and none where there is none.
    pub(crate) fn lose(&mut self, now: impl Fn(&S) -> Option<u64>) {
        for drone in self.live.values_mut() {
            let is_gone = drone.generation.is_some() && drone.generation != now(&drone.setup);
            if drone.stage == Stage::Idle && !drone.turns.is_empty() && is_gone {
                drone.stage = Stage::Lost;
                for turn in &drone.turns {
                    self.users.remove(&turn.state);
                }
            }
        }
    }

    fn check_room(&self) -> Result<(), DroneError> {
        let live = self.live.values().filter(|drone| drone.stage != Stage::Lost).count();
        if u32::try_from(live).is_ok_and(|live| live < self.most) {
            Ok(())
        } else {
            Err(DroneError::Limit { most: self.most })
        }
    }

    fn release(&mut self, drone: Drone<S>) -> Released<S> {
        let states = drone.turns.into_iter().map(|turn| turn.state).collect();
        Released { setup: drone.setup, states: unused(&mut self.users, states) }
    }

    fn missing(&self, id: &str) -> DroneError {
        match self.expired.iter().find(|(expired, _)| expired == id) {
            Some((_, ttl_s)) => DroneError::Expired { ttl_s: *ttl_s },
            None => DroneError::NotFound { id: id.chars().take(60).collect() },
        }
    }
}

/// Of these, the states that no session stands on any more.
fn unused(users: &mut HashMap<StateId, u32>, states: Vec<StateId>) -> Vec<StateId> {
    let mut gone = Vec::new();
    for state in states {
        let Some(count) = users.get_mut(&state) else { continue };
        *count -= 1;
        if *count == 0 {
            users.remove(&state);
            gone.push(state);
        }
    }
    gone
}

#[cfg(test)]
mod tests;
