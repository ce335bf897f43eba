//! The answer in OpenAI's shapes, whole and in chunks.

use hangar_gemma::{Finish, ToolCall};
use hangar_protocol::{FinishReason, Finished, ScoredToken};
use hangar_supervisor::Start;
use serde::Serialize;

use crate::views::{Memory, rounded_ms as rounded};

pub(crate) use super::said::Gathered;
use super::said::{Call, Message};
use super::scores::Logprobs;
pub(crate) use super::still::Still;
use super::timings::Timings;

/// What stays the same in every part of one answer.
#[derive(Clone, Debug)]
pub(crate) struct Envelope {
    /// `chatcmpl-` and letters.
    pub(crate) id: String,
    /// Unix seconds.
    pub(crate) created: u64,
    /// The served model.
    pub(crate) model: String,
    /// Whether log-probabilities were asked for.
    pub(crate) scored: bool,
}

/// How an answer ended, as clients read it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct Ending {
    /// Token counts.
    pub(crate) usage: Usage,
    /// Times and memory.
    pub(crate) metrics: Metrics,
    /// Speeds.
    pub(crate) timings: Timings,
    /// `stop`, `tool_calls` or `length`.
    #[serde(skip)]
    pub(crate) finish_reason: &'static str,
}

/// Token counts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Usage {
    prompt_tokens: u32,
    completion_tokens: u32,
    total_tokens: u32,
    prompt_tokens_details: PromptDetails,
    completion_tokens_details: CompletionDetails,
}

impl Usage {
    /// The same counts in the shape that transcriptions have.
    pub(crate) fn of_sound(&self) -> serde_json::Value {
        let audio_tokens = self.prompt_tokens_details.audio_tokens;
        serde_json::json!({
            "type": "tokens",
            "input_tokens": self.prompt_tokens,
            "input_token_details": {
                "audio_tokens": audio_tokens,
                "text_tokens": self.prompt_tokens.saturating_sub(audio_tokens),
            },
            "output_tokens": self.completion_tokens,
            "total_tokens": self.total_tokens,
        })
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
struct PromptDetails {
    cached_tokens: u32,
    audio_tokens: u32,
}

/// What was taken in besides text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Intake {
    /// Tokens that sound takes.
    pub(crate) audio_tokens: u32,
    /// Parts that were left out because their kind is not taken.
    pub(crate) omitted_parts: u32,
    /// How long the sound lasts, in milliseconds.
    pub(crate) audio_ms: u64,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
struct CompletionDetails {
    reasoning_tokens: u32,
}

/// Times in milliseconds and memory.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct Metrics {
    queue_wait_ms: f64,
    load_ms: f64,
    prefill_ms: f64,
    generation_ms: f64,
    total_ms: f64,
    cached_tokens: u32,
    omitted_parts: u32,
    kv_cache: Option<()>,
    memory: Memory,
    /// What of the request was let go, a sentence each.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    warnings: Vec<String>,
}

impl Ending {
    /// Puts together what the worker said at the start and at the end; none for an answer that was cancelled.
    pub(crate) fn new(
        start: Start,
        finished: &Finished,
        finish: Finish,
        intake: Intake,
        reasoning_tokens: u32,
        total_ms: f64,
    ) -> Option<Self> {
        if finished.reason == FinishReason::Cancelled {
            return None;
        }
        let finish_reason = match finish {
            Finish::Stop => "stop",
            Finish::ToolCalls => "tool_calls",
            Finish::Length => "length",
        };
        let tokens = finished.tokens;
        Some(Self {
            usage: Usage {
                prompt_tokens: tokens.prompt_tokens,
                completion_tokens: tokens.completion_tokens,
                total_tokens: tokens.prompt_tokens.saturating_add(tokens.completion_tokens),
                prompt_tokens_details: PromptDetails {
                    cached_tokens: tokens.cached_tokens,
                    audio_tokens: intake.audio_tokens,
                },
                completion_tokens_details: CompletionDetails {
                    reasoning_tokens: reasoning_tokens.min(tokens.completion_tokens),
                },
            },
            metrics: Metrics {
                queue_wait_ms: rounded(start.queue_wait_ms),
                load_ms: rounded(start.load_ms),
                prefill_ms: rounded(finished.timings.prefill_ms),
                generation_ms: rounded(finished.timings.generation_ms),
                total_ms: rounded(total_ms),
                cached_tokens: tokens.cached_tokens,
                omitted_parts: intake.omitted_parts,
                kv_cache: None,
                memory: Memory::of(finished.memory),
                warnings: finished.warnings.clone(),
            },
            timings: Timings::of(finished),
            finish_reason,
        })
    }

    /// Tokens in and out, for the log.
    pub(crate) fn counts(&self) -> (u32, u32) {
        (self.usage.prompt_tokens, self.usage.completion_tokens)
    }
}

/// A whole answer.
#[derive(Debug, Serialize)]
pub(crate) struct Completion<'a> {
    id: &'a str,
    object: &'static str,
    created: u64,
    model: &'a str,
    choices: [Choice<'a>; 1],
    usage: &'a Usage,
    metrics: &'a Metrics,
    timings: &'a Timings,
}

#[derive(Debug, Serialize)]
struct Choice<'a> {
    index: u32,
    message: Message<'a>,
    logprobs: Option<Logprobs<'a>>,
    finish_reason: &'static str,
}

