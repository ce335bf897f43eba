//! Log-probabilities of an answer's text, in OpenAI's shape.

use hangar_protocol::{Candidate, ScoredToken};
use serde::Serialize;

/// What `logprobs` holds where it was asked for.
#[derive(Debug, Serialize)]
pub(crate) struct Logprobs<'a> {
    content: Vec<Scored<'a>>,
    refusal: Option<()>,
}

#[derive(Debug, Serialize)]
struct Scored<'a> {
    #[serde(flatten)]
    chosen: Likely<'a>,
    top_logprobs: Vec<Likely<'a>>,
}

/// A token that was generated, or might have been; natural logarithms.
#[derive(Debug, Serialize)]
struct Likely<'a> {
    /// Its bytes as text; a character that is cut comes as U+FFFD, and `bytes` tells.
    token: String,
    logprob: f32,
    bytes: &'a [u8],
}

impl<'a> Logprobs<'a> {
    /// The shape of these tokens.
    pub(crate) fn of(tokens: &'a [ScoredToken]) -> Self {
        let scored = |token: &'a ScoredToken| Scored {
            chosen: Likely::of(&token.bytes, token.logprob),
            top_logprobs: token.top.iter().map(candidate).collect(),
        };
        Self { content: tokens.iter().map(scored).collect(), refusal: None }
    }
}

impl<'a> Likely<'a> {
    fn of(bytes: &'a [u8], logprob: f32) -> Self {
        Self { token: String::from_utf8_lossy(bytes).into_owned(), logprob, bytes }
    }
}

fn candidate(candidate: &Candidate) -> Likely<'_> {
    Likely::of(&candidate.bytes, candidate.logprob)
}
