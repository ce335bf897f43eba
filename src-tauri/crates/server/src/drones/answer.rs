//! An answered turn as clients read it, whole and in events.

use hangar_gemma::{Delta, ToolCall};
use serde::Serialize;

use crate::chat::Still;
use crate::media::Clip;
use crate::views::Memory;

/// An answered turn as clients read it.
#[derive(Debug, Serialize)]
pub(crate) struct Ended {
    pub(crate) object: &'static str,
    pub(crate) session_id: String,
    pub(crate) turn_index: u32,
    pub(crate) completion: Completion,
    pub(crate) metrics: Metrics,
    pub(crate) usage: Usage,
    pub(crate) elapsed_ms: f64,
    /// Unix seconds.
    pub(crate) expires_at: u64,
    pub(crate) turns_left: u32,
    pub(crate) state_bytes: u64,
}

#[derive(Debug, Serialize)]
pub(crate) struct Completion {
    pub(crate) text: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) reasoning: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) tool_calls: Vec<Call>,
    pub(crate) finish_reason: &'static str,
}

#[derive(Debug, Serialize)]
pub(crate) struct Call {
    pub(crate) id: String,
    #[serde(rename = "type")]
    pub(crate) kind: &'static str,
    pub(crate) function: Function,
}

#[derive(Debug, Serialize)]
pub(crate) struct Function {
    pub(crate) name: String,
    pub(crate) arguments: String,
}

#[derive(Debug, Serialize)]
pub(crate) struct Metrics {
    pub(crate) turn_index: u32,
    /// Tokens of what the turn brought.
    pub(crate) prompt_tokens_new: u32,
    /// Tokens that were there as state.
    pub(crate) cached_tokens: u32,
    pub(crate) audio_token_count: u32,
    /// The clips that the sound became; each is heard by itself.
    pub(crate) audio_segments: Vec<Clip>,
    /// Parts that were left out because their kind is not taken.
    pub(crate) omitted_parts: u32,
    pub(crate) queue_wait_ms: f64,
    pub(crate) load_ms: f64,
    pub(crate) prefill_ms: f64,
    pub(crate) generation_ms: f64,
    pub(crate) context_tokens_total: u32,
    pub(crate) peak_memory_gb: f64,
    pub(crate) memory: Memory,
}

#[derive(Debug, Serialize)]
pub(crate) struct Usage {
    pub(crate) prompt_tokens: u32,
    pub(crate) completion_tokens: u32,
    pub(crate) total_tokens: u32,
}

/// One event of a stream.
#[derive(Debug, Serialize)]
pub(crate) struct Chunk {
    pub(crate) object: &'static str,
    pub(crate) session_id: String,
    pub(crate) turn_index: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) delta: Option<DeltaView>,
    #[serde(flatten)]
    pub(crate) still: Option<Still>,
}

#[derive(Debug, Default, Serialize)]
pub(crate) struct DeltaView {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) text: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) reasoning: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) tool_calls: Vec<Call>,
}

impl DeltaView {
    /// What the next piece of an answer says.
    pub(crate) fn of(delta: Delta) -> Self {
        match delta {
            Delta::Text(text) => Self { text: Some(text), ..Self::default() },
            Delta::Reasoning(text) => Self { reasoning: Some(text), ..Self::default() },
            Delta::Call(call) => Self { tool_calls: vec![call_view(call)], ..Self::default() },
        }
    }
}

/// A call in the shape of OpenAI's.
pub(crate) fn call_view(call: ToolCall) -> Call {
    let ToolCall { id, name, arguments, .. } = call;
    Call { id, kind: "function", function: Function { name, arguments } }
}
