//! `/v1/si-drones` and what lies under it.

use axum::extract::{Path, Request, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Extension, Json, Router};
use serde::Serialize;
use serde_json::Value;

use super::parts::{self, Brought};
use super::policy;
use super::store::Setup;
use super::turn;
use super::view::{DroneView, Listed, Transcript};
use crate::app::App;
use crate::chat;
use crate::error::ApiError;
use crate::ident::RequestIdent;
use crate::json::Field;
use crate::offer::Offer;
use crate::receipts::Draft;
use crate::routes::DRONES;
use crate::{body, json};

/// Every route of the sessions.
pub(crate) fn routes() -> Router<App> {
    Router::new()
        .route(DRONES, post(create).get(list))
        .route("/v1/si-drones/{id}", get(one).delete(delete))
        .route("/v1/si-drones/{id}/turns", post(take_turn))
        .route("/v1/si-drones/{id}/fork", post(fork))
        .route("/v1/si-drones/{id}/rollback", post(roll_back))
        .route("/v1/si-drones/{id}/touch", post(touch))
        .route("/v1/si-drones/{id}/transcript", get(transcript))
}

#[derive(Debug, Serialize)]
struct Deleted {
    ok: bool,
    session_id: String,
    state: &'static str,
}

/// `POST /v1/si-drones`: answered at once, whatever the worker is doing.
async fn create(State(app): State<App>, request: Request) -> Result<Response, ApiError> {
    drop(app.flights.begin()?);
    let value = read_body(&app, request).await?;
    let root = Field::root(&value);
    root.object("a JSON object")?;
    let served = app.roster.find(chat::model(&value)?)?.clone();
    let profile = served.profile();
    let policy = policy::read(&root, &profile.sessions, profile.context_window_tokens)?;
    let system = root.get("system").map(|field| field.text("a string").map(str::to_owned)).transpose()?;
    let setup = Setup {
        system,
        gate: chat::read_tools(&root)?,
        thinking: chat::read_thinking(&root)?,
        sampling: chat::read_sampling(&root, profile)?,
        served,
    };
    let seen = app.drones.create(setup, policy).await?;
    Ok((StatusCode::CREATED, Json(DroneView::of(seen))).into_response())
}

/// `GET /v1/si-drones`
async fn list(State(app): State<App>) -> Json<Listed> {
    Json(Listed::of(app.drones.list().await))
}

/// `GET /v1/si-drones/{id}`
async fn one(State(app): State<App>, Path(id): Path<String>) -> Result<Json<DroneView>, ApiError> {
    Ok(Json(DroneView::of(app.drones.find(&id).await?)))
}

/// `GET /v1/si-drones/{id}/transcript`
async fn transcript(State(app): State<App>, Path(id): Path<String>) -> Result<Json<Transcript>, ApiError> {
    Ok(Json(Transcript::of(app.drones.find(&id).await?)))
}

/// `POST /v1/si-drones/{id}/touch`
async fn touch(State(app): State<App>, Path(id): Path<String>) -> Result<Json<DroneView>, ApiError> {
    Ok(Json(DroneView::of(app.drones.touch(&id).await?)))
}

/// `POST /v1/si-drones/{id}/fork`
async fn fork(State(app): State<App>, Path(id): Path<String>) -> Result<Response, ApiError> {
    let seen = app.drones.fork(&id).await?;
    Ok((StatusCode::CREATED, Json(DroneView::of(seen))).into_response())
}

/// `POST /v1/si-drones/{id}/rollback`
async fn roll_back(
    State(app): State<App>,
    Path(id): Path<String>,
    request: Request,
) -> Result<Json<DroneView>, ApiError> {
    let value = read_body(&app, request).await?;
    let root = Field::root(&value);
    root.object("a JSON object")?;
    let expected = "the number of turns to keep";
    let field = root.require("to_turn", expected)?;
    let to_turn = field.value().as_u64().ok_or_else(|| field.unlike(expected))?;
    Ok(Json(DroneView::of(app.drones.roll_back(&id, to_turn).await?)))
}

/// `DELETE /v1/si-drones/{id}`
async fn delete(State(app): State<App>, Path(id): Path<String>) -> Result<Response, ApiError> {
    app.drones.delete(&id).await?;
    Ok(Json(Deleted { ok: true, session_id: id, state: "deleted" }).into_response())
}

/// `POST /v1/si-drones/{id}/turns`
async fn take_turn(
    State(app): State<App>,
    Extension(ident): Extension<RequestIdent>,
    Path(id): Path<String>,
    request: Request,
) -> Response {
    let mut draft = app.receipts.begin(&ident, "/v1/si-drones/{id}/turns");
    match begin(&app, &id, request, &mut draft).await {
        Ok((running, true)) => running.stream(draft, app.still_here_after),
        Ok((running, false)) => running.whole(draft).await,
        Err(error) => {
            draft.refused(&error, None);
            error.into_response()
        }
    }
}

async fn begin(
    app: &App,
    id: &str,
    request: Request,
    draft: &mut Draft,
) -> Result<(turn::Running, bool), ApiError> {
    drop(app.flights.begin()?);
    let value = read_body(app, request).await?;
    let seen = app.drones.find(id).await?;
    let served = &seen.drone.setup.served;
    let profile = served.profile();
    draft.asks(profile.id.as_str(), &profile.model_id, chat::wants_stream(&value));
    let offer = served.offer();
    // The base64 of sound takes its time.
    let reading = tokio::task::spawn_blocking(move || read_turn(&value, &offer));
    let (brought, max_tokens, streams) = reading.await.map_err(|_| ApiError::Internal)??;
    let slot = app.drones.begin_turn(id).await?;
    Ok((turn::admit(app, slot, brought, max_tokens, draft).await?, streams))
}

fn read_turn(value: &Value, offer: &Offer) -> Result<(Brought, Option<u32>, bool), ApiError> {
    let root = Field::root(value);
    root.object("a JSON object")?;
    let streams = root.get("stream").map_or(Ok(false), |field| field.flag())?;
    let max_tokens = root.get("max_tokens").map(|field| chat::read_tokens(&field)).transpose()?;
    Ok((parts::read(&root, offer)?, max_tokens, streams))
}

/// An empty body asks for nothing in particular.
async fn read_body(app: &App, request: Request) -> Result<Value, ApiError> {
    let bytes = body::read(request, app.settings.server.max_body_bytes).await?;
    if bytes.iter().all(u8::is_ascii_whitespace) {
        Ok(Value::Object(serde_json::Map::new()))
    } else {
        json::parse(&bytes)
    }
}
