//! What an answer may take of the window, before anything is sent to a worker.

use super::request::TokenLimit;
use crate::error::ApiError;
use crate::tokens::PromptSize;

/// Most tokens to generate.
///
/// # Errors
/// [`ApiError::ContextLengthExceeded`] when prompt and answer do not fit.
pub(crate) fn answer_tokens(
    limit: TokenLimit,
    size: PromptSize,
    window_tokens: u32,
) -> Result<u32, ApiError> {
    let window = u64::from(window_tokens);
    let exceeded = |prompt_tokens: u64, answer_tokens| ApiError::ContextLengthExceeded {
        prompt_tokens: u32::try_from(prompt_tokens).unwrap_or(u32::MAX),
        answer_tokens,
        window_tokens,
    };
    match (limit, size) {
        (TokenLimit::Named(tokens), PromptSize::Exactly(prompt) | PromptSize::AtLeast(prompt)) => {
            let fits = prompt.saturating_add(u64::from(tokens)) <= window;
            // Of a prompt that is too long by itself, a smaller answer would cure nothing.
            if fits { Ok(tokens) } else { Err(exceeded(prompt, (prompt < window).then_some(tokens))) }
        }
        (TokenLimit::Default(tokens), PromptSize::Exactly(prompt) | PromptSize::AtLeast(prompt)) => {
            let left = window.saturating_sub(prompt);
            if left == 0 {
                return Err(exceeded(prompt, None));
            }
            Ok(tokens.min(u32::try_from(left).unwrap_or(u32::MAX)))
        }
        // What fits by its length fits whatever it counts to; what was not counted is the worker's to judge.
        (
            TokenLimit::Named(tokens) | TokenLimit::Default(tokens),
            PromptSize::AtMost(_) | PromptSize::Unknown,
        ) => Ok(tokens),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_named_limit_fits_or_is_refused_and_ours_gives_way() {
        let named =
            |tokens, prompt| answer_tokens(TokenLimit::Named(tokens), PromptSize::Exactly(prompt), 64);
        assert_eq!(named(32, 32), Ok(32));
        let refused =
            ApiError::ContextLengthExceeded { prompt_tokens: 33, answer_tokens: Some(32), window_tokens: 64 };
        assert_eq!(named(32, 33), Err(refused));
        assert!(named(u32::MAX, u64::MAX).is_err());
        let alone = named(32, 64).unwrap_err().to_string();
        assert!(
            alone.ends_with("resulted in 64 tokens. Please reduce the length of the messages."),
            "{alone}"
        );
        let ours = |prompt| answer_tokens(TokenLimit::Default(32), PromptSize::Exactly(prompt), 64);
        assert_eq!((ours(10), ours(40), ours(63)), (Ok(32), Ok(24), Ok(1)));
        let message = ours(64).unwrap_err().to_string();
        assert!(message.contains("resulted in 64 tokens."), "{message}");
    }

    #[test]
    fn what_fits_by_its_length_and_what_could_not_be_counted_goes_on() {
        for size in [PromptSize::AtMost(30), PromptSize::Unknown] {
            assert_eq!(answer_tokens(TokenLimit::Named(34), size, 64), Ok(34));
        }
    }
}
