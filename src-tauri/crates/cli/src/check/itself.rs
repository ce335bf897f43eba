//! `hangar check self`: the built-in model is asked what it must know, through a real worker.

use std::process::ExitCode;
use std::sync::Arc;

use hangar_config::{Home, Profile};
use hangar_provision::Resources;
use hangar_server::{RuntimeLauncher, limits, load_order, model_dir};
use hangar_supervisor::WorkerHandle;
use tokio::time::Instant;

use super::{Row, canary, say_rows, talk};
use crate::arguments::CheckSelf;
use crate::failure::Failure;
use crate::place;

/// Asks every canary.
pub(crate) async fn check_self(options: &CheckSelf) -> Result<ExitCode, Failure> {
    let home = place::home()?;
    let resources = Resources::locate()?;
    let canaries = canary::read(&resources.pocket_dir().join("canary"))?;
    let worker = spawn(&home, &pocket(&home)?, resources)?;
    let mut rows = Vec::with_capacity(canaries.len());
    for canary in &canaries {
        let begun = Instant::now();
        let found = talk::ask(&worker, canary).await;
        let ms = u64::try_from(begun.elapsed().as_millis()).unwrap_or(u64::MAX);
        rows.push(row(canary, found, ms));
    }
    worker.shutdown().await;
    Ok(say_rows(&rows, options.json))
}

/// The built-in model, whatever model is configured, run as the default profile is.
fn pocket(home: &Home) -> Result<Profile, Failure> {
    let worker = place::settings(home)?.settings.profiles.default_profile().worker.clone();
    let shipped = hangar_config::built_in(home)?;
    Ok(Profile { worker, ..shipped.profiles.default_profile().clone() })
}

/// A worker of this command's own.
fn spawn(home: &Home, profile: &Profile, resources: Resources) -> Result<WorkerHandle, Failure> {
    let order = load_order(&model_dir(&resources, profile)?, profile);
    let launcher = Arc::new(RuntimeLauncher::new(resources, home, profile));
    Ok(WorkerHandle::spawn(limits(&profile.worker), order, launcher))
}

fn row(canary: &canary::Canary, found: Result<talk::Found, String>, ms: u64) -> Row {
    let (ok, found) = match found {
        Ok(found) => (talk::satisfies(&canary.expected, &found), found.to_string()),
        Err(what) => (false, what),
    };
    Row { name: canary.name.clone(), ok, expected: canary.expected.to_string(), found, ms }
}
