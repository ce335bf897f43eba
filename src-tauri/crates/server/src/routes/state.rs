//! State routes: they read the latest snapshot and never wait for a worker.

use axum::Json;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use tokio::time::Instant;

use crate::app::App;
use crate::error::ApiError;
use crate::flight::Door;
use crate::routes::chosen::Chosen;
use crate::served::{Look, Served};
use crate::views::{Health, Model, Models, Ready, Stats};

/// `GET /health`
pub(crate) async fn health(State(app): State<App>) -> Json<Health> {
    Json(Health::now(app.flights.door()))
}

/// `GET /ready`
pub(crate) async fn ready(State(app): State<App>) -> Response {
    let all: Vec<Look<'_>> = app.roster.iter().map(Served::look).collect();
    let ready = Ready::look(&app.roster.default().look(), &all, app.flights.door(), Instant::now());
    let status = if ready.is_ok() { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
    (status, Json(ready)).into_response()
}

/// `GET /v1/models`
pub(crate) async fn models(State(app): State<App>) -> Result<Json<Models>, ApiError> {
    let all: Vec<Look<'_>> = app.roster.iter().map(Served::look).collect();
    match app.flights.door() {
        Door::Open => Ok(Json(Models::look(&all, app.started_at))),
        door @ (Door::Stopped | Door::Ending) => Err(door.into()),
    }
}

/// `GET /v1/models/{id}`, by any of a model's names; repositories have a slash in theirs.
pub(crate) async fn model(State(app): State<App>, Path(id): Path<String>) -> Result<Json<Model>, ApiError> {
    match app.flights.door() {
        Door::Open => Ok(Json(Model::look(&app.roster.find(Some(&id))?.look(), app.started_at))),
        door @ (Door::Stopped | Door::Ending) => Err(door.into()),
    }
}

/// `GET /admin/stats`, of one profile.
pub(crate) async fn stats(State(app): State<App>, Chosen(served): Chosen) -> Json<Stats> {
    Json(Stats::look(&app.settings, app.port, &served.look(), Instant::now()))
}
