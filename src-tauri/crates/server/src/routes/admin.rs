//! Commands to the worker.

use axum::Json;
use axum::extract::{Request, State};
use hangar_supervisor::{Reach, StateWord};
use serde::Serialize;

use crate::app::App;
use crate::body;
use crate::error::{ApiError, from_dispatch};
use crate::flight::Door;
use crate::json::{self, Field};
use crate::routes::chosen::Chosen;
use crate::views::gigabytes;

/// Largest body of a command.
const COMMAND_BODY_BYTES: usize = 64 * 1024;

/// Answer to an unload; memory is null where it could not be measured.
#[derive(Debug, Serialize)]
pub(crate) struct UnloadDone {
    ok: bool,
    action: &'static str,
    profile: String,
    state: StateWord,
    pid: Option<u32>,
    old_pid: Option<u32>,
    resident_before_gb: Option<f64>,
    freed_gb: Option<f64>,
}

/// Answer to a restart.
#[derive(Debug, Serialize)]
pub(crate) struct RestartDone {
    ok: bool,
    action: &'static str,
    profile: String,
    old_pid: Option<u32>,
    new_pid: Option<u32>,
    startup_ms: u64,
}

/// `POST /admin/worker/unload`: answered once the process is gone.
pub(crate) async fn unload(
    State(app): State<App>,
    Chosen(served): Chosen,
    request: Request,
) -> Result<Json<UnloadDone>, ApiError> {
    let bytes = body::read(request, COMMAND_BODY_BYTES).await?;
    let reach = if wants_force(&bytes)? { Reach::Everything } else { Reach::Idle };
    if app.flights.door() == Door::Ending {
        return Err(ApiError::ShuttingDown);
    }
    let done = match served.known_bench() {
        Some(bench) => {
            let unloaded = bench.worker.unload(reach).await;
            Some(unloaded.map_err(|error| from_dispatch(&error, served.pace()))?)
        }
        // One that was never made has nothing to unload.
        None => None,
    };
    let snapshot = served.snapshot();
    Ok(Json(UnloadDone {
        ok: true,
        action: "unload",
        profile: served.id().to_owned(),
        state: snapshot.state,
        pid: snapshot.pid,
        old_pid: done.and_then(|done| done.old_pid),
        resident_before_gb: done.and_then(|done| done.resident_before_bytes).map(gigabytes),
        freed_gb: done.and_then(|done| done.freed_bytes).map(gigabytes),
    }))
}

/// `POST /admin/worker/restart`: answered once the new worker is ready.
pub(crate) async fn restart(
    State(app): State<App>,
    Chosen(served): Chosen,
) -> Result<Json<RestartDone>, ApiError> {
    match app.flights.door() {
        Door::Open => {}
        door @ (Door::Stopped | Door::Ending) => return Err(door.into()),
    }
    let bench = served.bench().map_err(|why| why.error(served.profile()))?;
    let done = bench.worker.restart().await.map_err(|error| app.flights.told(&error, served.pace()))?;
    let (old_pid, new_pid, startup_ms) = (done.old_pid, done.new_pid, done.startup_ms);
    let profile = served.id().to_owned();
    Ok(Json(RestartDone { ok: true, action: "restart", profile, old_pid, new_pid, startup_ms }))
}

/// Answer to a switch.
#[derive(Debug, Serialize)]
pub(crate) struct SwitchDone {
    ok: bool,
    action: &'static str,
    accepting: bool,
}

/// `POST /admin/service/start`
pub(crate) async fn start_service(State(app): State<App>) -> Result<Json<SwitchDone>, ApiError> {
    app.switch.turn_on();
    switched(&app, "start")
}

/// `POST /admin/service/stop`: answered once the worker is gone.
pub(crate) async fn stop_service(State(app): State<App>) -> Result<Json<SwitchDone>, ApiError> {
    app.switch.turn_off().await;
    switched(&app, "stop")
}

fn switched(app: &App, action: &'static str) -> Result<Json<SwitchDone>, ApiError> {
    match app.flights.door() {
        Door::Ending => Err(ApiError::ShuttingDown),
        door @ (Door::Open | Door::Stopped) => {
            Ok(Json(SwitchDone { ok: true, action, accepting: door == Door::Open }))
        }
    }
}

fn wants_force(bytes: &[u8]) -> Result<bool, ApiError> {
    if bytes.iter().all(u8::is_ascii_whitespace) {
        return Ok(false);
    }
    let value = json::parse(bytes)?;
    let root = Field::root(&value);
    root.object("a JSON object such as {\"force\": true}, or nothing")?;
    root.get("force").map_or(Ok(false), |force| force.flag())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn force_is_asked_for_by_true_alone() {
        assert_eq!(wants_force(b""), Ok(false));
        assert_eq!(wants_force(b" \n"), Ok(false));
        assert_eq!(wants_force(b"{}"), Ok(false));
        assert_eq!(wants_force(br#"{"force":null}"#), Ok(false));
        assert_eq!(wants_force(br#"{"force":true}"#), Ok(true));
        for body in [&br#"{"force":"true"}"#[..], b"[true]", b"true", br#"{"force":1}"#, b"{", b"null"] {
            assert!(wants_force(body).is_err());
        }
    }
}
