//! The task around the machine: it owns time, the pipe and the child, and carries out effects.
//!
//! Nothing here awaits anything but the next happening, so a slow client or worker cannot stall a command.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use hangar_protocol::{
    Cancel, FromWorker, Generate, Load, MemoryUse, ModelFacts, Phase, Probe, Prompt, RequestId, ToWorker,
};
use tokio::sync::{mpsc, oneshot, watch};
use tokio::time::Instant;

use crate::link::{ChildEvent, Link, start};
use crate::machine::{Effect, Event, Generation, Machine, Outcome, RequestEnd, Ticket};
use crate::timers::Timers;
use crate::{DispatchError, Job, Launch, Limits, LoadOrder, ReplyEvent, Snapshot, Start, StateWord};

/// Events a child may be ahead of the task.
const CHILD_EVENTS: usize = 1024;

type Settled = oneshot::Sender<Result<(), DispatchError>>;

/// What a handle asks for.
#[derive(Debug)]
pub(crate) enum Order {
    Generate {
        job: Job,
        events: mpsc::Sender<ReplyEvent>,
        taken: Settled,
    },
    Probe {
        prompt: Prompt,
        events: mpsc::Sender<ReplyEvent>,
        taken: Settled,
    },
    Unload {
        force: bool,
        settled: Settled,
    },
    Restart {
        settled: Settled,
    },
    Shutdown {
        settled: Settled,
    },
    Gone(RequestId),
}

#[derive(Debug)]
enum Work {
    Generate(Job),
    Probe(Prompt),
    Sent,
}

#[derive(Debug)]
struct Request {
    work: Work,
    events: mpsc::Sender<ReplyEvent>,
    taken: Option<Settled>,
    arrived: Instant,
    waited: Option<(f64, f64)>,
    /// Dropped with the request, which ends its watcher.
    _watch: oneshot::Sender<()>,
}

/// What is known of the living child.
#[derive(Debug, Default)]
struct ChildView {
    link: Option<Link>,
    /// Asked to end before it was born.
    doomed: bool,
    model: Option<ModelFacts>,
    load_ms: Option<u64>,
    phase: Option<(Phase, u64, u64)>,
    memory: Option<MemoryUse>,
}

pub(crate) struct Task {
    machine: Machine,
    timers: Timers,
    limits: Limits,
    order: LoadOrder,
    launcher: Arc<dyn Launch>,
    publisher: watch::Sender<Arc<Snapshot>>,
    orders: mpsc::WeakSender<Order>,
    requests: HashMap<RequestId, Request>,
    tickets: HashMap<Ticket, Settled>,
    closers: Vec<Settled>,
    last_number: u64,
    child: ChildView,
    child_events: mpsc::Sender<(Generation, ChildEvent)>,
    load_begun: Option<Instant>,
    load_ended: Option<Instant>,
    idle_since: Option<Instant>,
    cooldown_until: Option<Instant>,
    children: Option<mpsc::Receiver<(Generation, ChildEvent)>>,
}

impl Task {
    pub(crate) fn new(
        limits: Limits,
        order: LoadOrder,
        launcher: Arc<dyn Launch>,
        publisher: watch::Sender<Arc<Snapshot>>,
        orders: mpsc::Sender<Order>,
    ) -> Self {
        let (child_events, children) = mpsc::channel(CHILD_EVENTS);
        Self {
            machine: Machine::new(limits),
            timers: Timers::default(),
            limits,
            order,
            launcher,
            publisher,
            orders: orders.downgrade(),
            requests: HashMap::new(),
            tickets: HashMap::new(),
            closers: Vec::new(),
            last_number: 0,
            child: ChildView::default(),
            child_events,
            load_begun: None,
            load_ended: None,
            idle_since: None,
            cooldown_until: None,
            children: Some(children),
        }
    }