impl<'a> Completion<'a> {
    pub(crate) fn new(envelope: &'a Envelope, gathered: &'a Gathered, ending: &'a Ending) -> Self {
        Self {
            id: &envelope.id,
            object: "chat.completion",
            created: envelope.created,
            model: &envelope.model,
            choices: [Choice {
                index: 0,
                message: gathered.message(),
                logprobs: envelope.scored.then(|| gathered.logprobs()),
                finish_reason: ending.finish_reason,
            }],
            usage: &ending.usage,
            metrics: &ending.metrics,
            timings: &ending.timings,
        }
    }
}

/// What one chunk of a stream says.
#[derive(Clone, Copy, Debug)]
pub(crate) enum News<'a> {
    /// Who speaks; the first chunk.
    Role,
    /// More text, and its tokens where they are scored.
    Text(&'a str, &'a [ScoredToken]),
    /// More thinking.
    Reasoning(&'a str),
    /// A tool call without its arguments.
    Call(&'a ToolCall),
    /// A tool call's arguments.
    Arguments(&'a ToolCall),
    /// Nothing new, and how far it is until there is text; some clients count silence as death, and comments as
    /// silence.
    StillHere(Option<Still>),
    /// Why it ended.
    Finish(&'a Ending),
}

#[derive(Serialize)]
struct Chunk<'a> {
    id: &'a str,
    object: &'static str,
    created: u64,
    model: &'a str,
    choices: &'a [ChunkChoice<'a>],
    #[serde(skip_serializing_if = "Option::is_none")]
    usage: Option<Option<&'a Usage>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    metrics: Option<&'a Metrics>,
    #[serde(skip_serializing_if = "Option::is_none")]
    timings: Option<&'a Timings>,
    #[serde(flatten)]
    still: Option<Still>,
}

#[derive(Serialize)]
struct ChunkChoice<'a> {
    index: u32,
    delta: Delta<'a>,
    logprobs: Option<Logprobs<'a>>,
    finish_reason: Option<&'static str>,
}

#[derive(Default, Serialize)]
struct Delta<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    role: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    content: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reasoning_content: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_calls: Option<[Call<'a>; 1]>,
}

/// One event with news; `include_usage` announces the counts that come at the end.
pub(crate) fn event(envelope: &Envelope, news: News<'_>, include_usage: bool) -> String {
    let mut figures = Figures { usage: include_usage.then_some(None), ..Figures::default() };
    let (mut logprobs, mut finish_reason) = (None, None);
    let delta = match news {
        News::Role => Delta { role: Some("assistant"), content: Some(""), ..Delta::default() },
        News::Text(text, tokens) => {
            logprobs = envelope.scored.then(|| Logprobs::of(tokens));
            Delta { content: Some(text), ..Delta::default() }
        }
        News::Reasoning(text) => Delta { reasoning_content: Some(text), ..Delta::default() },
        News::Call(call) => Delta { tool_calls: Some([Call::begun(call)]), ..Delta::default() },
        News::Arguments(call) => Delta { tool_calls: Some([Call::arguments(call)]), ..Delta::default() },
        News::StillHere(still) => {
            figures.still = still;
            Delta::default()
        }
        News::Finish(ending) => {
            finish_reason = Some(ending.finish_reason);
            // Clients of llama.cpp take them from the last chunk, whichever that is.
            figures.timings = (!include_usage).then_some(&ending.timings);
            Delta::default()
        }
    };
    chunk(envelope, &[ChunkChoice { index: 0, delta, logprobs, finish_reason }], figures)
}

/// The event with the counts.
pub(crate) fn usage_event(envelope: &Envelope, ending: &Ending) -> String {
    let figures = Figures {
        usage: Some(Some(&ending.usage)),
        metrics: Some(&ending.metrics),
        timings: Some(&ending.timings),
        still: None,
    };
    chunk(envelope, &[], figures)
}

/// One event around a JSON text.
pub(crate) fn data(json: &str) -> String {
    format!("data: {json}\n\n")
}

/// What a chunk says besides its choices.
#[derive(Default)]
struct Figures<'a> {
    usage: Option<Option<&'a Usage>>,
    metrics: Option<&'a Metrics>,
    timings: Option<&'a Timings>,
    still: Option<Still>,
}

fn chunk(envelope: &Envelope, choices: &[ChunkChoice<'_>], figures: Figures<'_>) -> String {
    let Figures { usage, metrics, timings, still } = figures;
    let chunk = Chunk {
        id: &envelope.id,
        object: "chat.completion.chunk",
        created: envelope.created,
        model: &envelope.model,
        choices,
        usage,
        metrics,
        timings,
        still,
    };
    // Strings and finite numbers always have a JSON form.
    data(&serde_json::to_string(&chunk).unwrap_or_default())
}

#[cfg(test)]
mod tests;
