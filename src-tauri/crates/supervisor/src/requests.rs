//! The open requests of one worker: what each wants, who listens, how long it waited, and where it runs.

use std::collections::HashMap;
use std::time::Duration;

use hangar_protocol::{Accepted, Generate, Probe, Prompt, RequestId, ToWorker};
use tokio::sync::{mpsc, oneshot};
use tokio::time::Instant;

use crate::handle::REPLY_EVENTS;
use crate::machine::Outcome;
use crate::task::Order;
use crate::{DispatchError, Job, LoadProgress, PrefillProgress, RanOn, ReplyEvent, Start};

/// Room that must be left for output and the end before anything that may be missed is sent.
const RESERVED_EVENTS: usize = REPLY_EVENTS / 2;

/// Where a handle waits for a command's result.
pub(crate) type Settled = oneshot::Sender<Result<(), DispatchError>>;

/// What a request wants.
#[derive(Debug)]
pub(crate) enum Work {
    Generate(Job),
    Probe(Prompt),
}

#[derive(Debug)]
enum Stage {
    /// In the queue, with what it wants and what was last told to the client.
    Waiting {
        work: Work,
        position: Option<u32>,
        load: Option<LoadProgress>,
    },
    Running(Running),
}

#[derive(Clone, Copy, Debug)]
struct Running {
    ran_on: RanOn,
    begun: Instant,
    queue: Duration,
    load: Duration,
    cached_tokens: u64,
}

#[derive(Debug)]
struct Request {
    stage: Stage,
    events: mpsc::Sender<ReplyEvent>,
    /// Answered once the request is refused or taken.
    taken: Option<Settled>,
    arrived: Instant,
    /// Dropped with the request, which ends its watcher.
    _watch: oneshot::Sender<()>,
}

/// A client that reads too slowly for its events.
#[derive(Debug)]
pub(crate) struct TooSlow;

/// All open requests by their number.
#[derive(Debug, Default)]
pub(crate) struct Requests {
    open: HashMap<RequestId, Request>,
}

impl Requests {
    /// Keeps a new request, and tells `orders` once its client is gone.
    pub(crate) fn open(
        &mut self,
        id: RequestId,
        work: Work,
        events: mpsc::Sender<ReplyEvent>,
        taken: Settled,
        orders: mpsc::WeakSender<Order>,
    ) {
        let (watch, watched) = oneshot::channel();
        tokio::spawn(watch_client(id, events.clone(), watched, orders));
        let stage = Stage::Waiting { work, position: None, load: None };
        let request = Request { stage, events, taken: Some(taken), arrived: Instant::now(), _watch: watch };
        self.open.insert(id, request);
    }

    /// Tells the caller that its request waits or runs.
    pub(crate) fn take(&mut self, id: RequestId) {
        if let Some(taken) = self.open.get_mut(&id).and_then(|request| request.taken.take()) {
            drop(taken.send(Ok(())));
        }
    }

    /// When an open request came.
    pub(crate) fn arrived(&self, id: RequestId) -> Option<Instant> {
        self.open.get(&id).map(|request| request.arrived)
    }

    /// Tells everybody in the queue what is new to them: their place, and how far the model they wait for is.
    pub(crate) fn tell_waiting(
        &mut self,
        queue: impl Iterator<Item = RequestId>,
        loading: Option<LoadProgress>,
    ) {
        for (place, id) in (1_u32..).zip(queue) {
            let Some(request) = self.open.get_mut(&id) else { continue };
            let Stage::Waiting { position, load, .. } = &mut request.stage else { continue };
            if *position != Some(place) {
                *position = Some(place);
                offer(&request.events, ReplyEvent::Queued { position: place });
            }
            if let Some(progress) = loading
                && load.is_none_or(|told| progress.is_news_after(told))
            {
                *load = loading;
                offer(&request.events, ReplyEvent::Loading(progress));
            }
        }
    }

