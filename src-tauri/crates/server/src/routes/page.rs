//! The page: the files of its build, or a word on how to build it.

use std::path::PathBuf;

use axum::Router;
use axum::extract::Request;
use axum::http::{Method, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::any;
use tower_http::services::ServeDir;

use super::nothing_here;

const NOT_BUILT: &str = "Hangar is running, but its page is not built.\n\
    Run `npm start` in the project's folder, or `npm run ui:build`, then load this page again.\n\
    The API answers all the same: GET /health, GET /v1/models, POST /v1/chat/completions.\n";

/// Serves everything that is not the API from this folder.
pub(crate) fn page(folder: Option<PathBuf>) -> Router {
    match folder {
        None => Router::new().fallback(absent),
        Some(folder) => Router::new().fallback_service(
            ServeDir::new(folder).call_fallback_on_method_not_allowed(true).fallback(any(absent)),
        ),
    }
}

async fn absent(request: Request) -> Response {
    let looks = matches!(*request.method(), Method::GET | Method::HEAD);
    if looks && matches!(request.uri().path(), "/" | "/index.html") {
        let plain = [(header::CONTENT_TYPE, "text/plain; charset=utf-8")];
        return (StatusCode::NOT_FOUND, plain, NOT_BUILT).into_response();
    }
    nothing_here(request).await.into_response()
}
