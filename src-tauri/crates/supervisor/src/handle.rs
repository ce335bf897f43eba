//! What callers hold: ask for an answer, look at the worker, command it.

use std::sync::Arc;

use hangar_governor::memory::{self, MemoryProbe};
use hangar_governor::power::{self, Wakefulness};
use hangar_protocol::{Finished, MemoryUse, Phase, Pieces, ProbeReport, Prompt, Sampling, StateId};
use tokio::sync::{mpsc, oneshot, watch};

use crate::task::{Order, Task};
use crate::{DispatchError, Launch, Limits, LoadOrder, Snapshot};

/// Orders that may wait for the task; it never awaits anything but them, so this hardly fills.
const WAITING_ORDERS: usize = 256;
/// Events a slow reader may be behind before its request is cancelled.
pub(crate) const REPLY_EVENTS: usize = 4096;

/// One prompt to answer.
#[derive(Clone, Debug, PartialEq)]
pub struct Job {
    /// The rendered prompt.
    pub prompt: Prompt,
    /// How tokens are chosen.
    pub sampling: Sampling,
    /// Most tokens to generate.
    pub max_tokens: u32,
    /// The kept state that it goes on from.
    pub base: Option<StateId>,
    /// The number under which the state after the answer is kept.
    pub keep: Option<StateId>,
}

/// Holds off the idle unload, and any unload without force, until it is dropped.
#[derive(Debug)]
pub struct Hold {
    _dropped: oneshot::Sender<()>,
}

/// An answer as it comes; dropping it cancels the request.
#[derive(Debug)]
pub struct Reply {
    /// `Queued` and `Loading` while it waits, then `Progress`, `Accepted` and `Pieces`, then exactly one
    /// `Finished`, `Probed` or `Failed`. A slow reader may miss `Queued`, `Loading` and `Progress`, no others.
    pub events: mpsc::Receiver<ReplyEvent>,
}

/// One event of an answer.
#[derive(Clone, Debug, PartialEq)]
pub enum ReplyEvent {
    /// The request waits; told at once and whenever its place changes.
    Queued {
        /// 1 is the next to run.
        position: u32,
    },
    /// The request waits for a model that is being loaded.
    Loading(LoadProgress),
    /// The worker is reading the prompt.
    Progress(PrefillProgress),
    /// The worker read the prompt, and it fits.
    Accepted(Start),
    /// Newly generated output.
    Pieces(Pieces),
    /// The answer ended in order.
    Finished {
        /// Counts and times.
        finished: Finished,
        /// The process that answered.
        ran_on: RanOn,
    },
    /// A probe's result.
    Probed(ProbeReport),
    /// The answer ended with an error.
    Failed {
        /// Why.
        error: DispatchError,
        /// The process that had the request, if one had.
        ran_on: Option<RanOn>,
    },
}

/// The process that a request ran on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RanOn {
    /// Number of the process: rises with every start.
    pub generation: u64,
    /// Its process id.
    pub pid: Option<u32>,
    /// Memory the engine held when it got the request.
    pub memory_before: Option<MemoryUse>,
}

/// How far loading is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LoadProgress {
    /// What the worker says that it does; none before its first beat.
    pub phase: Option<Phase>,
    /// Steps done in that phase.
    pub done: u64,
    /// Steps to do in that phase, 0 where unknown.
    pub total: u64,
    /// Since the process was started, in milliseconds.
    pub elapsed_ms: u64,
}

impl LoadProgress {
    /// Whether it is worth telling: another step, or another second.
    pub(crate) fn is_news_after(self, told: Self) -> bool {
        let moved = (self.phase, self.done, self.total) != (told.phase, told.done, told.total);
        moved || self.elapsed_ms >= told.elapsed_ms + 1_000
    }
}

/// How far a prompt is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PrefillProgress {
    /// Tokens read, those from a cache included.
    pub processed_tokens: u64,
    /// Tokens of the prompt; 0 while it is still being tokenised.
    pub total_tokens: u64,
    /// Of these, reused from a cache.
    pub cached_tokens: u64,
    /// Since the worker got the request, in milliseconds.
    pub elapsed_ms: u64,
}

