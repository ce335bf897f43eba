//! How a worker chooses tokens: the part of an order to generate that is not the prompt.

use serde::{Deserialize, Serialize};

/// How the next token is chosen.
///
/// What is applied, in this order: the grammar's mask; repetition, then presence and frequency penalty;
/// temperature; `top_k`; `top_p`; `min_p`. Each filter sees the distribution that the one before it left,
/// renormalised, and always leaves at least one token.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Sampling {
    /// At least 0; 0 takes the likeliest token, and then the filters change nothing.
    pub temperature: f32,
    /// Keeps that many of the likeliest tokens; 0 keeps every token.
    pub top_k: u32,
    /// Nucleus mass in 0..=1; 1 keeps every token.
    pub top_p: f32,
    /// Drops what is less likely than this part of the likeliest token, in 0..=1; 0 keeps every token.
    pub min_p: f32,
    /// Divides the logits of text tokens among the last 64 of prompt and answer (multiplies negative ones);
    /// over 0, and 1 changes nothing.
    pub repetition_penalty: f32,
    /// Taken off the logits of text tokens that the answer holds already; in -2..=2, and 0 changes nothing.
    pub presence_penalty: f32,
    /// Taken off as often as the answer holds the token; in -2..=2, and 0 changes nothing.
    pub frequency_penalty: f32,
    /// Same seed, same text; null draws one.
    pub seed: Option<u64>,
    /// At most four texts, none of them empty, before the first of which visible text ends.
    pub stop: Vec<String>,
    /// Asks for the log-probability of each token and of that many likeliest ones, at most 20. They are the
    /// model's own, before anything above.
    pub logprobs: Option<u8>,
    /// What the answer must be.
    pub grammar: Option<Grammar>,
    /// Whether thinking may come before the answer.
    pub thought: Thought,
}

/// What an answer must be; schemas are JSON text, so that the order of their properties is kept.
///
/// Keywords of a schema that cannot be enforced are let go, with a warning in `finished`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Grammar {
    /// Any JSON object.
    JsonObject,
    /// JSON as a schema wants it.
    JsonSchema {
        /// The schema.
        schema_json: String,
    },
    /// Calls in the model's own notation and nothing else.
    ToolCalls {
        /// The tools that may be called, at least one.
        tools: Vec<CallableTool>,
        /// Whether more than one call may be made.
        parallel: bool,
    },
}

/// A tool that may be called.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CallableTool {
    /// Its name.
    pub name: String,
    /// Schema of its arguments, an object.
    pub parameters_json: String,
}

/// Whether thinking may come before an answer. Grammar and stop texts do not reach into it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Thought {
    /// An answer under a grammar begins at once.
    #[default]
    Off,
    /// A thought channel may be opened first.
    Allowed,
    /// The prompt ends inside an open thought.
    Open,
}

impl Default for Sampling {
    /// The model's own distribution, untouched.
    fn default() -> Self {
        Self {
            temperature: 1.0,
            top_k: 0,
            top_p: 1.0,
            min_p: 0.0,
            repetition_penalty: 1.0,
            presence_penalty: 0.0,
            frequency_penalty: 0.0,
            seed: None,
            stop: Vec::new(),
            logprobs: None,
            grammar: None,
            thought: Thought::Off,
        }
    }
}