    pub(crate) async fn run(mut self, mut orders: mpsc::Receiver<Order>) {
        let Some(mut children) = self.children.take() else {
            return;
        };
        let mut abandoned = false;
        while self.machine.word() != StateWord::Closed {
            let next = self.timers.next();
            tokio::select! {
                order = orders.recv(), if !abandoned => match order {
                    Some(order) => self.take_order(order),
                    None => {
                        abandoned = true;
                        self.step(Event::Shutdown);
                    }
                },
                Some((generation, event)) = children.recv() => self.child_said(generation, event),
                () = until(next) => {
                    while let Some(timer) = self.timers.take_due(Instant::now()) {
                        self.step(Event::TimerFired(timer));
                    }
                }
            }
            self.publish();
        }
        for settled in self.closers.drain(..) {
            drop(settled.send(Ok(())));
        }
    }

    fn take_order(&mut self, order: Order) {
        match order {
            Order::Generate { job, events, taken } => self.demand(Work::Generate(job), events, taken),
            Order::Probe {
                prompt,
                events,
                taken,
            } => self.demand(Work::Probe(prompt), events, taken),
            Order::Unload { force, settled } => {
                let ticket = self.ticket(settled);
                self.step(Event::Unload { ticket, force });
            }
            Order::Restart { settled } => {
                let ticket = self.ticket(settled);
                self.step(Event::Restart { ticket });
            }
            Order::Shutdown { settled } => {
                self.closers.push(settled);
                self.step(Event::Shutdown);
            }
            Order::Gone(request) => self.step(Event::Cancel(request)),
        }
    }

    fn demand(&mut self, work: Work, events: mpsc::Sender<ReplyEvent>, taken: Settled) {
        let id = RequestId(self.number());
        let (watch, watched) = oneshot::channel();
        tokio::spawn(watch_client(id, events.clone(), watched, self.orders.clone()));
        let arrived = Instant::now();
        self.requests.insert(
            id,
            Request {
                work,
                events,
                taken: Some(taken),
                arrived,
                waited: None,
                _watch: watch,
            },
        );
        self.step(Event::Demand(id));
        if let Some(taken) = self
            .requests
            .get_mut(&id)
            .and_then(|request| request.taken.take())
        {
            drop(taken.send(Ok(())));
        }
    }

    fn child_said(&mut self, generation: Generation, event: ChildEvent) {
        match event {
            ChildEvent::Born(link) => {
                tracing::info!(
                    pid = link.pid,
                    generation = generation.0,
                    "worker process started"
                );
                if self.child.doomed {
                    link.kill();
                }
                self.child.link = Some(link);
            }
            ChildEvent::Unborn(cause) => self.step(Event::SpawnFailed { generation, cause }),
            ChildEvent::Frame(frame) => self.frame(generation, frame),
            ChildEvent::Broken(what) => self.step(Event::ProtocolBroken { generation, what }),
            ChildEvent::Exited { status, stderr_tail } => {
                tracing::info!(generation = generation.0, status, "worker process ended");
                self.child = ChildView::default();
                self.step(Event::Exited {
                    generation,
                    status,
                    stderr_tail,
                });
            }
        }
    }

    fn frame(&mut self, generation: Generation, frame: FromWorker) {
        match frame {
            FromWorker::Hello(hello) => {
                self.step(Event::Hello {
                    generation,
                    protocol: hello.protocol,
                    verdict: hello.verdict,
                });
            }
            FromWorker::Beat(beat) => self.child.phase = Some((beat.phase, beat.done, beat.total)),
            FromWorker::Loaded(loaded) => {
                self.load_ended = Some(Instant::now());
                self.child.model = Some(loaded.model);
                self.child.load_ms = Some(loaded.load_ms);
                self.child.memory = Some(loaded.memory);
                self.step(Event::Loaded { generation });
            }
            FromWorker::LoadFailed(failed) => self.step(Event::LoadFailed {
                generation,
                fault: failed.fault,
            }),
            FromWorker::Accepted(accepted) => {
                if let Some(request) = self.requests.get(&accepted.request) {
                    let (queue_wait_ms, load_ms) = request.waited.unwrap_or_default();
                    let start = Start {
                        prompt_tokens: accepted.prompt_tokens,
                        cached_tokens: accepted.cached_tokens,
                        queue_wait_ms,
                        load_ms,
                    };
                    self.reply(accepted.request, ReplyEvent::Accepted(start));
                }
            }
            FromWorker::Pieces(pieces) => self.reply(pieces.request, ReplyEvent::Pieces(pieces.pieces)),
            FromWorker::Finished(finished) => {
                self.child.memory = Some(finished.memory);
                let request = finished.request;
                self.step(Event::Ended {
                    generation,
                    request,
                    end: RequestEnd::Finished(finished),
                });
            }
            FromWorker::Failed(failed) => {
                let end = RequestEnd::Faulted(failed.fault);
                self.step(Event::Ended {
                    generation,
                    request: failed.request,
                    end,
                });
            }
            FromWorker::Probed(probed) => {
                let end = RequestEnd::Probed(probed.report);
                self.step(Event::Ended {
                    generation,
                    request: probed.request,
                    end,
                });
            }
            FromWorker::Pong(_) => {}
        }
    }

