//! `hangar state`: what the server says of itself.

use std::process::ExitCode;

use hangar_server::{Inspection, InstanceHint, inspect};
use serde_json::{Value, json};

use crate::arguments::State;
use crate::failure::Failure;
use crate::{ask, place, say};

/// Prints the state; that nothing runs is an answer too.
pub(crate) fn state(options: &State) -> Result<ExitCode, Failure> {
    let hint = match inspect(&place::home()?)? {
        Inspection::Free => {
            let text = if options.json {
                json!({"running": false}).to_string()
            } else {
                "Hangar is not running".to_owned()
            };
            say::line(&text);
            return Ok(ExitCode::SUCCESS);
        }
        Inspection::Served(None) => return Err(Failure::Nameless),
        Inspection::Served(Some(hint)) => hint,
    };
    let key = place::settings(&place::home()?)?.settings.server.api_key;
    let health = ask::get(&hint.url, "/health", None)?;
    let ready = ask::get(&hint.url, "/ready", key.as_ref())?;
    let stats = ask::get(&hint.url, "/admin/stats", key.as_ref())?;
    if options.json {
        let all = json!({
            "running": true, "pid": hint.pid, "url": hint.url,
            "health": health, "ready": ready, "stats": stats,
        });
        say::line(&format!("{all:#}"));
    } else {
        say::line(&say::table(&rows(&hint, &health, &ready, &stats)));
    }
    Ok(ExitCode::SUCCESS)
}

fn rows(hint: &InstanceHint, health: &Value, ready: &Value, stats: &Value) -> Vec<[String; 2]> {
    let worker = &stats["worker"];
    let metrics = &stats["metrics"];
    let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let mut rows = vec![
        ["Address".to_owned(), hint.url.clone()],
        ["Server".to_owned(), format!("version {}, process {}", text(&health["version"]), hint.pid)],
        [
            "Requests".to_owned(),
            if ready["accepting_requests"] == true { "accepted" } else { "refused" }.to_owned(),
        ],
        ["Model".to_owned(), text(&worker["model_id"])],
        [
            "Worker".to_owned(),
            match worker["pid"].as_u64() {
                Some(pid) => format!("{}, process {pid}", text(&worker["state"])),
                None => text(&worker["state"]),
            },
        ],
        ["Waiting".to_owned(), format!("{} of {}", worker["queue_depth"], worker["queue_max_depth"])],
        [
            "Answered".to_owned(),
            format!("{} well, {} failed", metrics["successful_requests"], metrics["failed_requests"]),
        ],
    ];
    if let Some(memory) = stats["backend"]["memory"].as_object() {
        rows.push([
            "Memory".to_owned(),
            format!("{} GB now, {} GB at most", memory["active_gb"], memory["peak_gb"]),
        ]);
    }
    if let Some(error) = worker["last_error"].as_str() {
        rows.push(["Last error".to_owned(), error.to_owned()]);
    }
    rows
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_person_reads_a_table() {
        let hint = InstanceHint {
            pid: 12,
            started_at: 0,
            port: 4017,
            url: "http://127.0.0.1:4017".into(),
            version: "0.1.0".into(),
        };
        let stats = json!({
            "worker": {
                "state": "backoff", "pid": null, "model_id": "gemma-4-pocket", "queue_depth": 1,
                "queue_max_depth": 4, "last_error": "model file config.json is missing",
            },
            "metrics": {"successful_requests": 7, "failed_requests": 1},
            "backend": {"memory": {"active_gb": 0.5, "peak_gb": 1.25}},
        });
        let rows = rows(&hint, &json!({"version": "0.1.0"}), &json!({"accepting_requests": true}), &stats);
        insta::assert_snapshot!(say::table(&rows));
    }
}
