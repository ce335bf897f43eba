//! `hangar check ready`: the words and codes of a server through unload, load, answer and idle.

use std::time::Duration;

use tokio::time::Instant;

use super::{Row, process, watch};
use crate::failure::Failure;
use crate::service::{Service, message};

/// Longest idle time that a check waits for, in seconds.
const IDLE_LIMIT_S: f64 = 30.0;
const PAUSE: Duration = Duration::from_millis(100);
/// Time an idle unload may be late, in seconds: its process has to end.
const LATE_S: f64 = 15.0;

/// Walks the server through its states.
pub(crate) fn rows(service: &Service) -> Result<Vec<Row>, Failure> {
    let mut rows = vec![unloaded(service)?];
    rows.extend(loading(service)?);
    if rows.iter().any(|row| !row.ok) {
        // What follows needs a loaded model.
        return Ok(rows);
    }
    rows.push(loaded(service)?);
    rows.push(idle(service)?);
    rows.push(gone(service)?);
    Ok(rows)
}

fn unloaded(service: &Service) -> Result<Row, Failure> {
    let began = Instant::now();
    service.unload()?;
    let (answered, worker) = service.ready()?;
    let body = &answered.body;
    let ok = answered.status == 200
        && worker["state"] == "unloaded"
        && worker["pid"].is_null()
        && body["cold_load_expected"] == true
        && body["cold_load_acceptable"] == true
        && body["actively_ready"] == false;
    let found = format!(
        "{}, {}, cold load expected {}, acceptable {}",
        text(&worker["state"]),
        answered.status,
        body["cold_load_expected"],
        body["cold_load_acceptable"]
    );
    Ok(Row::since(began, "unloaded", "unloaded, 200, cold load expected true, acceptable true", ok, found))
}

fn loading(service: &Service) -> Result<[Row; 3], Failure> {
    let began = Instant::now();
    let (answered, seen) = watch::during(service, || service.chat("hello.", 4))?;
    let load_ms = answered.body["metrics"]["load_ms"].as_f64().unwrap_or(0.0);
    let answer = Row::since(
        began,
        "cold request",
        "200 with a load time",
        answered.status == 200 && load_ms > 0.0,
        format!("{}, loaded in {load_ms:.0} ms: {}", answered.status, message(&answered.body)),
    );
    let walked = seen.states.iter().any(|state| state == "loading")
        && seen.states.iter().all(|state| KNOWN_STATES.contains(&state.as_str()));
    Ok([
        answer,
        Row::since(
            began,
            "states on the way",
            "starting, loading and then busy or ready",
            walked,
            seen.walk(),
        ),
        Row::since(
            began,
            "health meanwhile",
            "200 every time",
            seen.stayed_healthy(),
            format!(
                "{} of {} good, slowest {:.1} ms",
                seen.health - seen.bad_health,
                seen.health,
                seen.slowest_ms
            ),
        ),
    ])
}

/// Every word `/ready` may say of a worker.
const KNOWN_STATES: [&str; 10] = [
    "unloaded",
    "admitting",
    "starting",
    "loading",
    "ready",
    "busy",
    "stopping",
    "backoff",
    "failed",
    "closed",
];

fn loaded(service: &Service) -> Result<Row, Failure> {
    let began = Instant::now();
    let (answered, worker) = service.ready()?;
    let ok = answered.status == 200 && worker["state"] == "ready" && worker["pid"].is_u64();
    let found = format!("{}, {}, process {}", text(&worker["state"]), answered.status, worker["pid"]);
    Ok(Row::since(began, "loaded", "ready, 200, a process", ok, found))
}

fn idle(service: &Service) -> Result<Row, Failure> {
    const NAME: &str = "idle unload";
    let began = Instant::now();
    let (_, worker) = service.ready()?;
    let after_s = worker["idle_unload_threshold_s"].as_f64();
    let Some(after_s) = after_s.filter(|_| worker["idle_unload_enabled"] == true) else {
        return Ok(Row::since(began, NAME, "off", true, "off"));
    };
    if after_s > IDLE_LIMIT_S {
        let found = format!("left out: it comes after {after_s} s; lower worker.idleUnload.idleMs to see it");
        return Ok(Row::since(began, NAME, "unloaded by itself", true, found));
    }
    while began.elapsed().as_secs_f64() < after_s + LATE_S {
        let (_, worker) = service.ready()?;
        if worker["state"] == "unloaded" {
            let found = format!("unloaded after {:.1} s", began.elapsed().as_secs_f64());
            return Ok(Row::since(began, NAME, "unloaded by itself", true, found));
        }
        std::thread::park_timeout(PAUSE);
    }
    Ok(Row::since(
        began,
        NAME,
        "unloaded by itself",
        false,
        format!("still there after {after_s} s and more"),
    ))
}

fn gone(service: &Service) -> Result<Row, Failure> {
    service.chat("hello.", 4)?;
    let began = Instant::now();
    let (_, worker) = service.ready()?;
    let pid = process::of(&worker)?;
    let answered = service.unload()?;
    let gone = process::is_gone(pid);
    let ok = gone && answered.body["pid"].is_null() && answered.body["state"] == "unloaded";
    let found = format!(
        "{}, process {pid} {}{}",
        text(&answered.body["state"]),
        if gone { "gone" } else { "still there" },
        answered.body["freed_gb"].as_f64().map_or_else(String::new, |freed| format!(", {freed:.2} GB back")),
    );
    Ok(Row::since(began, "unload", "unloaded, its process gone", ok, found))
}

fn text(value: &serde_json::Value) -> &str {
    value.as_str().unwrap_or("nothing")
}