    /// Publishes before it answers anybody: whoever was answered sees the state that follows.
    fn step(&mut self, event: Event) {
        let effects = self.machine.step(event);
        self.publish();
        for effect in effects {
            self.carry_out(effect);
        }
        self.timers.prune(&self.machine);
    }

    fn carry_out(&mut self, effect: Effect) {
        match effect {
            Effect::Spawn(generation) => self.spawn_child(generation),
            Effect::SendLoad => self.send(ToWorker::Load(Load {
                model_dir: self.order.model_dir.display().to_string(),
                context_window_tokens: self.order.context_window_tokens,
                prefill_chunk_tokens: self.order.prefill_chunk_tokens,
            })),
            Effect::Dispatch(request) => self.dispatch(request),
            Effect::SendCancel(request) => self.send(ToWorker::Cancel(Cancel { request })),
            Effect::Terminate => match &self.child.link {
                Some(_) => self.send(ToWorker::Shutdown),
                None => self.child.doomed = true,
            },
            Effect::Kill => match &self.child.link {
                Some(link) => link.kill(),
                None => self.child.doomed = true,
            },
            Effect::Arm { timer, after_ms } => {
                self.timers
                    .arm(timer, Instant::now() + Duration::from_millis(after_ms));
            }
            Effect::Complete { request, outcome } => self.complete(request, outcome),
            Effect::Settle { ticket, result } => {
                if let Some(settled) = self.tickets.remove(&ticket) {
                    drop(settled.send(result));
                }
            }
        }
    }

    fn spawn_child(&mut self, generation: Generation) {
        self.child = ChildView::default();
        self.load_begun = Some(Instant::now());
        self.load_ended = None;
        tokio::spawn(start(
            Arc::clone(&self.launcher),
            generation,
            self.child_events.clone(),
        ));
    }

    fn dispatch(&mut self, id: RequestId) {
        let Some(request) = self.requests.get_mut(&id) else {
            return;
        };
        let now = Instant::now();
        let total = now - request.arrived;
        let loading = match (self.load_begun, self.load_ended) {
            (Some(begun), Some(ended)) => ended.saturating_duration_since(begun.max(request.arrived)),
            _ => Duration::ZERO,
        };
        request.waited = Some((milliseconds(total.saturating_sub(loading)), milliseconds(loading)));
        let frame = match std::mem::replace(&mut request.work, Work::Sent) {
            Work::Generate(job) => ToWorker::Generate(Generate {
                request: id,
                prompt: job.prompt,
                sampling: job.sampling,
                max_tokens: job.max_tokens,
            }),
            Work::Probe(prompt) => ToWorker::Probe(Probe { request: id, prompt }),
            Work::Sent => return,
        };
        self.send(frame);
    }

    /// A child that does not take frames any more is killed; its exit then tells the machine.
    fn send(&mut self, frame: ToWorker) {
        if let Some(link) = &self.child.link
            && link.send(frame).is_err()
        {
            tracing::warn!(pid = link.pid, "worker's pipe takes no more frames");
            link.kill();
        }
    }

