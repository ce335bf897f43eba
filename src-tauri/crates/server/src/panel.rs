//! Keeps what the page shows up to date, at most four times a second, and reads memory while it runs.

use std::sync::Arc;
use std::time::Duration;

use hangar_config::Settings;
use hangar_supervisor::{Snapshot, StateWord};
use sysinfo::{Pid, ProcessRefreshKind, ProcessesToUpdate, System};
use tokio::sync::watch;
use tokio::time::Instant;

use crate::app::unix_seconds;
use crate::flight::Flights;
use crate::served::{Bench, Look, Roster, Served};
use crate::views::{Fixed, HostedBy, PanelSnapshot, Readings};

/// Shortest time between two values: four a second.
const PAUSE: Duration = Duration::from_millis(250);
/// Time between two readings of memory.
const READ_MEMORY_EVERY: Duration = Duration::from_secs(2);

/// The latest value, and the task that makes it.
#[derive(Debug)]
pub(crate) struct Panel {
    latest: watch::Receiver<Arc<PanelSnapshot>>,
}

impl Panel {
    pub(crate) fn new(
        settings: &Settings,
        port: u16,
        started_at: u64,
        hosted_by: HostedBy,
        roster: Roster,
        flights: Flights,
    ) -> Self {
        let fixed = Fixed::new(settings, port, started_at, hosted_by);
        let mut maker = Maker {
            roster,
            flights,
            state: None,
            since: started_at,
            next_start_at: None,
            memory: Memory::default(),
        };
        let (sender, latest) = watch::channel(Arc::new(maker.look(&fixed)));
        tokio::spawn(async move { maker.run(&fixed, &sender).await });
        Self { latest }
    }

    pub(crate) fn watch(&self) -> watch::Receiver<Arc<PanelSnapshot>> {
        self.latest.clone()
    }
}

struct Maker {
    roster: Roster,
    flights: Flights,
    state: Option<StateWord>,
    since: u64,
    next_start_at: Option<u64>,
    memory: Memory,
}

impl Maker {
    /// Ends when nobody can look any more, or a worker's task has ended.
    async fn run(&mut self, fixed: &Fixed, sender: &watch::Sender<Arc<PanelSnapshot>>) {
        let mut news: Vec<News> = self.roster.iter().map(News::of).collect();
        loop {
            let door = self.flights.door();
            let any = futures::future::select_all(news.iter_mut().map(|news| Box::pin(news.comes())));
            let changed = tokio::select! {
                (goes_on, _, _) = any => goes_on,
                () = self.flights.door_left(door) => true,
                () = tokio::time::sleep(READ_MEMORY_EVERY) => {
                    self.memory.read(self.roster.default().snapshot().pid);
                    true
                }
                () = sender.closed() => return,
            };
            let value = self.look(fixed);
            sender.send_if_modified(|current| {
                let differs = **current != value;
                if differs {
                    *current = Arc::new(value);
                }
                differs
            });
            if !changed {
                return;
            }
            tokio::time::sleep(PAUSE).await;
        }
    }

    fn look(&mut self, fixed: &Fixed) -> PanelSnapshot {
        let all: Vec<Look<'_>> = self.roster.iter().map(Served::look).collect();
        let snapshot = self.roster.default().snapshot();
        if self.state != Some(snapshot.state) {
            self.state = Some(snapshot.state);
            self.since = unix_seconds();
            self.next_start_at = next_start_at(&snapshot);
            self.memory.read(snapshot.pid);
        }
        let readings = Readings {
            waiting_since: waiting_since(&snapshot),
            door: self.flights.door(),
            since: self.since,
            next_start_at: self.next_start_at,
            server_bytes: self.memory.server_bytes,
            worker_bytes: self.memory.worker_bytes.filter(|_| snapshot.pid.is_some()),
        };
        PanelSnapshot::look(fixed, &all, &snapshot, readings)
    }
}

/// What is new about one profile: its worker is made, or says something.
struct News {
    benches: watch::Receiver<Option<Bench>>,
    snapshots: Option<watch::Receiver<Arc<Snapshot>>>,
}

impl News {
    fn of(served: &Served) -> Self {
        let benches = served.benches();
        let snapshots = benches.borrow().as_ref().map(|bench| bench.worker.subscribe());
        Self { benches, snapshots }
    }

    /// Waits; false once there will be nothing new.
    async fn comes(&mut self) -> bool {
        match &mut self.snapshots {
            Some(snapshots) => snapshots.changed().await.is_ok(),
            None => {
                let made = self.benches.changed().await.is_ok();
                self.snapshots = self.benches.borrow().as_ref().map(|bench| bench.worker.subscribe());
                made
            }
        }
    }
}

/// Resident memory of our two processes, in steps of a quarter megabyte so that breathing is no news.
#[derive(Default)]
struct Memory {
    system: Option<System>,
    server_bytes: Option<u64>,
    worker_bytes: Option<u64>,
}

impl Memory {
    const STEP_BYTES: u64 = 256 * 1024;

    fn read(&mut self, worker: Option<u32>) {
        let server = Pid::from_u32(std::process::id());
        let worker = worker.map(Pid::from_u32);
        let wanted: Vec<Pid> = [Some(server), worker].into_iter().flatten().collect();
        let system = self.system.get_or_insert_default();
        let kind = ProcessRefreshKind::nothing().with_memory();
        system.refresh_processes_specifics(ProcessesToUpdate::Some(&wanted), true, kind);
        let bytes = |pid: Option<Pid>| {
            let process = system.process(pid?)?;
            Some(process.memory() / Self::STEP_BYTES * Self::STEP_BYTES).filter(|bytes| *bytes > 0)
        };
        self.server_bytes = bytes(Some(server));
        self.worker_bytes = bytes(worker);
    }
}

fn next_start_at(snapshot: &Snapshot) -> Option<u64> {
    let left = snapshot.cooldown_until?.saturating_duration_since(Instant::now());
    Some(unix_seconds() + left.as_secs())
}

/// When each waiting request arrived, in unix seconds.
fn waiting_since(snapshot: &Snapshot) -> Vec<u64> {
    let (now, seconds) = (Instant::now(), unix_seconds());
    let since = |arrived: &Instant| seconds.saturating_sub(now.saturating_duration_since(*arrived).as_secs());
    snapshot.waiting_since.iter().map(since).collect()
}
