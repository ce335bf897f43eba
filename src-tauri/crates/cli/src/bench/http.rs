//! A client that reads a stream as it comes and keeps the time of each piece.

use std::io::{BufRead, BufReader};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::Instant;

use super::BenchError;

const LIMIT: Duration = Duration::from_secs(120);

/// One streamed answer.
#[derive(Debug)]
pub(crate) struct Streamed {
    /// From sending to the first visible text.
    pub(crate) first_ms: f64,
    /// Tokens a second after the first one.
    pub(crate) tokens_per_second: f64,
    /// Tokens of the prompt as the server counts them.
    pub(crate) prompt_tokens: f64,
}

/// A client with a connection that stays open.
pub(crate) struct Client {
    agent: ureq::Agent,
    who: &'static str,
    url: String,
    model: String,
}

impl Client {
    pub(crate) fn new(who: &'static str, url: &str, model: &str) -> Self {
        let config =
            ureq::Agent::config_builder().timeout_global(Some(LIMIT)).proxy(None).no_delay(true).build();
        let agent = ureq::Agent::new_with_config(config);
        Self { agent, who, url: url.to_owned(), model: model.to_owned() }
    }

    /// Asks for `tokens` tokens and reads them.
    pub(crate) fn stream(&self, text: &str, tokens: u32) -> Result<Streamed, BenchError> {
        let body = json!({
            "model": self.model, "stream": true, "temperature": 0, "max_tokens": tokens,
            "stream_options": { "include_usage": true },
            "messages": [{ "role": "user", "content": text }],
        });
        let wrong = |what: String| BenchError::Answer { who: self.who, what };
        let began = Instant::now();
        let request = self.agent.post(format!("{}/v1/chat/completions", self.url));
        let answer = request.send_json(&body).map_err(|error| wrong(error.to_string()))?;
        let mut times = Vec::new();
        let mut usage = Value::Null;
        for line in BufReader::new(answer.into_body().into_reader()).lines() {
            let line = line.map_err(|error| wrong(error.to_string()))?;
            let Some(data) = line.strip_prefix("data: ") else {
                continue;
            };
            if data == "[DONE]" {
                break;
            }
            let chunk: Value = serde_json::from_str(data).map_err(|error| wrong(error.to_string()))?;
            if chunk["choices"][0]["delta"]["content"].as_str().is_some_and(|text| !text.is_empty()) {
                times.push(began.elapsed().as_secs_f64());
            }
            if chunk["usage"].is_object() {
                usage = chunk["usage"].clone();
            }
        }
        let (Some(first), Some(last)) = (times.first(), times.last()) else {
            return Err(wrong("no visible text came".to_owned()));
        };
        let made = usage["completion_tokens"].as_f64();
        let made = made.ok_or_else(|| wrong("no usage came".to_owned()))?;
        Ok(Streamed {
            first_ms: first * 1000.0,
            tokens_per_second: (made - 1.0) / (last - first),
            prompt_tokens: usage["prompt_tokens"].as_f64().unwrap_or(f64::NAN),
        })
    }
}

/// Milliseconds of one GET over a connection of its own.
pub(crate) fn get_ms(url: &str) -> Result<f64, BenchError> {
    let config = ureq::Agent::config_builder().timeout_global(Some(LIMIT)).proxy(None).no_delay(true).build();
    let began = Instant::now();
    let answer = ureq::Agent::new_with_config(config).get(url).call();
    let wrong = |what: String| BenchError::Answer { who: "hangar", what };
    let mut answer = answer.map_err(|error| wrong(error.to_string()))?;
    answer.body_mut().read_to_string().map_err(|error| wrong(error.to_string()))?;
    Ok(began.elapsed().as_secs_f64() * 1000.0)
}