    fn reply(&mut self, id: RequestId, event: ReplyEvent) {
        let Some(request) = self.requests.get(&id) else {
            return;
        };
        if let Err(mpsc::error::TrySendError::Full(_)) = request.events.try_send(event) {
            tracing::warn!(request = %id, "client reads too slowly, its request is cancelled");
            self.step(Event::Cancel(id));
        }
    }

    fn complete(&mut self, id: RequestId, outcome: Outcome) {
        let Some(mut request) = self.requests.remove(&id) else {
            return;
        };
        let event = match outcome {
            Outcome::Answered(finished) => ReplyEvent::Finished(finished),
            Outcome::Probed(report) => ReplyEvent::Probed(report),
            Outcome::Failed(DispatchError::CoolingDown { failures, .. }) => {
                let left = self
                    .cooldown_until
                    .map(|until| until.saturating_duration_since(Instant::now()));
                let remaining_ms = u64::try_from(left.unwrap_or_default().as_millis()).unwrap_or(u64::MAX);
                ReplyEvent::Failed(DispatchError::CoolingDown {
                    remaining_ms,
                    failures,
                })
            }
            Outcome::Failed(error) => ReplyEvent::Failed(error),
        };
        match (request.taken.take(), event) {
            (Some(taken), ReplyEvent::Failed(error)) => drop(taken.send(Err(error))),
            (_, event) => drop(request.events.try_send(event)),
        }
    }

    fn publish(&mut self) {
        let word = self.machine.word();
        let before = self.publisher.borrow().state;
        self.idle_since = match (word, self.idle_since) {
            (StateWord::Ready, None) => Some(Instant::now()),
            (StateWord::Ready, since) => since,
            _ => None,
        };
        self.cooldown_until = match (word, before, self.cooldown_until) {
            (StateWord::Backoff, StateWord::Backoff, Some(until)) => Some(until),
            (StateWord::Backoff, ..) => {
                Some(Instant::now() + Duration::from_millis(self.machine.backoff_ms()))
            }
            _ => None,
        };
        // Beats come twice a second; what the lifecycle knows better is not left to them.
        let (phase, phase_done, phase_total) = match (word, self.child.phase) {
            (StateWord::Ready, _) => (Some(Phase::Idle), 0, 0),
            (_, Some((phase, done, total))) => (Some(phase), done, total),
            (_, None) => (None, 0, 0),
        };
        let snapshot = Snapshot {
            state: word,
            pid: self.child.link.as_ref().map(|link| link.pid),
            model: self.child.model.clone(),
            load_ms: self.child.load_ms,
            queue_depth: self.machine.queue_depth(),
            queue_max_depth: self.limits.queue_max_depth,
            last_failure: self.machine.last_failure().cloned(),
            consecutive_failures: self.machine.failures(),
            cooldown_until: self.cooldown_until,
            idle_since: self.idle_since,
            phase,
            phase_done,
            phase_total,
            memory: self.child.memory,
            counters: self.machine.counters(),
        };
        self.publisher.send_if_modified(|current| {
            let changed = **current != snapshot;
            if changed {
                *current = Arc::new(snapshot);
            }
            changed
        });
    }

    fn ticket(&mut self, settled: Settled) -> Ticket {
        let ticket = Ticket(self.number());
        self.tickets.insert(ticket, settled);
        ticket
    }

    fn number(&mut self) -> u64 {
        self.last_number += 1;
        self.last_number
    }
}

/// Cancels a request whose client dropped its reply.
async fn watch_client(
    id: RequestId,
    events: mpsc::Sender<ReplyEvent>,
    watched: oneshot::Receiver<()>,
    orders: mpsc::WeakSender<Order>,
) {
    tokio::select! {
        () = events.closed() => {
            if let Some(orders) = orders.upgrade() {
                drop(orders.send(Order::Gone(id)).await);
            }
        }
        _ = watched => {}
    }
}

async fn until(moment: Option<Instant>) {
    match moment {
        Some(moment) => tokio::time::sleep_until(moment).await,
        None => std::future::pending().await,
    }
}

fn milliseconds(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1000.0
}
