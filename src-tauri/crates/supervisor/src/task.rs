//! The task around the machine: it owns time, the pipe and the child, and carries out effects.
//!
//! Nothing here awaits anything but the next happening, so a slow client or worker cannot stall a command.

mod hearing;

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use hangar_governor::power::{Awake, Reason, Wakefulness};
use hangar_protocol::{Cancel, Forget, Load, Prompt, RequestId, StateId, ToWorker};
use tokio::sync::{mpsc, watch};
use tokio::time::Instant;

use crate::link::{ChildEvent, start};
use crate::machine::{Effect, Event, Generation, Machine, Outcome, Ticket};
use crate::requests::{Requests, Settled, Work};
use crate::timers::Timers;
use crate::view::{ChildView, Publisher};
use crate::{
    DispatchError, Host, Job, Launch, Limits, LoadOrder, RanOn, Reach, ReplyEvent, Snapshot, StateWord,
};

/// Events a child may be ahead of the task.
const CHILD_EVENTS: usize = 1024;

/// What a handle asks for.
#[derive(Debug)]
pub(crate) enum Order {
    Generate { job: Job, events: mpsc::Sender<ReplyEvent>, taken: Settled },
    Probe { prompt: Prompt, events: mpsc::Sender<ReplyEvent>, taken: Settled },
    Unload { reach: Reach, settled: Settled },
    Restart { settled: Settled },
    Shutdown { settled: Settled },
    Gone(RequestId),
    Forget(Vec<StateId>),
    Hold,
    LetGo,
}

type Children = mpsc::Receiver<(Generation, ChildEvent)>;

pub(crate) struct Task {
    wakefulness: Arc<dyn Wakefulness>,
    _serving: Awake,
    /// Held while a request runs.
    answering: Option<Awake>,
    machine: Machine,
    timers: Timers,
    silence: Duration,
    order: LoadOrder,
    launcher: Arc<dyn Launch>,
    publisher: Publisher,
    orders: mpsc::WeakSender<Order>,
    requests: Requests,
    tickets: HashMap<Ticket, Settled>,
    closers: Vec<Settled>,
    last_number: u64,
    child: ChildView,
    child_events: mpsc::Sender<(Generation, ChildEvent)>,
    load_begun: Option<Instant>,
    load_ended: Option<Instant>,
}

impl Task {
    pub(crate) fn new(
        host: &Host,
        limits: Limits,
        order: LoadOrder,
        launcher: Arc<dyn Launch>,
        snapshots: watch::Sender<Arc<Snapshot>>,
        orders: mpsc::WeakSender<Order>,
    ) -> (Self, Children) {
        let (child_events, children) = mpsc::channel(CHILD_EVENTS);
        let task = Self {
            wakefulness: Arc::clone(&host.wakefulness),
            _serving: host.wakefulness.hold(Reason::Serving),
            answering: None,
            machine: Machine::new(limits),
            timers: Timers::default(),
            silence: Duration::from_millis(limits.silence_ms),
            order,
            launcher,
            publisher: Publisher::new(limits, snapshots),
            orders,
            requests: Requests::default(),
            tickets: HashMap::new(),
            closers: Vec::new(),
            last_number: 0,
            child: ChildView::default(),
            child_events,
            load_begun: None,
            load_ended: None,
        };
        (task, children)
    }