    /// The frame that hands a request to the worker; `loading` is when the model was last being loaded.
    pub(crate) fn dispatch(
        &mut self,
        id: RequestId,
        ran_on: RanOn,
        loading: Option<(Instant, Instant)>,
    ) -> Option<ToWorker> {
        let request = self.open.get_mut(&id)?;
        let load = loading.map_or(Duration::ZERO, |(begun, ended)| {
            ended.saturating_duration_since(begun.max(request.arrived))
        });
        let queue = request.arrived.elapsed().saturating_sub(load);
        let running = Running { ran_on, begun: Instant::now(), queue, load, cached_tokens: 0 };
        let Stage::Waiting { work, .. } = std::mem::replace(&mut request.stage, Stage::Running(running))
        else {
            return None;
        };
        Some(match work {
            Work::Generate(Job { prompt, sampling, max_tokens, base, keep }) => {
                ToWorker::Generate(Generate { request: id, prompt, sampling, max_tokens, base, keep })
            }
            Work::Probe(prompt) => ToWorker::Probe(Probe { request: id, prompt }),
        })
    }

    /// Tells the client that the worker read its prompt.
    pub(crate) fn accepted(&mut self, accepted: &Accepted) -> Result<(), TooSlow> {
        let Accepted { request: id, prompt_tokens, cached_tokens } = *accepted;
        let Some(running) = self.running(id) else { return Ok(()) };
        running.cached_tokens = cached_tokens.into();
        let milliseconds = |duration: Duration| duration.as_secs_f64() * 1000.0;
        let start = Start {
            prompt_tokens,
            cached_tokens,
            queue_wait_ms: milliseconds(running.queue),
            load_ms: milliseconds(running.load),
            ran_on: running.ran_on,
        };
        self.reply(id, ReplyEvent::Accepted(start))
    }

    /// Tells the client how far its prompt is read.
    pub(crate) fn progress(&mut self, id: RequestId, processed_tokens: u64, total_tokens: u64) {
        let Some(running) = self.running(id) else { return };
        let elapsed_ms = u64::try_from(running.begun.elapsed().as_millis()).unwrap_or(u64::MAX);
        let cached_tokens = running.cached_tokens;
        let progress = PrefillProgress { processed_tokens, total_tokens, cached_tokens, elapsed_ms };
        if let Some(request) = self.open.get(&id) {
            offer(&request.events, ReplyEvent::Progress(progress));
        }
    }

    /// Passes an event on; one for a request that has ended falls on the floor.
    pub(crate) fn reply(&self, id: RequestId, event: ReplyEvent) -> Result<(), TooSlow> {
        let Some(request) = self.open.get(&id) else { return Ok(()) };
        match request.events.try_send(event) {
            Err(mpsc::error::TrySendError::Full(_)) => Err(TooSlow),
            Ok(()) | Err(mpsc::error::TrySendError::Closed(_)) => Ok(()),
        }
    }

    /// Ends a request: refused through its call where nothing was answered yet, else through its events.
    pub(crate) fn complete(&mut self, id: RequestId, outcome: Outcome) {
        let Some(mut request) = self.open.remove(&id) else { return };
        let ran_on = match request.stage {
            Stage::Running(running) => Some(running.ran_on),
            Stage::Waiting { .. } => None,
        };
        let event = match (outcome, ran_on) {
            (Outcome::Answered(finished), Some(ran_on)) => ReplyEvent::Finished { finished, ran_on },
            (Outcome::Answered(_), None) => ReplyEvent::Failed { error: DispatchError::Cancelled, ran_on },
            (Outcome::Probed(report), _) => ReplyEvent::Probed(report),
            (Outcome::Failed(error), _) => match request.taken.take() {
                Some(taken) => return drop(taken.send(Err(error))),
                None => ReplyEvent::Failed { error, ran_on },
            },
        };
        if let Err(mpsc::error::TrySendError::Full(event)) = request.events.try_send(event) {
            // The end is never dropped: it waits for the slow reader, or for the reader to go.
            tokio::spawn(async move { drop(request.events.send(event).await) });
        }
    }

    fn running(&mut self, id: RequestId) -> Option<&mut Running> {
        match &mut self.open.get_mut(&id)?.stage {
            Stage::Running(running) => Some(running),
            Stage::Waiting { .. } => None,
        }
    }
}

/// Sends what a client that is behind may miss.
fn offer(events: &mpsc::Sender<ReplyEvent>, event: ReplyEvent) {
    if events.capacity() > RESERVED_EVENTS {
        drop(events.try_send(event));
    }
}

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
