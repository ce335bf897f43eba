//! The sessions of a running service: the table with its clock, and what its changes mean for the workers.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use hangar_config::SessionSettings;
use hangar_gemma::Gate;
use hangar_protocol::{Sampling, StateId};
use hangar_supervisor::{Hold, StateWord};
use tokio::sync::watch;
use tokio::time::Instant;

use super::DroneError;
use super::drone::{Begun, Drone, Released, Stage, Turn};
use super::policy::Policy;
use super::table::Table;
use crate::app::unix_seconds;
use crate::chat::Asked;
use crate::ident;
use crate::served::Served;

/// What a session's creator settled for all its turns.
#[derive(Clone, Debug)]
pub(crate) struct Setup {
    /// The profile.
    pub(crate) served: Served,
    /// The operator's instructions.
    pub(crate) system: Option<String>,
    /// The tools, and which may be called.
    pub(crate) gate: Gate,
    /// Whether the model thinks.
    pub(crate) thinking: Asked,
    /// How tokens are chosen.
    pub(crate) sampling: Sampling,
}

/// A session as it is looked at, with the clocks of that moment.
pub(crate) struct Seen {
    /// The session.
    pub(crate) drone: Drone<Arc<Setup>>,
    /// Milliseconds since the service began.
    pub(crate) now_ms: u64,
    /// Unix seconds.
    pub(crate) unix_s: u64,
}

/// All sessions; clones are the same.
#[derive(Clone, Debug)]
pub(crate) struct Drones {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    began: Instant,
    table: Mutex<Table<Arc<Setup>>>,
    /// What the profiles were told of their sessions, by name.
    told: tokio::sync::Mutex<HashMap<String, Told>>,
    last_state: AtomicU64,
    /// Changes whenever a session ends.
    ended: watch::Sender<u64>,
}

/// What one profile was told of its sessions.
#[derive(Debug)]
struct Told {
    served: Served,
    live: u32,
    /// Whether any of them has state in its worker.
    bound: bool,
    /// Keeps that worker loaded.
    hold: Option<Hold>,
}

impl Told {
    fn new(served: Served) -> Self {
        Self { served, live: 0, bound: false, hold: None }
    }
}

/// A turn that runs; dropped without an answer it leaves its session as it was.
#[derive(Debug)]
pub(crate) struct Slot {
    drones: Drones,
    id: String,
    /// What the turn goes on from.
    pub(crate) begun: Begun<Arc<Setup>>,
    /// The number of the state at its end.
    pub(crate) keep: StateId,
    is_over: bool,
}

impl Drones {
    /// No sessions; those whose time is over are looked for now and then.
    pub(crate) fn new(settings: &SessionSettings) -> Self {
        let shared = Shared {
            began: Instant::now(),
            table: Mutex::new(Table::new(settings.max_sessions)),
            told: tokio::sync::Mutex::default(),
            last_state: AtomicU64::new(0),
            ended: watch::Sender::new(0),
        };
        let drones = Self { shared: Arc::new(shared) };
        let every = Duration::try_from_secs_f64(settings.reaper_interval_s).unwrap_or(Duration::from_secs(5));
        let reaper = Arc::downgrade(&drones.shared);
        tokio::spawn(async move {
            loop {
                tokio::time::sleep(every).await;
                let Some(shared) = reaper.upgrade() else { return };
                Self { shared }.settle().await;
            }
        });
        drones
    }

    /// Begins a session.
    pub(crate) async fn create(&self, setup: Setup, policy: Policy) -> Result<Seen, DroneError> {
        self.settle().await;
        let id = new_id();
        let drone = self.table().create(id, Arc::new(setup), policy, unix_seconds(), self.now_ms())?.clone();
        self.tell().await;
        Ok(self.seen(drone))
    }

    /// Every live session.
    pub(crate) async fn list(&self) -> Vec<Seen> {
        self.settle().await;
        let all: Vec<_> = self.table().iter().cloned().collect();
        all.into_iter().map(|drone| self.seen(drone)).collect()
    }

    /// One session.
    pub(crate) async fn find(&self, id: &str) -> Result<Seen, DroneError> {
        self.settle().await;
        let drone = self.table().find(id)?.clone();
        Ok(self.seen(drone))
    }

    /// Gives a session its whole time again.
    pub(crate) async fn touch(&self, id: &str) -> Result<Seen, DroneError> {
        self.settle().await;
        let drone = self.table().touch(id, self.now_ms())?.clone();
        Ok(self.seen(drone))
    }

    /// Takes a session back to the end of an earlier turn.
    pub(crate) async fn roll_back(&self, id: &str, to_turn: u64) -> Result<Seen, DroneError> {
        self.settle().await;
        let (drone, states) = {
            let mut table = self.table();
            let (drone, states) = table.roll_back(id, to_turn, self.now_ms())?;
            (drone.clone(), states)
        };
        self.release(vec![Released { setup: Arc::clone(&drone.setup), states }]).await;
        Ok(self.seen(drone))
    }

