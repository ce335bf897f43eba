//! `GET /admin/events`: what the page shows, as it changes.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::extract::State;
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use futures::{Stream, stream};
use tokio::sync::watch;

use crate::app::App;
use crate::views::PanelSnapshot;

/// Silence after which a comment says that the stream lives.
const STILL_HERE_AFTER: Duration = Duration::from_secs(5);

/// The whole value at once, then again whenever it changed; ends with the service.
pub(crate) async fn follow(State(app): State<App>) -> Response {
    let mut panel = app.panel.clone();
    panel.mark_changed();
    Sse::new(values(panel)).keep_alive(KeepAlive::new().interval(STILL_HERE_AFTER)).into_response()
}

fn values(panel: watch::Receiver<Arc<PanelSnapshot>>) -> impl Stream<Item = Result<Event, Infallible>> {
    stream::unfold(panel, |mut panel| async move {
        panel.changed().await.ok()?;
        let value = panel.borrow_and_update().clone();
        let event = Event::default().event("snapshot").json_data(&*value).ok()?;
        Some((Ok(event), panel))
    })
}
