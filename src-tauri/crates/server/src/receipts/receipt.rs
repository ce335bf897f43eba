//! One receipt as it is served.

use hangar_gemma::Withheld;
use hangar_protocol::{Finished, MemoryUse};
use hangar_supervisor::{RanOn, Start};
use serde::Serialize;

use crate::error::ApiError;
use crate::views::{Memory, rounded_ms};

/// How one request went. Times are milliseconds; null is unknown, or did not come to pass.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub(crate) struct Receipt {
    id: String,
    route: &'static str,
    /// Unix seconds.
    arrived_at: u64,
    profile: Option<String>,
    model: Option<String>,
    stream: bool,
    outcome: Outcome,
    finish_reason: Option<&'static str>,
    error: Option<Refusal>,
    /// How often the prompt's own text spells a control token.
    lookalikes: Option<u32>,
    /// Tool calls of the model that were not passed on.
    withheld_calls: Option<u32>,
    /// What of the request was let go, a sentence each.
    warnings: Vec<String>,
    timings: Timings,
    tokens: Tokens,
    memory: MemoryPair,
    /// What the governor decided; no governor decides yet.
    governor: Option<()>,
    worker: Option<Ran>,
}

/// What became of a request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Outcome {
    /// The whole answer went out.
    Answered,
    /// Refused before anything of an answer went out.
    Refused,
    /// Broke off after it had begun.
    Broken,
    /// The client went away first.
    #[default]
    ClientGone,
}

/// Why it was not answered.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Refusal {
    status: u16,
    #[serde(rename = "type")]
    kind: &'static str,
    param: Option<String>,
}

/// The process it ran on.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub(crate) struct Ran {
    generation: u64,
    pid: Option<u32>,
    #[serde(skip)]
    memory_before: Option<MemoryUse>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
struct Timings {
    queue_ms: Option<f64>,
    load_ms: Option<f64>,
    prefill_ms: Option<f64>,
    decode_ms: Option<f64>,
    first_text_ms: Option<f64>,
    total_ms: f64,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
struct Tokens {
    prompt: Option<u32>,
    prefill_new: Option<u32>,
    prefill_cached: Option<u32>,
    completion: Option<u32>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
struct MemoryPair {
    before: Option<Memory>,
    after: Option<Memory>,
}

impl Receipt {
    pub(super) fn new(id: String, route: &'static str, arrived_at: u64) -> Self {
        Self { id, route, arrived_at, ..Self::default() }
    }

    pub(super) fn id(&self) -> &str {
        &self.id
    }

    /// The profile that was asked, once that was known.
    pub(crate) fn profile(&self) -> Option<&str> {
        self.profile.as_deref()
    }

    pub(super) fn asks(&mut self, profile: &str, model_id: &str, stream: bool) {
        self.profile = Some(profile.to_owned());
        self.model = Some(model_id.to_owned());
        self.stream = stream;
    }

    pub(super) fn spells(&mut self, lookalikes: u32) {
        self.lookalikes = Some(lookalikes);
    }

    pub(super) fn withheld(&mut self, withheld: &Withheld) {
        let Withheld { undeclared, unwanted, malformed, surplus, cut } = *withheld;
        let all = [undeclared, unwanted, malformed, surplus, cut];
        self.withheld_calls = Some(all.into_iter().fold(0, u32::saturating_add));
    }

    pub(super) fn started(&mut self, start: &Start) {
        self.timings.queue_ms = Some(rounded_ms(start.queue_wait_ms));
        self.timings.load_ms = Some(rounded_ms(start.load_ms));
        self.read(start.prompt_tokens, start.cached_tokens);
        self.ran(Ran::of(start.ran_on));
    }

    pub(super) fn spoke(&mut self, first_text_ms: f64) {
        self.timings.first_text_ms.get_or_insert(rounded_ms(first_text_ms));
    }

    pub(super) fn finished(&mut self, finished: &Finished, ran: Ran) {
        self.timings.prefill_ms = Some(rounded_ms(finished.timings.prefill_ms));
        self.timings.decode_ms = Some(rounded_ms(finished.timings.generation_ms));
        self.read(finished.tokens.prompt_tokens, finished.tokens.cached_tokens);
        self.tokens.completion = Some(finished.tokens.completion_tokens);
        self.memory.after = Some(Memory::of(finished.memory));
        self.warnings.clone_from(&finished.warnings);
        self.ran(ran);
    }

    pub(super) fn ran(&mut self, ran: Ran) {
        self.memory.before = ran.memory_before.map(Memory::of);
        self.worker = Some(ran);
    }

    pub(super) fn end(
        &mut self,
        outcome: Outcome,
        finish_reason: Option<&'static str>,
        error: Option<Refusal>,
    ) {
        self.outcome = outcome;
        self.finish_reason = finish_reason;
        self.error = error;
    }

    pub(super) fn close(&mut self, total_ms: f64) {
        self.timings.total_ms = rounded_ms(total_ms);
    }

    fn read(&mut self, prompt_tokens: u32, cached_tokens: u32) {
        self.tokens.prompt = Some(prompt_tokens);
        self.tokens.prefill_cached = Some(cached_tokens);
        self.tokens.prefill_new = Some(prompt_tokens.saturating_sub(cached_tokens));
    }
}

impl Refusal {
    pub(super) fn of(error: &ApiError) -> Self {
        Self {
            status: error.status().as_u16(),
            kind: error.code().word(),
            param: error.param().map(|param| param.chars().take(200).collect()),
        }
    }
}

impl Ran {
    pub(super) fn of(ran_on: RanOn) -> Self {
        Self { generation: ran_on.generation, pid: ran_on.pid, memory_before: ran_on.memory_before }
    }
}
