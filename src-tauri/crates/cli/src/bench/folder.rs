//! Servers of a bench, each with a state folder of its own.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use hangar_provision::Runtime;
use serde_json::json;

use super::BenchError;
use super::served::Served;
use crate::ask;
use crate::failure::Failure;

const PATIENCE: Duration = Duration::from_secs(60);

/// A folder that goes away with the bench.
pub(crate) struct Folder {
    pub(crate) path: PathBuf,
}

impl Folder {
    pub(crate) fn new() -> Result<Self, BenchError> {
        let path = std::env::temp_dir().join(format!("hangar-bench-{}", std::process::id()));
        std::fs::create_dir_all(&path).map_err(|source| BenchError::File { path: path.clone(), source })?;
        Ok(Self { path })
    }

    /// A state folder in it.
    pub(crate) fn home(&self, name: &str) -> Result<PathBuf, BenchError> {
        let path = self.path.join(name);
        std::fs::create_dir_all(&path).map_err(|source| BenchError::File { path: path.clone(), source })?;
        Ok(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        drop(std::fs::remove_dir_all(&self.path));
    }
}

/// A server of this program with a state folder of its own.
pub(crate) fn serve(home: &Path, runtime: &Runtime, model: &Path) -> Result<(Served, String), Failure> {
    let local = json!({ "model": { "id": "bench", "path": model, "contextWindowTokens": 65_536 },
        // Every prompt is to be read, however often it comes.
        "worker": { "idleUnload": { "enabled": false }, "stateCacheMb": 0 } });
    let config = home.join("local.json");
    std::fs::write(&config, local.to_string()).map_err(|source| BenchError::File { path: config, source })?;
    let program = std::env::current_exe()
        .map_err(|source| BenchError::File { path: PathBuf::from("hangar"), source })?;
    let mut command = Command::new(program);
    command
        .arg("serve")
        .env("HANGAR_HOME", home)
        .env("HANGAR_RUNTIME", &runtime.root)
        .env_remove("HANGAR_PORT");
    listening("hangar", &mut command, home)
}

/// Starts a program that serves, and waits until it answers.
pub(crate) fn listening(
    who: &'static str,
    command: &mut Command,
    home: &Path,
) -> Result<(Served, String), Failure> {
    let log = home.join("serve.log");
    let mut served = Served::start(who, command, log.clone())?;
    let mut url = None;
    served.wait_until(PATIENCE, Duration::from_millis(2), || {
        url = address(&log);
        url.as_deref().is_some_and(ask::is_healthy)
    })?;
    let url = url.ok_or(BenchError::Answer { who, what: "no address".into() })?;
    Ok((served, url))
}

fn address(log: &Path) -> Option<String> {
    let said = std::fs::read_to_string(log).ok()?;
    said.lines().find_map(|line| line.strip_prefix("Hangar is listening on ")).map(str::to_owned)
}
