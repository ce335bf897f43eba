//! `hangar bench control`: what a crash, a full queue and a long run cost.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use hangar_provision::{Expected, Resources, runtime};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;
use tokio::time::Instant;

use super::BenchError;
use super::floor::{Floor, script};
use super::folder::{Folder, serve};
use super::report::{Bar, Report, Row};
use super::soak;
use super::spread::{Spread, quantile};
use crate::arguments::Control;
use crate::failure::Failure;
use crate::service::{Events, Service, StreamEvent};
use crate::{place, say};

/// Refusals whose time is taken.
const REFUSALS: usize = 500;
/// Requests that one worker holds with the default queue: one runs, four wait.
const CAPACITY: usize = 5;
const PAUSE: Duration = Duration::from_millis(5);
const PATIENCE: Duration = Duration::from_secs(120);

/// Measures everything in one run.
pub(crate) fn measure(options: &Control) -> Result<Report, Failure> {
    let resources = Resources::locate()?;
    let root = runtime::locate(&place::home()?.runtimes_dir(), &resources)?;
    let runtime = Expected::read(&resources)?.inspect(&root)?;
    let folder = Folder::new()?;
    let model = folder.path.join("model");
    say::note("making the model that never ends its answer");
    Floor::make_model(&runtime, &script(resources.root())?, &resources.pocket_model_dir(), &model)?;
    let (served, url) = serve(&folder.home("real")?, &runtime, &model)?;
    let service = Service::at(url, None);
    let mut rows = recovery_rows(&service, options.rounds)?;
    say::note("leaving answers");
    rows.extend(after_leaving_row(&service, options.rounds)?);
    say::note("filling the queue");
    rows.push(refusal_row(&service)?);
    drop(served);
    let mut left_out = Vec::new();
    match &options.scripted_server {
        Some(program) => rows.extend(soak::rows(program, &folder.home("scripted")?, options.requests)?),
        None => left_out.push(
            "the long run: name a server with a scripted worker with --scripted-server \
             (`npm run bench -- control` builds one)"
                .to_owned(),
        ),
    }
    Ok(Report { rounds: options.rounds, rows, left_out })
}

/// A cold load and a recovery in turn: each from its beginning to the end of the next good answer.
fn recovery_rows(service: &Service, rounds: u32) -> Result<Vec<Row>, Failure> {
    let (mut cold, mut recovered) = (Vec::new(), Vec::new());
    for round in 0..rounds {
        say::note(&format!("recovery, round {} of {rounds}", round + 1));
        service.unload()?;
        cold.push(answer_ms(service, Instant::now())?);
        let mut running = service.stream("hello.", 60_000)?;
        running.next()?;
        let (_, worker) = service.ready()?;
        let pid = worker["pid"].as_i64().and_then(|pid| i32::try_from(pid).ok());
        let pid = pid.ok_or_else(|| unusable("no worker to kill"))?;
        let killed = Instant::now();
        kill(Pid::from_raw(pid), Signal::SIGKILL)
            .map_err(|error| Failure::NotSignalled { pid, source: error.into() })?;
        recovered.push(answer_ms(service, killed)?);
    }
    let rows = [
        Spread::of(&cold).map(|cold| Row::new("cold load to answer", "ms", cold, None, None)),
        Spread::of_ratios(&recovered, &cold).map(|ratio| {
            Row::new(
                "kill to next answer, ratio",
                "",
                ratio,
                Some("cold load to answer"),
                Some(Bar::AtMost(1.1)),
            )
        }),
    ];
    Ok(rows.into_iter().flatten().collect())
}

/// A client leaves in the middle of an answer: from then to the first text of the next one, on the same worker.
fn after_leaving_row(service: &Service, rounds: u32) -> Result<Option<Row>, Failure> {
    let mut readings = Vec::new();
    let (_, before) = service.ready()?;
    for _ in 0..rounds {
        let mut left = service.stream("hello.", 60_000)?;
        first_text(&mut left)?;
        drop(left);
        let began = Instant::now();
        first_text(&mut service.stream("hello.", 8)?)?;
        readings.push(began.elapsed().as_secs_f64() * 1000.0);
    }
    let (_, after) = service.ready()?;
    if before["pid"] != after["pid"] {
        return Err(unusable("a client that left cost the worker"));
    }
    let row = |spread| {
        Row::new("client left to first text of the next", "ms", spread, None, Some(Bar::AtMost(50.0)))
    };
    Ok(Spread::of(&readings).map(row))
}

fn first_text(events: &mut Events) -> Result<(), Failure> {
    while let Some(event) = events.next()? {
        match event {
            StreamEvent::Chunk(chunk) => {
                let text = chunk["choices"][0]["delta"]["content"].as_str();
                if text.is_some_and(|text| !text.is_empty()) {
                    return Ok(());
                }
            }
            StreamEvent::Error(_) | StreamEvent::Done => break,
        }
    }
    Err(unusable("no text came"))
}

fn answer_ms(service: &Service, began: Instant) -> Result<f64, Failure> {
    let answered = service.chat("hello.", 8)?;
    if answered.status != 200 {
        return Err(unusable(&format!("{} instead of an answer", answered.status)));
    }
    Ok(began.elapsed().as_secs_f64() * 1000.0)
}

fn refusal_row(service: &Service) -> Result<Row, Failure> {
    // One that was just left may still hold its place.
    wait_until(service, "the model did not get free", |worker| worker["state"] == "ready")?;
    let over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for _ in 0..CAPACITY {
            scope.spawn(|| {
                let mut running = service.stream("hello.", 60_000)?;
                while running.next()?.is_some() {
                    if over.load(Ordering::Relaxed) {
                        break;
                    }
                }
                Ok::<_, Failure>(())
            });
        }
        let measured = wait_until_full(service).and_then(|()| refusals_ms(service));
        // Whoever reads leaves now, whoever waits as soon as its turn comes.
        over.store(true, Ordering::Relaxed);
        let readings = measured?;
        let spread = Spread::of(&readings).zip(quantile(&readings, 0.99));
        let (spread, p99) = spread.ok_or_else(|| unusable("no refusal"))?;
        let what = format!("refusal of a full queue, p99 of {REFUSALS}");
        Ok(Row::new(what, "ms", Spread { median: p99, ..spread }, None, Some(Bar::AtMost(5.0))))
    })
}

fn wait_until_full(service: &Service) -> Result<(), Failure> {
    wait_until(service, "the queue did not fill", |worker| {
        worker["state"] == "busy" && worker["queue_depth"] == worker["queue_max_depth"]
    })
}

fn wait_until(service: &Service, otherwise: &str, reached: impl Fn(&Value) -> bool) -> Result<(), Failure> {
    let began = Instant::now();
    while began.elapsed() < PATIENCE {
        let (_, worker) = service.ready()?;
        if reached(&worker) {
            return Ok(());
        }
        std::thread::park_timeout(PAUSE);
    }
    Err(unusable(otherwise))
}

fn refusals_ms(service: &Service) -> Result<Vec<f64>, Failure> {
    let mut readings = Vec::with_capacity(REFUSALS);
    for _ in 0..REFUSALS {
        let began = Instant::now();
        let answered = service.chat("hello.", 8)?;
        readings.push(began.elapsed().as_secs_f64() * 1000.0);
        if answered.status != 409 || answered.body["error"]["code"] != "queue_full" {
            return Err(unusable(&format!("{} instead of a refusal", answered.status)));
        }
    }
    Ok(readings)
}

fn unusable(what: &str) -> Failure {
    BenchError::Answer { who: "hangar", what: what.to_owned() }.into()
}