    pub(crate) async fn run(mut self, mut orders: mpsc::Receiver<Order>, mut children: Children) {
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
            self.publisher.publish(&self.machine, &self.child, &self.requests);
        }
        for settled in self.closers.drain(..) {
            drop(settled.send(Ok(())));
        }
    }

    fn take_order(&mut self, order: Order) {
        match order {
            Order::Generate { job, events, taken } => self.demand(Work::Generate(job), events, taken),
            Order::Probe { prompt, events, taken } => self.demand(Work::Probe(prompt), events, taken),
            Order::Unload { reach, settled } => {
                let ticket = self.ticket(settled);
                self.step(Event::Unload { ticket, reach });
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
            Order::Forget(states) => self.step(Event::Forget(states)),
            Order::Hold => self.step(Event::Held),
            Order::LetGo => self.step(Event::LetGo),
        }
    }

    fn demand(&mut self, work: Work, events: mpsc::Sender<ReplyEvent>, taken: Settled) {
        let id = RequestId(self.number());
        self.requests.open(id, work, events, taken, self.orders.clone());
        self.step(Event::Demand(id));
        self.requests.take(id);
    }

    /// Publishes before it answers anybody: whoever was answered sees the state that follows.
    fn step(&mut self, event: Event) {
        let effects = self.machine.step(event);
        self.stay_awake();
        self.publisher.publish(&self.machine, &self.child, &self.requests);
        for effect in effects {
            self.carry_out(effect);
        }
        self.timers.prune(&self.machine);
        self.tell_waiting();
    }

    /// The machine may fall asleep between requests, and not in the middle of one.
    fn stay_awake(&mut self) {
        if self.machine.word() != StateWord::Busy {
            self.answering = None;
        } else if self.answering.is_none() {
            self.answering = Some(self.wakefulness.hold(Reason::Answering));
        }
    }

    fn ran_on(&self) -> RanOn {
        RanOn {
            generation: self.machine.generation().0,
            pid: self.child.link.as_ref().map(|link| link.pid),
            memory_before: self.child.memory,
        }
    }

    fn carry_out(&mut self, effect: Effect) {
        match effect {
            Effect::Spawn(generation) => {
                self.child = ChildView::default();
                self.load_begun = Some(Instant::now());
                self.load_ended = None;
                tokio::spawn(start(Arc::clone(&self.launcher), generation, self.child_events.clone()));
            }
            Effect::SendLoad => {
                self.child.advanced_at = Some(Instant::now());
                self.send(ToWorker::Load(Load {
                    model_dir: self.order.model_dir.display().to_string(),
                    context_window_tokens: self.order.context_window_tokens,
                    prefill_chunk_tokens: self.order.prefill_chunk_tokens,
                    state_cache_bytes: self.order.state_cache_bytes,
                }));
            }
            Effect::Dispatch(request) => {
                self.child.advanced_at = Some(Instant::now());
                let loading = self.load_begun.zip(self.load_ended);
                if let Some(frame) = self.requests.dispatch(request, self.ran_on(), loading) {
                    self.send(frame);
                }
            }
            Effect::SendForget(states) => self.send(ToWorker::Forget(Forget { states })),
            Effect::SendCancel(request) => self.send(ToWorker::Cancel(Cancel { request })),
            Effect::Terminate => match &self.child.link {
                Some(_) => self.send(ToWorker::Shutdown),
                None => self.child.doomed = true,
            },
            Effect::DumpStacks => {
                if let Some(link) = &self.child.link {
                    link.dump_stacks();
                }
            }
            Effect::Kill => match &self.child.link {
                Some(link) => link.kill(),
                None => self.child.doomed = true,
            },
            Effect::Arm { timer, after_ms } => {
                self.timers.arm(timer, Instant::now() + Duration::from_millis(after_ms));
            }
            Effect::Complete { request, outcome } => self.complete(request, outcome),
            Effect::Settle { ticket, result } => {
                if let Some(settled) = self.tickets.remove(&ticket) {
                    drop(settled.send(result));
                }
            }
        }
    }

    fn complete(&mut self, request: RequestId, outcome: Outcome) {
        let outcome = if let Outcome::Failed(DispatchError::CoolingDown { failures, .. }) = outcome {
            let remaining_ms = self.publisher.cooldown_ms();
            Outcome::Failed(DispatchError::CoolingDown { remaining_ms, failures })
        } else {
            outcome
        };
        self.requests.complete(request, outcome);
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

async fn until(moment: Option<Instant>) {
    match moment {
        Some(moment) => tokio::time::sleep_until(moment).await,
        None => std::future::pending().await,
    }
}