    /// Begins another session with everything of this one.
    pub(crate) async fn fork(&self, id: &str) -> Result<Seen, DroneError> {
        self.settle().await;
        let drone = self.table().fork(id, new_id(), unix_seconds(), self.now_ms())?.clone();
        self.tell().await;
        Ok(self.seen(drone))
    }

    /// Ends a session; a turn of it that runs is cancelled.
    pub(crate) async fn delete(&self, id: &str) -> Result<(), DroneError> {
        self.settle().await;
        let released = self.table().delete(id)?;
        self.release(vec![released]).await;
        Ok(())
    }

    /// Begins a turn.
    pub(crate) async fn begin_turn(&self, id: &str) -> Result<Slot, DroneError> {
        self.settle().await;
        let begun = self.table().begin_turn(id)?;
        let keep = StateId(self.shared.last_state.fetch_add(1, Ordering::Relaxed) + 1);
        Ok(Slot { drones: self.clone(), id: id.to_owned(), begun, keep, is_over: false })
    }

    /// Notices what time and the workers have done to the sessions.
    async fn settle(&self) {
        let released = {
            let mut table = self.table();
            table.lose(|setup| {
                let snapshot = setup.served.snapshot();
                matches!(snapshot.state, StateWord::Ready | StateWord::Busy).then_some(snapshot.generation)
            });
            table.reap(self.now_ms())
        };
        self.release(released).await;
    }

    async fn release(&self, released: Vec<Released<Arc<Setup>>>) {
        if !released.is_empty() {
            self.shared.ended.send_modify(|count| *count += 1);
        }
        for Released { setup, states } in released {
            if let Some(bench) = setup.served.known_bench()
                && !states.is_empty()
            {
                bench.worker.forget(states).await;
            }
        }
        self.tell().await;
    }

    /// A worker is held as long as a session has state in it, and its profile knows how many there are.
    async fn tell(&self) {
        let mut told = self.shared.told.lock().await;
        told.values_mut().for_each(|profile| (profile.live, profile.bound) = (0, false));
        for drone in self.table().iter().filter(|drone| drone.stage != Stage::Lost) {
            let served = &drone.setup.served;
            let profile = told.entry(served.id().to_owned()).or_insert_with(|| Told::new(served.clone()));
            profile.live += 1;
            profile.bound |= !drone.turns.is_empty();
        }
        for profile in told.values_mut() {
            profile.served.has_sessions(profile.live);
            if !profile.bound {
                profile.hold = None;
            } else if profile.hold.is_none()
                && let Some(bench) = profile.served.known_bench()
            {
                profile.hold = Some(bench.worker.hold().await);
            }
        }
    }

    fn seen(&self, drone: Drone<Arc<Setup>>) -> Seen {
        Seen { drone, now_ms: self.now_ms(), unix_s: unix_seconds() }
    }

    fn now_ms(&self) -> u64 {
        u64::try_from(self.shared.began.elapsed().as_millis()).unwrap_or(u64::MAX)
    }

    fn table(&self) -> MutexGuard<'_, Table<Arc<Setup>>> {
        self.shared.table.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Slot {
    /// The session's id.
    pub(crate) fn id(&self) -> &str {
        &self.id
    }

    /// Ends the turn with its answer.
    ///
    /// # Errors
    /// [`DroneError::NotFound`] when the session was deleted meanwhile.
    pub(crate) async fn answered(mut self, turn: Turn, generation: u64) -> Result<Seen, DroneError> {
        self.is_over = true;
        let drones = self.drones.clone();
        let setup = Arc::clone(&self.begun.setup);
        let ended =
            drones.table().answered(&self.id, self.begun.number, turn, generation, drones.now_ms()).cloned();
        match ended {
            Ok(drone) => {
                drones.tell().await;
                Ok(drones.seen(drone))
            }
            Err(state) => {
                drones.release(vec![Released { setup, states: vec![state] }]).await;
                Err(DroneError::NotFound { id: self.id.clone() })
            }
        }
    }

    /// Returns once the session is no longer there.
    pub(crate) async fn deleted(&self) {
        let mut ended = self.drones.shared.ended.subscribe();
        loop {
            let lives = self.drones.table().find(&self.id).is_ok();
            if !lives || ended.changed().await.is_err() {
                return;
            }
        }
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        if !self.is_over {
            let now_ms = self.drones.now_ms();
            self.drones.table().failed(&self.id, self.begun.number, now_ms);
        }
    }
}

/// 32 letters and digits: over 190 bits.
fn new_id() -> String {
    format!("sidr_{}", ident::secret(32))
}
