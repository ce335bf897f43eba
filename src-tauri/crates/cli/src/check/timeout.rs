//! `hangar check timeout`: the worker is halted in mid-answer; the client gets a typed end, the next one an answer.

use std::time::Duration;

use nix::sys::signal::Signal;
use nix::unistd::Pid;
use tokio::time::Instant;

use super::{Row, process, watch};
use crate::failure::Failure;
use crate::service::{Service, StreamEvent, message};

/// Words of a prompt that takes any model a while to read, and fits any window it is served with.
const PROMPT_WORDS: usize = 4_000;
const ANSWER_TOKENS: u32 = 256;
/// The client is told before the process is killed and reaped.
const REAPED_WITHIN: Duration = Duration::from_secs(10);

/// Halts the worker of a running server.
pub(crate) fn rows(service: &Service) -> Result<Vec<Row>, Failure> {
    service.chat("hello.", 4)?;
    let began = Instant::now();
    let ((broken, _), seen) = watch::during(service, || {
        broken_by(service, "halted in mid-answer", "worker_stalled", |pid| {
            process::signal(pid, Signal::SIGSTOP)
        })
    })?;
    let found = format!(
        "{} of {} good, slowest {:.1} ms",
        seen.health - seen.bad_health,
        seen.health,
        seen.slowest_ms
    );
    let health = Row::since(began, "health meanwhile", "200 every time", seen.stayed_healthy(), found);
    Ok(vec![broken, health, next_answer(service)?])
}

/// Does something to the worker while it answers, and reads the stream to its end.
///
/// The row also wants the worker's process gone; with it comes the moment it was done.
pub(crate) fn broken_by(
    service: &Service,
    name: &str,
    code: &str,
    act: impl FnOnce(Pid) -> Result<(), Failure>,
) -> Result<(Row, Instant), Failure> {
    let mut events = service.stream(&"one and two and ".repeat(PROMPT_WORDS / 4), ANSWER_TOKENS)?;
    let began = Instant::now();
    events.next()?;
    let (_, worker) = service.ready()?;
    let pid = process::of(&worker)?;
    act(pid)?;
    let acted = Instant::now();
    let found = loop {
        match events.next()? {
            Some(StreamEvent::Chunk(_)) => {}
            Some(StreamEvent::Error(error)) => break error["error"]["code"].as_str().map(str::to_owned),
            Some(StreamEvent::Done) => break Some("an end in order".to_owned()),
            None => break None,
        }
    };
    let after = events.next().ok().flatten();
    let gone = process::is_gone_within(pid, REAPED_WITHIN);
    let found = found.unwrap_or_else(|| "an end without a word".to_owned());
    let ok = found == code && after.is_none() && gone;
    let expected = format!("{code}, nothing after it, the process gone");
    let after = if after.is_none() { "nothing after it" } else { "more after it" };
    let process = if gone { "gone" } else { "still there" };
    let found = format!("{found}, {after}, process {pid} {process}");
    Ok((Row::since(began, name, &expected, ok, found), acted))
}

/// An answer as if nothing had been.
pub(crate) fn next_answer(service: &Service) -> Result<Row, Failure> {
    let began = Instant::now();
    let next = service.chat("hello.", 8)?;
    let found = format!("{}: {}", next.status, message(&next.body));
    Ok(Row::since(began, "next request", "200", next.status == 200, found))
}
