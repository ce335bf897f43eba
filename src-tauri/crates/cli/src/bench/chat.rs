//! `hangar bench chat`: what markup and events cost a token, and what a request of an agent's size costs.

use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};
use tokio::time::Instant;

use super::BenchError;
use super::folder::{Folder, listening};
use super::report::{Bar, Report, Row};
use super::served::{Served, processor_s};
use super::spread::Spread;
use super::words::Words;
use crate::arguments::Chat;
use crate::failure::Failure;
use crate::say;
use crate::service::{Service, StreamEvent, message};

/// Pieces of one streamed answer: as many as the server keeps for a client that is behind, for the scripted worker
/// writes faster than any model.
const PIECES: u32 = 4_000;
/// Answers of one round, so that the system's clock for processor time is fine enough.
const ANSWERS: u32 = 10;
/// Bytes of a request as a coding agent with forty tools sends it.
const REQUEST_BYTES: usize = 98_000;
const TOOLS: usize = 40;

/// Measures everything in one run.
pub(crate) fn measure(options: &Chat) -> Result<Report, Failure> {
    let folder = Folder::new()?;
    let mut rows = token_rows(options, &folder.home("tokens")?)?;
    rows.push(request_row(options, &folder.home("request")?)?);
    Ok(Report { rounds: options.rounds, rows, left_out: Vec::new() })
}

/// Processor time of the server for each streamed token: pipe, markup and event together.
fn token_rows(options: &Chat, home: &Path) -> Result<Vec<Row>, Failure> {
    let pieces: Vec<_> = (0..PIECES).map(|at| format!("word{} ", at % 97)).collect();
    let (served, service) = scripted(&options.scripted_server, home, &json!([{ "pieces": pieces }]))?;
    let written = pieces.iter().map(String::len).sum::<usize>();
    let (mut processor_us, mut wall_us) = (Vec::new(), Vec::new());
    for round in 0..=options.rounds {
        say::note(&format!("tokens, round {round} of {}", options.rounds));
        let (began, before) = (Instant::now(), processor_s(served.pid()));
        for _ in 0..ANSWERS {
            read_answer(&service, written)?;
        }
        if round == 0 {
            continue;
        }
        wall_us.push(began.elapsed().as_secs_f64() * 1e6 / f64::from(PIECES * ANSWERS));
        if let (Some(before), Some(after)) = (before, processor_s(served.pid())) {
            processor_us.push((after - before) * 1e6 / f64::from(PIECES * ANSWERS));
        }
    }
    let rows = [
        Spread::of(&processor_us).map(|found| {
            Row::new("server's processor time a token", "µs", found, None, Some(Bar::AtMost(20.0)))
        }),
        Spread::of(&wall_us)
            .map(|found| Row::new("a streamed token, with worker and client", "µs", found, None, None)),
    ];
    Ok(rows.into_iter().flatten().collect())
}

/// Reads one streamed answer and compares its length.
fn read_answer(service: &Service, written: usize) -> Result<(), Failure> {
    let mut events = service.stream("hello.", PIECES)?;
    let mut characters = 0;
    while let Some(event) = events.next()? {
        match event {
            StreamEvent::Chunk(chunk) => {
                characters += chunk["choices"][0]["delta"]["content"].as_str().unwrap_or_default().len();
            }
            StreamEvent::Error(error) => return Err(unusable(&message(&error))),
            StreamEvent::Done => {}
        }
    }
    if characters == written {
        return Ok(());
    }
    Err(unusable(&format!("{characters} of {written} characters came")))
}

/// From sending to the answer of a worker that answers at once.
fn request_row(options: &Chat, home: &Path) -> Result<Row, Failure> {
    let (_served, service) = scripted(&options.scripted_server, home, &json!([{ "pieces": ["noted."] }]))?;
    let mut readings = Vec::new();
    for round in 0..=options.rounds {
        // Another text each time, as between two agents.
        let body = agent_request(u64::from(round));
        let began = Instant::now();
        let answered = service.post("/v1/chat/completions", &body)?;
        let took_ms = began.elapsed().as_secs_f64() * 1000.0;
        if answered.status != 200 {
            return Err(unusable(&message(&answered.body)));
        }
        if round > 0 {
            readings.push(took_ms);
        }
    }
    let spread = Spread::of(&readings).ok_or_else(|| unusable("no round"))?;
    let what = format!("a request of {REQUEST_BYTES} bytes with {TOOLS} tools, to its answer");
    Ok(Row::new(what, "ms", spread, None, Some(Bar::AtMost(20.0))))
}

/// A system prompt, tools with schemas as agents write them, and a history with a call.
fn agent_request(seed: u64) -> Value {
    let mut words = Words::new(seed);
    let tools: Vec<_> = (0..TOOLS)
        .map(|at| {
            json!({ "type": "function", "function": {
                "name": format!("tool_{at}"), "description": words.text(60),
                "parameters": { "type": "object", "required": ["path"], "additionalProperties": false,
                    "properties": {
                        "path": { "type": "string", "description": words.text(20), "pattern": "\\S", "maxLength": 65_536 },
                        "limit": { "type": ["integer", "null"], "minimum": 1, "description": words.text(12) },
                        "mode": { "anyOf": [{ "const": "fast" }, { "enum": ["slow", "careful"] }] },
                        "edits": { "type": "array", "items": { "type": "object", "properties": {
                            "old": { "type": "string" }, "new": { "type": "string" } } } },
                    } },
            } })
        })
        .collect();
    let mut body = json!({
        "messages": [
            { "role": "system", "content": "" },
            { "role": "user", "content": words.text(40) },
            { "role": "assistant", "content": null, "tool_calls": [{ "id": "call0", "type": "function",
                "function": { "name": "tool_3", "arguments": "{\"path\":\"notes\",\"limit\":3}" } }] },
            { "role": "tool", "tool_call_id": "call0", "content": words.text(200) },
            { "role": "user", "content": [{ "type": "text", "text": words.text(30) }] },
        ],
        "tools": tools, "tool_choice": "auto", "max_completion_tokens": 64, "temperature": 0,
    });
    let mut system = words.text(100);
    while body.to_string().len() + system.len() < REQUEST_BYTES {
        system.push(' ');
        system.push_str(&words.text(20));
    }
    body["messages"][0]["content"] = system.into();
    body
}

fn scripted(program: &Path, home: &Path, lives: &Value) -> Result<(Served, Service), Failure> {
    for (name, text) in [("script.json", lives.to_string()), ("local.json", local())] {
        let path = home.join(name);
        std::fs::write(&path, text).map_err(|source| BenchError::File { path, source })?;
    }
    let (served, url) = listening("fake-server", Command::new(program).arg(home), home)?;
    let service = Service::at(url, None);
    service.chat("hello.", 1)?;
    Ok((served, service))
}

fn local() -> String {
    json!({ "worker": { "idleUnload": { "enabled": false } } }).to_string()
}

fn unusable(what: &str) -> Failure {
    BenchError::Answer { who: "fake-server", what: what.to_owned() }.into()
}
