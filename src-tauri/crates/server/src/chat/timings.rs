//! Speeds of an answer, in the shape that llama.cpp's server gave them and its clients read.

use hangar_protocol::Finished;
use serde::Serialize;

use crate::views::rounded_ms as rounded;

/// Tokens, milliseconds and tokens a second: of the prompt what was not reused, of the answer everything.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub(crate) struct Timings {
    cache_n: u32,
    prompt_n: u32,
    prompt_ms: f64,
    prompt_per_token_ms: f64,
    prompt_per_second: f64,
    predicted_n: u32,
    predicted_ms: f64,
    predicted_per_token_ms: f64,
    predicted_per_second: f64,
}

impl Timings {
    /// The speeds of an answer that has ended.
    pub(crate) fn of(finished: &Finished) -> Self {
        let tokens = finished.tokens;
        let prompt_n = tokens.prompt_tokens.saturating_sub(tokens.cached_tokens);
        let (prompt_ms, predicted_ms) = (finished.timings.prefill_ms, finished.timings.generation_ms);
        let predicted_n = tokens.completion_tokens;
        Self {
            cache_n: tokens.cached_tokens,
            prompt_n,
            prompt_ms: rounded(prompt_ms),
            prompt_per_token_ms: ratio(prompt_ms, prompt_n.into()),
            prompt_per_second: ratio(f64::from(prompt_n) * 1000.0, prompt_ms),
            predicted_n,
            predicted_ms: rounded(predicted_ms),
            predicted_per_token_ms: ratio(predicted_ms, predicted_n.into()),
            predicted_per_second: ratio(f64::from(predicted_n) * 1000.0, predicted_ms),
        }
    }
}

/// 0 where there is nothing to divide by: JSON knows no infinity.
fn ratio(part: f64, whole: f64) -> f64 {
    if whole > 0.0 { rounded(part / whole) } else { 0.0 }
}
