//! What an answer says, in OpenAI's shapes: text, thinking, tool calls.

use hangar_gemma::{Delta, ToolCall};
use hangar_protocol::ScoredToken;
use serde::Serialize;

use super::hearing::Heard;
use super::scores::Logprobs;

/// The message of a whole answer.
#[derive(Debug, Serialize)]
pub(crate) struct Message<'a> {
    role: &'static str,
    content: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reasoning_content: Option<&'a str>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tool_calls: Vec<Call<'a>>,
    refusal: Option<()>,
}

/// A tool call, or a part of one in a stream.
#[derive(Debug, Serialize)]
pub(crate) struct Call<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    index: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<&'a str>,
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    kind: Option<&'static str>,
    function: Function<'a>,
}

#[derive(Debug, Serialize)]
struct Function<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<&'a str>,
    arguments: &'a str,
}

impl<'a> Call<'a> {
    /// A whole call.
    fn whole(call: &'a ToolCall) -> Self {
        let function = Function { name: Some(&call.name), arguments: &call.arguments };
        Self { index: None, id: Some(&call.id), kind: Some("function"), function }
    }

    /// What comes first of a call in a stream: everything but its arguments.
    pub(crate) fn begun(call: &'a ToolCall) -> Self {
        let function = Function { name: Some(&call.name), arguments: "" };
        Self { index: Some(call.index), id: Some(&call.id), kind: Some("function"), function }
    }

    /// The arguments of a call in a stream.
    pub(crate) fn arguments(call: &'a ToolCall) -> Self {
        let function = Function { name: None, arguments: &call.arguments };
        Self { index: Some(call.index), id: None, kind: None, function }
    }
}

/// Everything of a whole answer.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Gathered {
    content: String,
    reasoning: String,
    calls: Vec<ToolCall>,
    scores: Vec<ScoredToken>,
}

impl Gathered {
    /// Takes what was told next.
    pub(crate) fn extend(&mut self, heard: Vec<Heard>) {
        for Heard { delta, scores } in heard {
            self.scores.extend(scores);
            match delta {
                Delta::Text(text) => self.content.push_str(&text),
                Delta::Reasoning(text) => self.reasoning.push_str(&text),
                Delta::Call(call) => self.calls.push(call),
            }
        }
    }

    /// Its visible text.
    pub(crate) fn text(&self) -> &str {
        &self.content
    }

    /// The log-probabilities of its text.
    pub(crate) fn logprobs(&self) -> Logprobs<'_> {
        Logprobs::of(&self.scores)
    }

    /// The message; an answer of calls alone has no content.
    pub(crate) fn message(&self) -> Message<'_> {
        Message {
            role: "assistant",
            content: (!self.content.is_empty() || self.calls.is_empty()).then_some(&self.content),
            reasoning_content: (!self.reasoning.is_empty()).then_some(&self.reasoning),
            tool_calls: self.calls.iter().map(Call::whole).collect(),
            refusal: None,
        }
    }
}
