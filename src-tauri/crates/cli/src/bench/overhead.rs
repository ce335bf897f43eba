//! `hangar bench overhead`: what the server adds to the engine, and how it stands beside mlx-vlm's own server.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use hangar_provision::{Expected, Resources, Runtime, runtime};
use tokio::time::Instant;

use super::BenchError;
use super::floor::{Floor, script};
use super::folder::{Folder, serve};
use super::http::{Client, Streamed, get_ms};
use super::peer::Peer;
use super::report::{Bar, Report, Row};
use super::served::resident_bytes;
use super::spread::{Spread, quantile};
use super::words::Words;
use crate::arguments::Overhead;
use crate::failure::Failure;
use crate::{place, say};

const DECODE_TOKENS: u32 = 200;
const LENGTHS: [f64; 3] = [20.0, 670.0, 3000.0];
const FLOOR: &str = "in-process engine";
const UPSTREAM: &str = "mlx-vlm generate_step";
const PEER: &str = "mlx_vlm.server --prefill-step-size 256";

/// Measures everything in one run.
pub(crate) fn measure(options: &Overhead) -> Result<Report, Failure> {
    let resources = Resources::locate()?;
    let root = runtime::locate(&place::home()?.runtimes_dir(), &resources)?;
    let runtime = Expected::read(&resources)?.inspect(&root)?;
    let folder = Folder::new()?;
    let script = script(resources.root())?;
    let model = folder.path.join("model");
    say::note("making the model that never ends its answer");
    Floor::make_model(&runtime, &script, &resources.pocket_model_dir(), &model)?;

    let mut rows = Vec::new();
    say::note("measuring the start");
    rows.push(start_row(options.rounds, &folder, &runtime, &model)?);
    let (served, url) = serve(&folder.home("measured")?, &runtime, &model)?;
    let ours = Client::new("hangar", &url, "bench");
    let mut floor = Floor::start(&runtime, &script, &model)?;
    let peer = match &options.peer {
        Some(python) => Some(Peer::start(python, &model, &folder.path)?),
        None => None,
    };
    let mut readings = Readings::default();
    let counts = calibrate(&mut floor)?;
    ours.stream("hello.", 8)?;
    for round in 0..options.rounds {
        say::note(&format!("round {} of {}", round + 1, options.rounds));
        readings.take_round(u64::from(round) + 1, counts, &ours, &mut floor, peer.as_ref())?;
    }
    rows.extend(readings.rows());
    say::note("asking for health while generating");
    rows.extend(polling_rows(&ours, &url, counts[2])?);
    if let Some(bytes) = resident_bytes(served.pid()) {
        let megabytes = bytes / 1e6;
        let spread = Spread { median: megabytes, least: megabytes, most: megabytes };
        rows.push(Row::new("server memory after the run", "MB", spread, None, Some(Bar::AtMost(60.0))));
    }
    let left_out = match peer {
        Some(_) => Vec::new(),
        None => vec![
            "the peer: name a Python that has mlx_vlm.server with --peer (`npm run bench` makes one)".into(),
        ],
    };
    Ok(Report { rounds: options.rounds, rows, left_out })
}

/// Readings of all rounds; index 0 to 2 are the prompt lengths.
#[derive(Default)]
struct Readings {
    ours_first: [Vec<f64>; 3],
    floor_first: [Vec<f64>; 3],
    peer_first: [Vec<f64>; 3],
    prompt_tokens: [f64; 3],
    ours_rate: Vec<f64>,
    floor_rate: Vec<f64>,
    upstream_rate: Vec<f64>,
    peer_rate: Vec<f64>,
}

impl Readings {
    /// Each kind once, in an order that turns with the round, so that none is always first.
    fn take_round(
        &mut self,
        round: u64,
        counts: [usize; 3],
        ours: &Client,
        floor: &mut Floor,
        peer: Option<&Peer>,
    ) -> Result<(), BenchError> {
        for (index, count) in counts.into_iter().enumerate() {
            let text = |who: u64| Words::new(round * 100 + who * 10 + index as u64).text(count);
            for turn in 0..3 {
                match (round + turn) % 3 {
                    0 => {
                        let Streamed { first_ms, prompt_tokens, .. } = ours.stream(&text(0), 2)?;
                        self.ours_first[index].push(first_ms);
                        self.prompt_tokens[index] = prompt_tokens;
                    }
                    1 => self.floor_first[index].push(floor.first(&text(1))?.0),
                    _ => {
                        if let Some(peer) = peer {
                            self.peer_first[index].push(peer.client.stream(&text(2), 2)?.first_ms);
                        }
                    }
                }
            }
        }
        for turn in 0..4 {
            match (round + turn) % 4 {
                0 => self.ours_rate.push(ours.stream("hello.", DECODE_TOKENS)?.tokens_per_second),
                1 => self.floor_rate.push(floor.decode("hello.", DECODE_TOKENS)?),
                2 => self.upstream_rate.push(floor.upstream("hello.", DECODE_TOKENS)?),
                _ => {
                    if let Some(peer) = peer {
                        self.peer_rate.push(peer.client.stream("hello.", DECODE_TOKENS)?.tokens_per_second);
                    }
                }
            }
        }
        Ok(())
    }

