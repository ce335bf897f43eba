//! The worker's process, as far as this user may touch it.

use std::time::Duration;

use nix::errno::Errno;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;
use tokio::time::Instant;

use crate::failure::Failure;

const PAUSE: Duration = Duration::from_millis(10);

/// Process of the worker in an answer of `/ready`.
pub(crate) fn of(worker: &Value) -> Result<Pid, Failure> {
    let pid = worker["pid"].as_i64().and_then(|pid| i32::try_from(pid).ok());
    pid.map(Pid::from_raw).ok_or(Failure::NoWorker { state: worker["state"].to_string() })
}

/// Sends a signal.
pub(crate) fn signal(pid: Pid, signal: Signal) -> Result<(), Failure> {
    kill(pid, signal).map_err(|error| Failure::NotSignalled { pid: pid.as_raw(), source: error.into() })
}

/// Whether no process has this number any more.
pub(crate) fn is_gone(pid: Pid) -> bool {
    kill(pid, None) == Err(Errno::ESRCH)
}

/// Whether it goes away in that time.
pub(crate) fn is_gone_within(pid: Pid, limit: Duration) -> bool {
    let began = Instant::now();
    while !is_gone(pid) {
        if began.elapsed() > limit {
            return false;
        }
        std::thread::park_timeout(PAUSE);
    }
    true
}
