//! `hangar check self`: the built-in model is asked what it must know, through a real worker.

mod canary;
mod talk;

use std::process::ExitCode;
use std::sync::Arc;

use hangar_config::{Home, Profile};
use hangar_provision::Resources;
use hangar_server::{RuntimeLauncher, limits, load_order};
use hangar_supervisor::WorkerHandle;
use serde::Serialize;
use tokio::time::Instant;

use crate::arguments::{Check, CheckSelf};
use crate::failure::Failure;
use crate::{place, say};

/// Carries out one of the checks.
pub(crate) async fn check(command: &Check) -> Result<ExitCode, Failure> {
    match command {
        Check::Itself(options) => check_self(options).await,
    }
}

/// One row of the answer.
#[derive(Clone, Debug, PartialEq, Serialize)]
struct Row {
    name: String,
    ok: bool,
    expected: String,
    found: String,
    ms: u64,
}

#[derive(Debug, Serialize)]
struct Outcome<'a> {
    ok: bool,
    rows: &'a [Row],
}

async fn check_self(options: &CheckSelf) -> Result<ExitCode, Failure> {
    let home = place::home()?;
    let resources = Resources::locate()?;
    let canaries = canary::read(&resources.pocket_dir().join("canary"))?;
    let worker = spawn(&home, &pocket(&home)?, resources);
    let mut rows = Vec::with_capacity(canaries.len());
    for canary in &canaries {
        let begun = Instant::now();
        let found = talk::ask(&worker, canary).await;
        let ms = u64::try_from(begun.elapsed().as_millis()).unwrap_or(u64::MAX);
        rows.push(row(canary, found, ms));
    }
    worker.shutdown().await;
    let ok = rows.iter().all(|row| row.ok);
    if options.json {
        let text = serde_json::to_string_pretty(&Outcome { ok, rows: &rows });
        say::line(&text.unwrap_or_default());
    } else {
        say::line(&say::table(&lines(&rows)));
    }
    Ok(if ok { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// The built-in model, whatever model is configured, run as the default profile is.
fn pocket(home: &Home) -> Result<Profile, Failure> {
    let worker = place::settings(home)?.settings.profiles.default_profile().worker.clone();
    let shipped = hangar_config::built_in(home)?;
    Ok(Profile { worker, ..shipped.profiles.default_profile().clone() })
}

/// A worker of this command's own.
fn spawn(home: &Home, profile: &Profile, resources: Resources) -> WorkerHandle {
    let order = load_order(&resources, profile);
    let launcher = Arc::new(RuntimeLauncher::new(resources, home, profile));
    WorkerHandle::spawn(limits(&profile.worker), order, launcher)
}

fn row(canary: &canary::Canary, found: Result<talk::Found, String>, ms: u64) -> Row {
    let (ok, found) = match found {
        Ok(found) => (talk::satisfies(&canary.expected, &found), found.to_string()),
        Err(what) => (false, what),
    };
    Row { name: canary.name.clone(), ok, expected: canary.expected.to_string(), found, ms }
}

fn lines(rows: &[Row]) -> Vec<[String; 5]> {
    let header = ["", "what", "expected", "found", "ms"].map(str::to_owned);
    let body = rows.iter().map(|row| {
        let state = if row.ok { "ok" } else { "FAIL" };
        [state.to_owned(), row.name.clone(), row.expected.clone(), row.found.clone(), row.ms.to_string()]
    });
    [header].into_iter().chain(body).collect()
}