/// How an answer began.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Start {
    /// Tokens of the whole prompt.
    pub prompt_tokens: u32,
    /// Of these, reused from a cache.
    pub cached_tokens: u32,
    /// From arrival to dispatch, loading not counted.
    pub queue_wait_ms: f64,
    /// Part of the wait in which the model was being loaded.
    pub load_ms: f64,
    /// The process that answers.
    pub ran_on: RanOn,
}

/// Memory as it was read.
#[derive(Clone, Copy, Debug, Default)]
struct Readings {
    process_bytes: Option<u64>,
    available_bytes: Option<u64>,
}

/// Which requests an unload may end; they end as cancelled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reach {
    /// None: a worker that somebody waits for, or that is held, is not unloaded.
    Idle,
    /// The running one and all that wait.
    Everything,
}

/// Result of an unload: the process is reaped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unloaded {
    /// Process that was ended, if there was one.
    pub old_pid: Option<u32>,
    /// Memory of that process when it was asked to end, in bytes; none where it cannot be measured.
    pub resident_before_bytes: Option<u64>,
    /// Memory that came back with its end, in bytes; none where it cannot be measured.
    pub freed_bytes: Option<u64>,
}

/// Result of a restart: the new worker is ready.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Restarted {
    /// Process before.
    pub old_pid: Option<u32>,
    /// Process now.
    pub new_pid: Option<u32>,
    /// From the command to readiness.
    pub startup_ms: u64,
}

/// Handle of one worker's task; clones share it.
#[derive(Clone, Debug)]
pub struct WorkerHandle {
    orders: mpsc::Sender<Order>,
    snapshots: watch::Receiver<Arc<Snapshot>>,
    memory: Arc<dyn MemoryProbe>,
}

/// The machine that a worker runs on, as far as the supervisor asks it for anything.
#[derive(Clone, Debug)]
pub struct Host {
    /// Reads memory.
    pub memory: Arc<dyn MemoryProbe>,
    /// Holds off naps and sleep.
    pub wakefulness: Arc<dyn Wakefulness>,
}

impl Host {
    /// This machine.
    pub fn system() -> Self {
        Self { memory: memory::system(), wakefulness: power::system() }
    }
}

impl WorkerHandle {
    /// Starts the task; no process is started before the first demand.
    pub fn spawn(limits: Limits, order: LoadOrder, launcher: Arc<dyn Launch>) -> Self {
        Self::spawn_on(&Host::system(), limits, order, launcher)
    }

    /// The same on a machine whose memory and power are given.
    pub fn spawn_on(host: &Host, limits: Limits, order: LoadOrder, launcher: Arc<dyn Launch>) -> Self {
        let (orders, waiting) = mpsc::channel(WAITING_ORDERS);
        let (publisher, snapshots) = watch::channel(Arc::new(Snapshot::unloaded(&limits)));
        let (task, children) = Task::new(host, limits, order, launcher, publisher, orders.downgrade());
        tokio::spawn(task.run(waiting, children));
        Self { orders, snapshots, memory: Arc::clone(&host.memory) }
    }

    /// The latest look at the worker; never waits.
    pub fn snapshot(&self) -> Arc<Snapshot> {
        self.snapshots.borrow().clone()
    }

    /// Follows the snapshots.
    pub fn subscribe(&self) -> watch::Receiver<Arc<Snapshot>> {
        self.snapshots.clone()
    }

    /// Queues a prompt; returns once it waits or runs.
    ///
    /// # Errors
    /// Why it is refused now.
    pub async fn generate(&self, job: Job) -> Result<Reply, DispatchError> {
        self.demand(|events, taken| Order::Generate { job, events, taken }).await
    }