    fn rows(&self) -> Vec<Row> {
        let mut rows = Vec::new();
        let mut push = |what: String, unit, found: Option<Spread>, against, bar| {
            rows.extend(found.map(|found| Row::new(what, unit, found, against, bar)));
        };
        push("tokens a second".into(), "1/s", Spread::of(&self.ours_rate), None, None);
        for (name, rates, bar) in [
            (FLOOR, &self.floor_rate, Some(Bar::AtLeast(0.95))),
            (UPSTREAM, &self.upstream_rate, None),
            (PEER, &self.peer_rate, None),
        ] {
            let ratio = Spread::of_ratios(&self.ours_rate, rates);
            push("tokens a second, ratio".into(), "", ratio, Some(name), bar);
        }
        for index in 0..LENGTHS.len() {
            let name = format!("first text at {} tokens", self.prompt_tokens[index]);
            let ours = &self.ours_first[index];
            push(name.clone(), "ms", Spread::of(ours), None, None);
            let added = Spread::of_differences(ours, &self.floor_first[index]);
            let bar = (index == 0).then_some(Bar::AtMost(5.0));
            push(format!("{name}, added"), "ms", added, Some(FLOOR), bar);
            let ratio = Spread::of_ratios(ours, &self.peer_first[index]);
            push(format!("{name}, ratio"), "", ratio, Some(PEER), Some(Bar::AtMost(1.0)));
        }
        rows
    }
}

/// How many words make a prompt of each length.
fn calibrate(floor: &mut Floor) -> Result<[usize; 3], BenchError> {
    let (short, long) = (floor.first(&Words::new(7).text(10))?.1, floor.first(&Words::new(8).text(210))?.1);
    let a_word = (long - short) / 200.0;
    let fixed = short - 10.0 * a_word;
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a small count of words")]
    Ok(LENGTHS.map(|tokens| (((tokens - fixed) / a_word).round() as usize).max(1)))
}

fn start_row(rounds: u32, folder: &Folder, runtime: &Runtime, model: &Path) -> Result<Row, Failure> {
    let mut readings = Vec::new();
    for round in 0..rounds {
        let began = Instant::now();
        let served = serve(&folder.home(&format!("start-{round}"))?, runtime, model)?;
        readings.push(began.elapsed().as_secs_f64() * 1000.0);
        drop(served);
    }
    let spread =
        Spread::of(&readings).ok_or(BenchError::Answer { who: "hangar", what: "no round".into() })?;
    Ok(Row::new("hangar serve to the first /health", "ms", spread, None, Some(Bar::AtMost(300.0))))
}

/// GETs at 100 a second while a long prompt is read and answered.
fn polling_rows(ours: &Client, url: &str, words: usize) -> Result<Vec<Row>, BenchError> {
    let mut rows = Vec::new();
    for path in ["/health", "/ready", "/admin/stats"] {
        let url = format!("{url}{path}");
        let over = AtomicBool::new(false);
        let readings = std::thread::scope(|scope| {
            let generating = scope.spawn(|| {
                let answered = ours.stream(&Words::new(99).text(words), 600);
                over.store(true, Ordering::Relaxed);
                answered
            });
            let mut readings = Vec::new();
            while !over.load(Ordering::Relaxed) {
                readings.push(get_ms(&url)?);
                std::thread::park_timeout(Duration::from_millis(10));
            }
            match generating.join() {
                Ok(answered) => answered.map(|_| readings),
                Err(_) => Err(BenchError::Answer { who: "hangar", what: "the reader ended early".into() }),
            }
        })?;
        let asked = readings.len();
        for (name, share, bar) in [("p50", 0.5, None), ("p99", 0.99, Some(Bar::AtMost(5.0)))] {
            let (Some(found), Some(spread)) = (quantile(&readings, share), Spread::of(&readings)) else {
                continue;
            };
            let spread = Spread { median: found, ..spread };
            rows.push(Row::new(
                format!("{path} while generating, {name} of {asked}"),
                "ms",
                spread,
                None,
                bar,
            ));
        }
    }
    Ok(rows)
}
