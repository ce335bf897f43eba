//! The answer in OpenAI's shapes, whole and in chunks.

use hangar_protocol::{FinishReason, Finished};
use hangar_supervisor::Start;
use serde::Serialize;

use crate::views::{Memory, rounded_ms as rounded};

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
    /// `stop` or `length`.
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
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
struct PromptDetails {
    cached_tokens: u32,
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
    pub(crate) fn new(start: Start, finished: &Finished, total_ms: f64) -> Option<Self> {
        let finish_reason = match finished.reason {
            FinishReason::Stop | FinishReason::StopText => "stop",
            FinishReason::Length => "length",
            FinishReason::Cancelled => return None,
        };
        let tokens = finished.tokens;
        Some(Self {
            usage: Usage {
                prompt_tokens: tokens.prompt_tokens,
                completion_tokens: tokens.completion_tokens,
                total_tokens: tokens.prompt_tokens.saturating_add(tokens.completion_tokens),
                prompt_tokens_details: PromptDetails { cached_tokens: tokens.cached_tokens },
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

#[derive(Debug, Serialize)]
struct Message<'a> {
    role: &'static str,
    content: &'a str,
    refusal: Option<()>,
}

impl<'a> Completion<'a> {
    pub(crate) fn new(envelope: &'a Envelope, content: &'a str, ending: &'a Ending) -> Self {
        Self {
            id: &envelope.id,
            object: "chat.completion",
            created: envelope.created,
            model: &envelope.model,
            choices: [Choice {
                index: 0,
                message: Message { role: "assistant", content, refusal: None },
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
}

/// One event with news; `include_usage` announces the counts that come at the end.
pub(crate) fn event(envelope: &Envelope, news: News<'_>, include_usage: bool) -> String {
    let (delta, finish_reason, still) = match news {
        News::Role => (Delta { role: Some("assistant"), content: Some("") }, None, None),
        News::Text(text) => (Delta { content: Some(text), ..Delta::default() }, None, None),
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
mod tests {
    use hangar_protocol::{MemoryUse, RequestId, Timings, TokenUse};

    use hangar_supervisor::RanOn;

    use super::*;

    const RAN_ON: RanOn = RanOn { generation: 1, pid: None, memory_before: None };

    fn envelope() -> Envelope {
        Envelope { id: "chatcmpl-abc".into(), created: 1_700_000_000, model: "gemma-4-pocket".into() }
    }

    fn finished(reason: FinishReason) -> Finished {
        Finished {
            request: RequestId(1),
            reason,
            tokens: TokenUse { prompt_tokens: 30, cached_tokens: 12, completion_tokens: 5 },
            timings: Timings { prefill_ms: 10.123_456, generation_ms: 20.0 },
            memory: MemoryUse { active_bytes: 1 << 30, peak_bytes: 3 << 29, cache_bytes: 0 },
            warnings: Vec::new(),
        }
    }

    fn ending() -> Ending {
        let start =
            Start { prompt_tokens: 30, cached_tokens: 12, queue_wait_ms: 1.5, load_ms: 0.0, ran_on: RAN_ON };
        Ending::new(start, &finished(FinishReason::Stop), 40.0).unwrap()
    }

    #[test]
    fn a_whole_answer_has_the_shape_clients_know() {
        insta::assert_json_snapshot!(Completion::new(&envelope(), "noted.", &ending()));
    }

    #[test]
    fn a_stream_with_usage_has_the_shape_clients_know() {
        let envelope = envelope();
        let news = [
            News::Role,
            News::Text("a\n\"b\""),
            News::StillHere(Some(Still::new(Some(30)))),
            News::StillHere(None),
            News::Finish("stop"),
        ];
        let mut stream: String = news.iter().map(|news| event(&envelope, *news, true)).collect();
        stream.push_str(&usage_event(&envelope, &ending()));
        stream.push_str(&data("[DONE]"));
        insta::assert_snapshot!(stream);
    }

    #[test]
    fn without_include_usage_no_chunk_speaks_of_it() {
        assert!(!event(&envelope(), News::Role, false).contains("usage"));
    }

    #[test]
    fn every_event_is_one_line_of_data() {
        let event = event(&envelope(), News::Text("\r\n\n\u{2028}"), false);
        assert_eq!(event.trim_end().lines().count(), 1);
        assert!(event.ends_with("\n\n"));
    }

    #[test]
    fn a_cancelled_answer_has_no_ending() {
        let start =
            Start { prompt_tokens: 1, cached_tokens: 0, queue_wait_ms: 0.0, load_ms: 0.0, ran_on: RAN_ON };
        assert!(Ending::new(start, &finished(FinishReason::Cancelled), 1.0).is_none());
    }
}
