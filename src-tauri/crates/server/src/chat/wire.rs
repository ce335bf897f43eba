//! The answer in OpenAI's shapes, whole and in chunks.

use hangar_gemma::{Finish, ToolCall};
use hangar_protocol::{FinishReason, Finished};
use hangar_supervisor::Start;
use serde::Serialize;

use crate::views::{Memory, rounded_ms as rounded};

pub(crate) use super::said::Gathered;
use super::said::{Call, Message};
pub(crate) use super::still::Still;

/// What stays the same in every part of one answer.
#[derive(Clone, Debug)]
pub(crate) struct Envelope {
    /// `chatcmpl-` and letters.
    pub(crate) id: String,
    /// Unix seconds.
    pub(crate) created: u64,
    /// The served model.
    pub(crate) model: String,
}

/// How an answer ended, as clients read it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct Ending {
    /// Token counts.
    pub(crate) usage: Usage,
    /// Times and memory.
    pub(crate) metrics: Metrics,
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

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
struct PromptDetails {
    cached_tokens: u32,
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
    kv_cache: Option<()>,
    memory: Memory,
}

impl Ending {
    /// Puts together what the worker said at the start and at the end; none for an answer that was cancelled.
    pub(crate) fn new(
        start: Start,
        finished: &Finished,
        finish: Finish,
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
                prompt_tokens_details: PromptDetails { cached_tokens: tokens.cached_tokens },
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
                kv_cache: None,
                memory: Memory::of(finished.memory),
            },
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
}

#[derive(Debug, Serialize)]
struct Choice<'a> {
    index: u32,
    message: Message<'a>,
    logprobs: Option<()>,
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
                logprobs: None,
                finish_reason: ending.finish_reason,
            }],
            usage: &ending.usage,
            metrics: &ending.metrics,
        }
    }
}

/// What one chunk of a stream says.
#[derive(Clone, Copy, Debug)]
pub(crate) enum News<'a> {
    /// Who speaks; the first chunk.
    Role,
    /// More text.
    Text(&'a str),
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
    Finish(&'static str),
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
    #[serde(flatten)]
    still: Option<Still>,
}

#[derive(Serialize)]
struct ChunkChoice<'a> {
    index: u32,
    delta: Delta<'a>,
    logprobs: Option<()>,
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
    let (delta, finish_reason, still) = match news {
        News::Role => (Delta { role: Some("assistant"), content: Some(""), ..Delta::default() }, None, None),
        News::Text(text) => (Delta { content: Some(text), ..Delta::default() }, None, None),
        News::Reasoning(text) => (Delta { reasoning_content: Some(text), ..Delta::default() }, None, None),
        News::Call(call) => (Delta { tool_calls: Some([Call::begun(call)]), ..Delta::default() }, None, None),
        News::Arguments(call) => {
            (Delta { tool_calls: Some([Call::arguments(call)]), ..Delta::default() }, None, None)
        }
        News::StillHere(still) => (Delta::default(), None, still),
        News::Finish(reason) => (Delta::default(), Some(reason), None),
    };
    let choices = [ChunkChoice { index: 0, delta, logprobs: None, finish_reason }];
    chunk(envelope, &choices, Figures { usage: include_usage.then_some(None), still, ..Figures::default() })
}

/// The event with the counts.
pub(crate) fn usage_event(envelope: &Envelope, ending: &Ending) -> String {
    let (usage, metrics) = (Some(Some(&ending.usage)), Some(&ending.metrics));
    chunk(envelope, &[], Figures { usage, metrics, still: None })
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
    still: Option<Still>,
}

fn chunk(envelope: &Envelope, choices: &[ChunkChoice<'_>], figures: Figures<'_>) -> String {
    let Figures { usage, metrics, still } = figures;
    let chunk = Chunk {
        id: &envelope.id,
        object: "chat.completion.chunk",
        created: envelope.created,
        model: &envelope.model,
        choices,
        usage,
        metrics,
        still,
    };
    // Strings and finite numbers always have a JSON form.
    data(&serde_json::to_string(&chunk).unwrap_or_default())
}

#[cfg(test)]
mod tests;
