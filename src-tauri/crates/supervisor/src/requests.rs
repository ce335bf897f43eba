//! The open requests of one worker: what each wants, who listens, and how long it waited.

use std::collections::HashMap;
use std::time::Duration;

use hangar_protocol::{Generate, Probe, Prompt, RequestId, ToWorker};
use tokio::sync::{mpsc, oneshot};
use tokio::time::Instant;

use crate::machine::Outcome;
use crate::task::Order;
use crate::{DispatchError, Job, ReplyEvent, Start};

/// Where a handle waits for a command's result.
pub(crate) type Settled = oneshot::Sender<Result<(), DispatchError>>;

/// What a request wants.
#[derive(Debug)]
pub(crate) enum Work {
    Generate(Job),
    Probe(Prompt),
}

#[derive(Debug)]
struct Request {
    /// Taken when it is dispatched.
    work: Option<Work>,
    events: mpsc::Sender<ReplyEvent>,
    /// Answered once the request is refused or taken.
    taken: Option<Settled>,
    arrived: Instant,
    waited: Option<Waited>,
    /// Dropped with the request, which ends its watcher.
    _watch: oneshot::Sender<()>,
}

#[derive(Clone, Copy, Debug)]
struct Waited {
    queue: Duration,
    load: Duration,
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
        let arrived = Instant::now();
        let request =
            Request { work: Some(work), events, taken: Some(taken), arrived, waited: None, _watch: watch };
        self.open.insert(id, request);
    }

    /// Tells the caller that its request waits or runs.
    pub(crate) fn take(&mut self, id: RequestId) {
        if let Some(taken) = self.open.get_mut(&id).and_then(|request| request.taken.take()) {
            drop(taken.send(Ok(())));
        }
    }

    /// The frame that hands a request to the worker; `loading` is when the model was last being loaded.
    pub(crate) fn dispatch(
        &mut self,
        id: RequestId,
        loading: Option<(Instant, Instant)>,
    ) -> Option<ToWorker> {
        let request = self.open.get_mut(&id)?;
        let load = loading.map_or(Duration::ZERO, |(begun, ended)| {
            ended.saturating_duration_since(begun.max(request.arrived))
        });
        request.waited = Some(Waited { queue: request.arrived.elapsed().saturating_sub(load), load });
        Some(match request.work.take()? {
            Work::Generate(Job { prompt, sampling, max_tokens }) => {
                ToWorker::Generate(Generate { request: id, prompt, sampling, max_tokens })
            }
            Work::Probe(prompt) => ToWorker::Probe(Probe { request: id, prompt }),
        })
    }

    /// Tells the client that the worker read its prompt.
    pub(crate) fn accepted(
        &self,
        id: RequestId,
        prompt_tokens: u32,
        cached_tokens: u32,
    ) -> Result<(), TooSlow> {
        let waited = self.open.get(&id).and_then(|request| request.waited);
        let milliseconds = |duration: Option<Duration>| duration.unwrap_or_default().as_secs_f64() * 1000.0;
        let queue_wait_ms = milliseconds(waited.map(|waited| waited.queue));
        let load_ms = milliseconds(waited.map(|waited| waited.load));
        self.reply(id, ReplyEvent::Accepted(Start { prompt_tokens, cached_tokens, queue_wait_ms, load_ms }))
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
        let event = match outcome {
            Outcome::Answered(finished) => ReplyEvent::Finished(finished),
            Outcome::Probed(report) => ReplyEvent::Probed(report),
            Outcome::Failed(error) => match request.taken.take() {
                Some(taken) => return drop(taken.send(Err(error))),
                None => ReplyEvent::Failed(error),
            },
        };
        if let Err(mpsc::error::TrySendError::Full(event)) = request.events.try_send(event) {
            // The end is never dropped: it waits for the slow reader, or for the reader to go.
            tokio::spawn(async move { drop(request.events.send(event).await) });
        }
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