    /// Queues an exactness probe and waits for its report.
    ///
    /// # Errors
    /// Why there is no report.
    pub async fn probe(&self, prompt: Prompt) -> Result<ProbeReport, DispatchError> {
        let mut reply = self.demand(|events, taken| Order::Probe { prompt, events, taken }).await?;
        loop {
            match reply.events.recv().await {
                Some(ReplyEvent::Probed(report)) => return Ok(report),
                Some(ReplyEvent::Failed { error, .. }) => return Err(error),
                Some(
                    ReplyEvent::Queued { .. }
                    | ReplyEvent::Loading(_)
                    | ReplyEvent::Progress(_)
                    | ReplyEvent::Accepted(_)
                    | ReplyEvent::Pieces(_),
                ) => {}
                Some(ReplyEvent::Finished { .. }) => return Err(DispatchError::Cancelled),
                None => return Err(DispatchError::ShuttingDown),
            }
        }
    }

    /// Keeps the worker loaded, once it is, for state that is worth more than its memory.
    pub async fn hold(&self) -> Hold {
        let (dropped, released) = oneshot::channel::<()>();
        let orders = self.orders.downgrade();
        drop(self.orders.send(Order::Hold).await);
        tokio::spawn(async move {
            drop(released.await);
            if let Some(orders) = orders.upgrade() {
                drop(orders.send(Order::LetGo).await);
            }
        });
        Hold { _dropped: dropped }
    }

    /// Lets the worker drop kept states; a worker that does not have them does nothing.
    pub async fn forget(&self, states: Vec<StateId>) {
        drop(self.orders.send(Order::Forget(states)).await);
    }

    /// Ends the process; answered when it is reaped.
    ///
    /// # Errors
    /// [`DispatchError::UnloadRefused`] while a request runs or the worker is held, and it reaches none.
    pub async fn unload(&self, reach: Reach) -> Result<Unloaded, DispatchError> {
        let old_pid = self.snapshot().pid;
        let before = self.readings(old_pid).await;
        self.settle(|settled| Order::Unload { reach, settled }).await?;
        let after = self.readings(None).await;
        let resident_before_bytes = before.process_bytes;
        let freed_bytes =
            memory::freed_bytes(resident_before_bytes, before.available_bytes, after.available_bytes);
        tracing::info!(old_pid, resident_before_bytes, freed_bytes, "worker is unloaded");
        Ok(Unloaded { old_pid, resident_before_bytes, freed_bytes })
    }

    /// Ends the process if there is one and starts a new one; answered when it is ready.
    ///
    /// # Errors
    /// Why the new one did not get ready.
    pub async fn restart(&self) -> Result<Restarted, DispatchError> {
        let begun = tokio::time::Instant::now();
        let old_pid = self.snapshot().pid;
        self.settle(|settled| Order::Restart { settled }).await?;
        let startup_ms = u64::try_from(begun.elapsed().as_millis()).unwrap_or(u64::MAX);
        Ok(Restarted { old_pid, new_pid: self.snapshot().pid, startup_ms })
    }

    /// Ends the worker for good; returns when its process is reaped.
    pub async fn shutdown(&self) {
        let (settled, done) = oneshot::channel();
        if self.orders.send(Order::Shutdown { settled }).await.is_ok() {
            drop(done.await);
        }
    }

    /// Reads memory without holding up anybody else.
    async fn readings(&self, pid: Option<u32>) -> Readings {
        let probe = Arc::clone(&self.memory);
        let read = move || Readings {
            process_bytes: pid.and_then(|pid| probe.process_bytes(pid)),
            available_bytes: probe.available_bytes(),
        };
        tokio::task::spawn_blocking(read).await.unwrap_or_default()
    }

    async fn demand(
        &self,
        order: impl FnOnce(mpsc::Sender<ReplyEvent>, oneshot::Sender<Result<(), DispatchError>>) -> Order,
    ) -> Result<Reply, DispatchError> {
        let (events, receiver) = mpsc::channel(REPLY_EVENTS);
        self.settle(|taken| order(events, taken)).await?;
        Ok(Reply { events: receiver })
    }

    async fn settle(
        &self,
        order: impl FnOnce(oneshot::Sender<Result<(), DispatchError>>) -> Order,
    ) -> Result<(), DispatchError> {
        let (settled, done) = oneshot::channel();
        self.orders.send(order(settled)).await.map_err(|_| DispatchError::ShuttingDown)?;
        done.await.map_err(|_| DispatchError::ShuttingDown)?
    }
}
