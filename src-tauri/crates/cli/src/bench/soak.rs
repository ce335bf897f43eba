//! Many requests in a row at a server whose worker is scripted: nothing lost, nothing twice, nothing kept.

use std::collections::HashSet;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::Duration;

use serde_json::json;

use super::BenchError;
use super::folder::listening;
use super::http::get_ms;
use super::report::{Bar, Row};
use super::served::resident_bytes;
use super::spread::{Spread, quantile};
use crate::failure::Failure;
use crate::say;
use crate::service::Service;

/// Clients at once: as many as a default queue holds, so that none is refused.
const CLIENTS: u32 = 4;
const POLL: Duration = Duration::from_millis(20);
const ANSWER: &str = "hello world";

/// Runs them and measures.
pub(crate) fn rows(program: &Path, home: &Path, requests: u32) -> Result<Vec<Row>, Failure> {
    let file = |path, source| BenchError::File { path, source };
    for (name, text) in [("script.json", "[{}]".to_owned()), ("local.json", local())] {
        let path = home.join(name);
        std::fs::write(&path, text).map_err(|source| file(path, source))?;
    }
    let (served, url) = listening("fake-server", Command::new(program).arg(home), home)?;
    let warm_up = requests / 10;
    say::note(&format!("{warm_up} requests to warm up"));
    let mut known = HashSet::new();
    ask_many(&url, warm_up, &mut known)?;
    let before = resident_bytes(served.pid());
    say::note(&format!("{requests} requests"));
    let over = AtomicBool::new(false);
    let health = std::thread::scope(|scope| {
        let polling = scope.spawn(|| {
            let mut readings = Vec::new();
            while !over.load(Ordering::Relaxed) {
                readings.push(get_ms(&format!("{url}/health"))?);
                std::thread::park_timeout(POLL);
            }
            Ok::<_, BenchError>(readings)
        });
        let asked = ask_many(&url, requests, &mut known);
        over.store(true, Ordering::Relaxed);
        let readings = polling.join().map_err(|_| unusable("the poller ended early"));
        asked.and(readings?.map_err(Failure::from))
    })?;
    let after = resident_bytes(served.pid());
    let counted = Service::at(url.clone(), None).get("/admin/stats")?;
    let counted = counted.body["metrics"]["successful_requests"].as_f64().unwrap_or(f64::NAN);
    let exact = |value: f64| Spread { median: value, least: value, most: value };
    let asked = f64::from(requests + warm_up);
    #[expect(clippy::cast_precision_loss, reason = "a count of requests")]
    let distinct = known.len() as f64;
    let mut rows = vec![
        Row::new(
            format!("answers lost of {asked}"),
            "",
            exact(asked - distinct),
            None,
            Some(Bar::AtMost(0.0)),
        ),
        Row::new("answers counted twice", "", exact((counted - asked).abs()), None, Some(Bar::AtMost(0.0))),
    ];
    if let (Some(before), Some(after)) = (before, after) {
        let grown = exact((after - before) / 1e6);
        rows.push(Row::new("server memory grown", "MB", grown, None, Some(Bar::AtMost(1.0))));
    }
    if let (Some(spread), Some(p99)) = (Spread::of(&health), quantile(&health, 0.99)) {
        let what = format!("/health meanwhile, p99 of {}", health.len());
        rows.push(Row::new(what, "ms", Spread { median: p99, ..spread }, None, Some(Bar::AtMost(5.0))));
    }
    Ok(rows)
}

fn local() -> String {
    json!({ "worker": { "idleUnload": { "enabled": false } } }).to_string()
}

/// Asks so many times from several clients at once, and keeps the number of every answer.
fn ask_many(url: &str, requests: u32, known: &mut HashSet<String>) -> Result<(), Failure> {
    let left = AtomicU32::new(requests);
    let numbers = std::thread::scope(|scope| {
        let clients: Vec<_> = (0..CLIENTS)
            .map(|client| {
                let left = &left;
                scope.spawn(move || {
                    let service = Service::at(url.to_owned(), None);
                    let mut numbers = Vec::new();
                    while left
                        .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1))
                        .is_ok()
                    {
                        let answered = service.chat(&format!("hello {client}."), 8)?;
                        let body = &answered.body;
                        if body["choices"][0]["message"]["content"] != ANSWER {
                            return Err(unusable(&format!("{} instead of its answer", answered.status)));
                        }
                        numbers.push(body["id"].as_str().unwrap_or_default().to_owned());
                    }
                    Ok(numbers)
                })
            })
            .collect();
        let mut numbers = Vec::new();
        for client in clients {
            numbers.extend(client.join().map_err(|_| unusable("a client ended early"))??);
        }
        Ok::<_, Failure>(numbers)
    })?;
    known.extend(numbers);
    Ok(())
}

fn unusable(what: &str) -> Failure {
    BenchError::Answer { who: "fake-server", what: what.to_owned() }.into()
}
