//! `hangar check`: rows of what was expected and what was found, and an exit status.

mod canary;
mod itself;
mod process;
mod quiet;
mod ready;
mod recovery;
mod talk;
mod timeout;
mod watch;

use std::process::ExitCode;

use serde::Serialize;
use tokio::time::Instant;

use crate::arguments::{Check, Target};
use crate::failure::Failure;
use crate::say;
use crate::service::Service;

/// Carries out one of the checks.
pub(crate) async fn check(command: &Check) -> Result<ExitCode, Failure> {
    match command {
        Check::Itself(options) => itself::check_self(options).await,
        Check::Ready(target) => of_a_service(target, ready::rows),
        Check::Recovery(target) => of_a_service(target, recovery::rows),
        Check::Timeout(target) => of_a_service(target, timeout::rows),
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

impl Row {
    /// A row about something that began then and is over now.
    fn since(began: Instant, name: &str, expected: &str, ok: bool, found: impl Into<String>) -> Self {
        let ms = u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX);
        Self { name: name.to_owned(), ok, expected: expected.to_owned(), found: found.into(), ms }
    }
}

fn of_a_service(
    target: &Target,
    rows: impl FnOnce(&Service) -> Result<Vec<Row>, Failure>,
) -> Result<ExitCode, Failure> {
    let rows = rows(&Service::find(target)?)?;
    Ok(say_rows(&rows, target.json))
}

fn say_rows(rows: &[Row], as_json: bool) -> ExitCode {
    let ok = rows.iter().all(|row| row.ok);
    if as_json {
        let text = serde_json::to_string_pretty(&Outcome { ok, rows });
        say::line(&text.unwrap_or_default());
    } else {
        say::line(&say::table(&lines(rows)));
    }
    if ok { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn lines(rows: &[Row]) -> Vec<[String; 5]> {
    let header = ["", "what", "expected", "found", "ms"].map(str::to_owned);
    let body = rows.iter().map(|row| {
        let state = if row.ok { "ok" } else { "FAIL" };
        [state.to_owned(), row.name.clone(), row.expected.clone(), row.found.clone(), row.ms.to_string()]
    });
    [header].into_iter().chain(body).collect()
}
