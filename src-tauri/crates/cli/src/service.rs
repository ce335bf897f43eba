//! A running server as a client sees it: plain answers, streams, and one profile's worker.

use std::io::{BufRead, BufReader, Lines};
use std::time::Duration;

use hangar_server::{Inspection, inspect};
use serde_json::{Value, json};

use crate::arguments::Target;
use crate::failure::Failure;
use crate::place;

/// Longest wait for one answer; a cold load of a large model is part of it.
const LIMIT: Duration = Duration::from_secs(600);

/// A server, and the profile asked about.
#[derive(Clone, Debug)]
pub(crate) struct Service {
    agent: ureq::Agent,
    url: String,
    profile: Option<String>,
}

/// One answer, whatever its status.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Answered {
    /// HTTP status.
    pub(crate) status: u16,
    /// Its JSON; null where it is none.
    pub(crate) body: Value,
}

/// A streamed answer, event by event.
pub(crate) struct Events {
    url: String,
    lines: Lines<BufReader<ureq::BodyReader<'static>>>,
}

/// One event of a stream.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum StreamEvent {
    /// A chunk of the answer.
    Chunk(Value),
    /// The error that ends a broken stream.
    Error(Value),
    /// The end in order.
    Done,
}

impl Service {
    /// The server that the command line names, or the one of this `HANGAR_HOME`.
    ///
    /// # Errors
    /// [`Failure`] when there is none.
    pub(crate) fn find(target: &Target) -> Result<Self, Failure> {
        let url = match &target.url {
            Some(url) => url.trim_end_matches('/').trim_end_matches("/v1").to_owned(),
            None => match inspect(&place::home()?)? {
                Inspection::Free => return Err(Failure::NotRunning),
                Inspection::Served(None) => return Err(Failure::Nameless),
                Inspection::Served(Some(hint)) => hint.url,
            },
        };
        Ok(Self::at(url, target.profile.clone()))
    }

    /// The server at an address.
    pub(crate) fn at(url: String, profile: Option<String>) -> Self {
        let config = ureq::Agent::config_builder()
            .timeout_global(Some(LIMIT))
            .proxy(None)
            .no_delay(true)
            .http_status_as_error(false)
            // A connection that the server closed meanwhile must not be taken for its answer.
            .max_idle_connections(0)
            .build();
        Self { agent: ureq::Agent::new_with_config(config), url, profile }
    }

    /// Gets a path.
    ///
    /// # Errors
    /// [`Failure::NoAnswer`] when nothing answers.
    pub(crate) fn get(&self, path: &str) -> Result<Answered, Failure> {
        let answer = self.agent.get(format!("{}{path}", self.url)).call();
        read(answer.map_err(|error| self.silent(&error))?)
    }

    /// Posts JSON to a path.
    ///
    /// # Errors
    /// [`Failure::NoAnswer`] when nothing answers.
    pub(crate) fn post(&self, path: &str, body: &Value) -> Result<Answered, Failure> {
        let answer = self.agent.post(format!("{}{path}", self.url)).send_json(body);
        read(answer.map_err(|error| self.silent(&error))?)
    }

    /// Asks for a whole answer.
    ///
    /// # Errors
    /// [`Failure::NoAnswer`] when nothing answers.
    pub(crate) fn chat(&self, text: &str, max_tokens: u32) -> Result<Answered, Failure> {
        self.post("/v1/chat/completions", &self.question(text, max_tokens, false))
    }

    /// Asks for a streamed answer; returns with its head.
    ///
    /// # Errors
    /// [`Failure::NoAnswer`] when nothing answers, [`Failure::Refused`] when it is refused with a status.
    pub(crate) fn stream(&self, text: &str, max_tokens: u32) -> Result<Events, Failure> {
        let url = format!("{}/v1/chat/completions", self.url);
        let answer = self.agent.post(&url).send_json(self.question(text, max_tokens, true));
        let answer = answer.map_err(|error| self.silent(&error))?;
        if answer.status() != 200 {
            let Answered { status, body } = read(answer)?;
            return Err(Failure::Refused { url, status, what: message(&body) });
        }
        Ok(Events { url, lines: BufReader::new(answer.into_body().into_reader()).lines() })
    }

    /// Unloads the worker, even a busy one; returns once its process is reaped.
    ///
    /// # Errors
    /// [`Failure`] when it is not unloaded.
    pub(crate) fn unload(&self) -> Result<Answered, Failure> {
        let answered = self.post(&self.of_profile("/admin/worker/unload"), &json!({ "force": true }))?;
        if answered.status == 200 {
            return Ok(answered);
        }
        let url = format!("{}/admin/worker/unload", self.url);
        Err(Failure::Refused { url, status: answered.status, what: message(&answered.body) })
    }

    /// `/ready`, and in it the worker of the profile.
    ///
    /// # Errors
    /// [`Failure::NoAnswer`] when nothing answers.
    pub(crate) fn ready(&self) -> Result<(Answered, Value), Failure> {
        let answered = self.get(&self.of_profile("/ready"))?;
        let worker = match &self.profile {
            Some(profile) if answered.body["profiles"].is_object() => {
                answered.body["profiles"][profile].clone()
            }
            Some(_) | None => answered.body["worker"].clone(),
        };
        Ok((answered, worker))
    }

    fn of_profile(&self, path: &str) -> String {
        self.profile.as_ref().map_or_else(|| path.to_owned(), |profile| format!("{path}?profile={profile}"))
    }

    fn question(&self, text: &str, max_tokens: u32, stream: bool) -> Value {
        let mut question = json!({
            "messages": [{ "role": "user", "content": text }],
            "max_tokens": max_tokens, "temperature": 0, "stream": stream,
        });
        if let Some(profile) = &self.profile {
            question["model"] = profile.as_str().into();
        }
        question
    }

    fn silent(&self, error: &ureq::Error) -> Failure {
        Failure::NoAnswer { url: self.url.clone(), what: error.to_string() }
    }
}

impl Events {
    /// The next event; none when the connection ends.
    ///
    /// # Errors
    /// [`Failure::NoAnswer`] when the connection breaks.
    pub(crate) fn next(&mut self) -> Result<Option<StreamEvent>, Failure> {
        for line in &mut self.lines {
            let line =
                line.map_err(|error| Failure::NoAnswer { url: self.url.clone(), what: error.to_string() })?;
            let Some(text) = line.strip_prefix("data: ") else {
                continue;
            };
            if text == "[DONE]" {
                return Ok(Some(StreamEvent::Done));
            }
            let event: Value = serde_json::from_str(text).unwrap_or_default();
            let is_error = event["error"].is_object();
            return Ok(Some(if is_error { StreamEvent::Error(event) } else { StreamEvent::Chunk(event) }));
        }
        Ok(None)
    }
}

/// The visible text of a whole answer, or what its error says.
pub(crate) fn message(body: &Value) -> String {
    let content = body["choices"][0]["message"]["content"].as_str();
    let error = || {
        let code = body["error"]["code"].as_str()?;
        Some(format!("{code}: {}", body["error"]["message"].as_str().unwrap_or_default()))
    };
    content.map(str::to_owned).or_else(error).unwrap_or_else(|| "no text".to_owned())
}

fn read(mut answer: ureq::http::Response<ureq::Body>) -> Result<Answered, Failure> {
    let status = answer.status().as_u16();
    let body = answer.body_mut().read_json().unwrap_or_default();
    Ok(Answered { status, body })
}
