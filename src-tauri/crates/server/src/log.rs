//! One log line a request: who asked for what and how it went, never what was said.

use std::panic::AssertUnwindSafe;

use axum::extract::Request;
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use futures::FutureExt;
use tokio::time::Instant;
use tracing::Instrument;

use crate::error::ApiError;
use crate::ident::{REQUEST_ID, RequestIdent};

/// Gives the request its id, and logs method, path, status and time to the head of the answer; a panic becomes
/// an `internal_error`. Every line that is logged on the way carries the id.
pub(crate) async fn log(mut request: Request, next: Next) -> Response {
    let id = RequestIdent::of(request.headers());
    let span = tracing::error_span!("request", id = id.as_str());
    request.extensions_mut().insert(id.clone());
    let mut response = answer(request, next).instrument(span).await;
    if let Some(value) = id.header() {
        response.headers_mut().insert(REQUEST_ID, value);
    }
    response
}

async fn answer(request: Request, next: Next) -> Response {
    let begun = Instant::now();
    let method = request.method().clone();
    let path = told(request.uri().path());
    let answered = AssertUnwindSafe(next.run(request)).catch_unwind().await;
    let response = answered.unwrap_or_else(|_| {
        tracing::error!(%method, path, "a route panicked");
        ApiError::Internal.into_response()
    });
    let status = response.status().as_u16();
    let head_ms = u64::try_from(begun.elapsed().as_millis()).unwrap_or(u64::MAX);
    // Pages poll these; at info they would drown everything else.
    if matches!(path.as_str(), "/health" | "/ready" | "/metrics" | "/admin/stats" | "/v1/models")
        && status < 400
    {
        tracing::debug!(%method, path, status, head_ms, "request");
    } else {
        tracing::info!(%method, path, status, head_ms, "request");
    }
    response
}

/// The path as it may stand in a log: who knows a session's id has the session, so that most of it is left out.
fn told(path: &str) -> String {
    const BEGINNING: usize = "sidr_".len() + 6;
    let part = |part: &str| {
        if part.starts_with("sidr_") && part.chars().count() > BEGINNING {
            part.chars().take(BEGINNING).chain(['…']).collect()
        } else {
            part.to_owned()
        }
    };
    let parts: Vec<String> = path.split('/').map(part).collect();
    parts.join("/").chars().take(200).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_is_told_apart_in_the_log_and_not_given_away() {
        let path = format!("/v1/si-drones/sidr_{}/turns", "aB3".repeat(10));
        assert_eq!(told(&path), "/v1/si-drones/sidr_aB3aB3…/turns");
        assert_eq!(told("/v1/models"), "/v1/models");
        assert_eq!(told(&"x".repeat(500)).len(), 200);
    }
}
