//! The request of a chat completion, read from JSON.

use hangar_config::Profile;
use hangar_gemma::{Gate, Message};
use hangar_protocol::Sampling;
use serde_json::Value;

use super::thinking::{self, Asked};
use super::{harmless, message, past, sampling, tools};
use crate::error::ApiError;
use crate::json::Field;
use crate::media::{Basket, Found};
use crate::offer::Offer;

/// What a client asked for, complete with defaults.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ChatRequest {
    /// The conversation, never empty; media parts point into `media`.
    pub(crate) messages: Vec<Message>,
    /// Its media, not yet decoded.
    pub(crate) media: Vec<Found>,
    /// Parts that were left out because their kind is not taken.
    pub(crate) omitted_parts: u32,
    /// The tools, and which of them may be called.
    pub(crate) gate: Gate,
    /// Whether the model thinks, and whether that is sent.
    pub(crate) thinking: Asked,
    /// Whether the answer is streamed.
    pub(crate) stream: bool,
    /// Whether a stream ends with its token counts.
    pub(crate) include_usage: bool,
    /// Most tokens to answer with.
    pub(crate) limit: TokenLimit,
    /// How tokens are chosen.
    pub(crate) sampling: Sampling,
}

/// Most tokens to answer with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TokenLimit {
    /// The client named it: it fits the window, or the request is refused.
    Named(u32),
    /// Ours: it gives way to the window.
    Default(u32),
}

/// The model that is asked for, by any of its names; a missing one means the default, which is friendlier to a
/// person with curl than a refusal.
///
/// # Errors
/// [`ApiError`] when the body or the name is of another kind.
pub(crate) fn model(body: &Value) -> Result<Option<&str>, ApiError> {
    let root = Field::root(body);
    root.object("a JSON object")?;
    if let Some(model) = root.get("model") {
        model.text("the name of a model")?;
    }
    Ok(body.get("model").and_then(Value::as_str))
}

/// Whether a stream is asked for, in a body that may be wrong elsewhere.
pub(crate) fn wants_stream(body: &Value) -> bool {
    body.get("stream").and_then(Value::as_bool) == Some(true)
}

/// Reads a request for a profile.
///
/// Messages may come in any order of roles and end with any of them: real agents send several user messages in a row,
/// and system messages alone. After a last message of the assistant the model says something more.
///
/// # Errors
/// [`ApiError`] names the field and what was expected there.
pub(crate) fn read(body: &Value, offer: &Offer) -> Result<ChatRequest, ApiError> {
    let root = Field::root(body);
    root.object("a JSON object")?;
    let profile = &offer.profile;
    let mut basket = Basket::new(offer);
    let messages = root.require("messages", "an array of messages")?;
    past::check_size(&messages)?;
    let messages = message::read_all(&messages, &mut basket)?;
    harmless::check(&root)?;
    let stream = root.get("stream").map_or(Ok(false), |field| field.flag())?;
    let include_usage = match root.get("stream_options") {
        None => false,
        Some(options) => {
            options.object("an object")?;
            options.get("include_usage").map_or(Ok(false), |field| field.flag())?
        }
    };
    Ok(ChatRequest {
        messages,
        media: basket.found,
        omitted_parts: basket.omitted,
        gate: tools::read(&root)?,
        thinking: thinking::read(&root)?,
        stream,
        include_usage,
        limit: read_limit(&root, profile)?,
        sampling: sampling::read(&root, profile)?,
    })
}

fn read_limit(root: &Field<'_>, profile: &Profile) -> Result<TokenLimit, ApiError> {
    let read = |key| root.get(key).map(|field| read_tokens(&field)).transpose();
    let old = read("max_tokens")?;
    let named = read("max_completion_tokens")?.or(old);
    // One token of the window is left for a prompt, the least there can be.
    let most = profile.max_output_tokens.min(profile.context_window_tokens.saturating_sub(1)).max(1);
    Ok(named.map_or(TokenLimit::Default(most), TokenLimit::Named))
}

/// Reads a number of tokens.
///
/// # Errors
/// [`ApiError`] names the field.
pub(crate) fn read_tokens(field: &Field<'_>) -> Result<u32, ApiError> {
    let count = field.value().as_u64().and_then(|count| u32::try_from(count).ok());
    count.filter(|count| *count >= 1).ok_or_else(|| field.unlike("a whole number from 1 to 4294967295"))
}

#[cfg(test)]
mod tests;
