//! One log line a request: who asked for what and how it went, never what was said.

use std::panic::AssertUnwindSafe;

use axum::extract::Request;
use axum::http::{HeaderName, HeaderValue};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use futures::FutureExt;
use tokio::time::Instant;

use crate::error::ApiError;
use crate::ident;

const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

/// Logs method, path, status and time to the head of the answer; a panic becomes an `internal_error`.
pub(crate) async fn log(request: Request, next: Next) -> Response {
    let begun = Instant::now();
    let id = ident::random(16);
    let method = request.method().clone();
    let path: String = request.uri().path().chars().take(200).collect();
    let answered = AssertUnwindSafe(next.run(request)).catch_unwind().await;
    let mut response = answered.unwrap_or_else(|_| {
        tracing::error!(request = %id, %method, path, "a route panicked");
        ApiError::Internal.into_response()
    });
    let status = response.status().as_u16();
    let head_ms = begun.elapsed().as_millis();
    // Pages poll these; at info they would drown everything else.
    if matches!(path.as_str(), "/health" | "/ready" | "/admin/stats" | "/v1/models") && status < 400 {
        tracing::debug!(request = %id, %method, path, status, head_ms, "request");
    } else {
        tracing::info!(request = %id, %method, path, status, head_ms, "request");
    }
    if let Ok(value) = HeaderValue::from_str(&id) {
        response.headers_mut().insert(REQUEST_ID, value);
    }
    response
}
