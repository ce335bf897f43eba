//! `hangar check recovery`: the worker is killed in mid-answer, and the next request is answered.

use nix::sys::signal::Signal;
use tokio::time::Instant;

use super::timeout::{broken_by, next_answer};
use super::{Row, process};
use crate::failure::Failure;
use crate::service::{Service, message};

/// Kills the worker of a running server.
pub(crate) fn rows(service: &Service) -> Result<Vec<Row>, Failure> {
    service.unload()?;
    let began = Instant::now();
    let cold = service.chat("hello.", 8)?;
    let cold_ms = began.elapsed().as_secs_f64() * 1000.0;
    let mut rows = vec![Row::since(
        began,
        "cold load",
        "200",
        cold.status == 200,
        format!("{}: {}", cold.status, message(&cold.body)),
    )];
    if cold.status != 200 {
        return Ok(rows);
    }
    let (broken, since) = broken_by(service, "killed in mid-answer", "worker_crashed", |pid| {
        process::signal(pid, Signal::SIGKILL)
    })?;
    rows.push(broken);
    let mut next = next_answer(service)?;
    let recovered_ms = since.elapsed().as_secs_f64() * 1000.0;
    next.found.push_str(&format!(
        "; {recovered_ms:.0} ms from the kill, {:.2} times a cold load",
        recovered_ms / cold_ms
    ));
    rows.push(next);
    Ok(rows)
}
