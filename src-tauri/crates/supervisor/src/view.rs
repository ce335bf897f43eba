//! What is published of a worker: the machine's state beside what the child said of itself.

use std::sync::Arc;
use std::time::Duration;

use hangar_protocol::{Beat, MemoryUse, ModelFacts, Phase, RequestId};
use tokio::sync::watch;
use tokio::time::Instant;

use crate::link::Link;
use crate::machine::{Doing, Machine};
use crate::requests::Requests;
use crate::{LastExit, Limits, Snapshot, StateWord};

/// What is known of the living child.
#[derive(Debug, Default)]
pub(crate) struct ChildView {
    pub(crate) link: Option<Link>,
    /// Asked to end before it was born.
    pub(crate) doomed: bool,
    pub(crate) model: Option<ModelFacts>,
    pub(crate) load_ms: Option<u64>,
    /// What it said last that it is doing.
    pub(crate) doing: Option<(Option<RequestId>, Doing)>,
    /// When the counters last moved.
    pub(crate) advanced_at: Option<Instant>,
    pub(crate) memory: Option<MemoryUse>,
}

impl ChildView {
    /// Takes what a beat says; whether anything moved since the last one.
    pub(crate) fn take(&mut self, beat: &Beat) -> bool {
        let now = Doing { phase: beat.phase, done: beat.done, total: beat.total, step: beat.step };
        let moved = self.doing.is_none_or(|(request, before)| {
            (request, before.phase) != (beat.request, now.phase) || now.done > before.done
        });
        self.doing = Some((beat.request, now));
        if moved {
            self.advanced_at = Some(Instant::now());
        }
        moved
    }
}

/// Makes snapshots and hands them out.
#[derive(Debug)]
pub(crate) struct Publisher {
    limits: Limits,
    snapshots: watch::Sender<Arc<Snapshot>>,
    idle_since: Option<Instant>,
    cooldown_until: Option<Instant>,
    last_exit: Option<LastExit>,
}

impl Publisher {
    pub(crate) fn new(limits: Limits, snapshots: watch::Sender<Arc<Snapshot>>) -> Self {
        Self { limits, snapshots, idle_since: None, cooldown_until: None, last_exit: None }
    }

    /// Until the next start in backoff, in milliseconds.
    pub(crate) fn cooldown_ms(&self) -> u64 {
        let left = self.cooldown_until.map(|until| until.saturating_duration_since(Instant::now()));
        u64::try_from(left.unwrap_or_default().as_millis()).unwrap_or(u64::MAX)
    }

    /// Keeps the latest end of a process.
    pub(crate) fn ended(&mut self, exit: LastExit) {
        self.last_exit = Some(exit);
    }

    /// Publishes what has changed since the last time.
    pub(crate) fn publish(&mut self, machine: &Machine, child: &ChildView, requests: &Requests) {
        let word = machine.word();
        self.follow(word, machine.backoff_ms());
        // Beats come twice a second; what the lifecycle knows better is not left to them.
        let (phase, phase_done, phase_total) = match (word, child.doing) {
            (StateWord::Ready, _) => (Some(Phase::Idle), 0, 0),
            (_, Some((_, Doing { phase, done, total, .. }))) => (Some(phase), done, total),
            (_, None) => (None, 0, 0),
        };
        let snapshot = Snapshot {
            state: word,
            pid: child.link.as_ref().map(|link| link.pid),
            generation: machine.generation().0,
            last_exit: self.last_exit.clone(),
            model: child.model.clone(),
            load_ms: child.load_ms,
            queue_depth: machine.queue_depth(),
            waiting_since: machine.waiting().filter_map(|id| requests.arrived(id)).collect(),
            queue_max_depth: self.limits.queue_max_depth,
            last_failure: machine.last_failure().cloned(),
            consecutive_failures: machine.failures(),
            cooldown_until: self.cooldown_until,
            idle_since: self.idle_since,
            phase,
            phase_done,
            phase_total,
            advanced_at: match word {
                StateWord::Loading | StateWord::Busy => child.advanced_at,
                StateWord::Unloaded
                | StateWord::Starting
                | StateWord::Ready
                | StateWord::Stopping
                | StateWord::Backoff
                | StateWord::Failed
                | StateWord::Closed => None,
            },
            memory: child.memory,
            counters: machine.counters(),
        };
        self.snapshots.send_if_modified(|current| {
            let changed = **current != snapshot;
            if changed {
                *current = Arc::new(snapshot);
            }
            changed
        });
    }

    fn follow(&mut self, word: StateWord, backoff_ms: u64) {
        let before = self.snapshots.borrow().state;
        self.idle_since = match (word, self.idle_since) {
            (StateWord::Ready, None) => Some(Instant::now()),
            (StateWord::Ready, since) => since,
            (_, _) => None,
        };
        self.cooldown_until = match (word, before, self.cooldown_until) {
            (StateWord::Backoff, StateWord::Backoff, Some(until)) => Some(until),
            (StateWord::Backoff, _, _) => Some(Instant::now() + Duration::from_millis(backoff_ms)),
            (_, _, _) => None,
        };
    }
}
