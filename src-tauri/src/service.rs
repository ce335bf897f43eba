//! The server inside the app: opened, switched and ended; what comes of it are events.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use hangar_server::{HostedBy, PanelSnapshot, Start, StartError, Switch, Wish};
use tokio::runtime::Handle;
use tokio::sync::{mpsc, watch};
use tokio::task::JoinHandle;

use crate::controller::{Event, Service};
use crate::say;
use crate::trouble::Trouble;

/// Time for an orderly end, then it is an end at once: the app is gone ten seconds after it was quit.
const DRAIN_LIMIT: Duration = Duration::from_secs(9);
/// Time for an end at once; a worker whose server is gone ends by itself.
const END_LIMIT: Duration = Duration::from_secs(2);

/// Our server, on a runtime of its own.
#[derive(Debug)]
pub(crate) struct HostedService {
    runtime: Handle,
    events: mpsc::UnboundedSender<Event>,
    wish: watch::Sender<Wish>,
    switch: Arc<Mutex<Option<Switch>>>,
    limits: Vec<JoinHandle<()>>,
}

impl HostedService {
    /// A server that is not opened yet.
    pub(crate) fn new(runtime: Handle, events: mpsc::UnboundedSender<Event>) -> Self {
        Self {
            runtime,
            events,
            wish: watch::Sender::new(Wish::Run),
            switch: Arc::default(),
            limits: Vec::new(),
        }
    }

    fn switch(&self) -> Option<Switch> {
        self.switch.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn later(&mut self, limit: Duration, event: Event) {
        let events = self.events.clone();
        self.limits.push(self.runtime.spawn(async move {
            tokio::time::sleep(limit).await;
            send(&events, event);
        }));
    }
}

impl Service for HostedService {
    fn open(&mut self) {
        // An end that was taken back leaves neither its wish nor its limits.
        self.wish.send_replace(Wish::Run);
        self.limits.drain(..).for_each(|limit| limit.abort());
        let served = serve(self.events.clone(), self.wish.subscribe(), self.switch.clone());
        let events = self.events.clone();
        self.runtime.spawn(async move {
            if let Err(error) = served.await {
                tracing::error!(%error, "the server did not come up");
                send(&events, Event::OpenFailed(Trouble::of_start(&error)));
            }
        });
    }

    fn turn_on(&mut self) {
        if let Some(switch) = self.switch() {
            switch.turn_on();
        }
    }

    fn turn_off(&mut self) {
        if let Some(switch) = self.switch() {
            self.runtime.spawn(async move { switch.turn_off().await });
        }
    }

    fn drain(&mut self) {
        self.wish.send_replace(Wish::Drain);
        self.later(DRAIN_LIMIT, Event::DrainLimitReached);
    }

    fn end_at_once(&mut self) {
        self.wish.send_replace(Wish::AtOnce);
        self.later(END_LIMIT, Event::EndLimitReached);
    }
}

/// A loop that has ended needs no more events.
pub(crate) fn send(events: &mpsc::UnboundedSender<Event>, event: Event) {
    drop(events.send(event));
}

async fn serve(
    events: mpsc::UnboundedSender<Event>,
    wish: watch::Receiver<Wish>,
    switch: Arc<Mutex<Option<Switch>>>,
) -> Result<(), StartError> {
    let host = Start::from_environment()?.hosted_by(HostedBy::App).open().await?;
    for note in host.notes() {
        say::note(note);
    }
    say::line(&format!("Hangar is listening on {}", host.url()));
    *switch.lock().unwrap_or_else(PoisonError::into_inner) = Some(host.switch());
    send(&events, Event::Opened { url: host.url().to_owned() });
    tokio::spawn(follow(host.panel(), events.clone()));
    let ended = host.run(wish).await;
    if let Err(error) = &ended {
        tracing::error!(%error, "the server has ended");
    }
    send(&events, Event::Ended(Trouble::of_end(ended.err().as_ref())));
    Ok(())
}

async fn follow(mut panel: watch::Receiver<Arc<PanelSnapshot>>, events: mpsc::UnboundedSender<Event>) {
    loop {
        let snapshot = panel.borrow_and_update().clone();
        send(&events, Event::Looked(snapshot));
        if panel.changed().await.is_err() {
            return;
        }
    }
}
