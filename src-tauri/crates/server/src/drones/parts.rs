//! What a turn brings: text, pictures, sound, and results of tools.

use hangar_config::Modality;
use hangar_gemma::{
    Continuation, Conversation, Gate, Message, Part, PastCall, RenderError, Rendered, Role, Thinking,
    ToolChoice, render, render_more,
};

use super::drone::Said;
use crate::error::ApiError;
use crate::json::Field;
use crate::media::{Basket, Found};
use crate::offer::Offer;

const PARTS: &str = "an array of at least one part";

/// The messages of a turn, and what of it the transcript keeps.
#[derive(Debug, PartialEq)]
pub(crate) struct Brought {
    /// Results of tools first, in their order, then what the user says.
    pub(crate) messages: Vec<Message>,
    /// The parts in the client's order.
    pub(crate) said: Vec<Said>,
    /// The media that the messages point at, not yet decoded.
    pub(crate) media: Vec<Found>,
    /// Parts that were left out because their kind is not taken.
    pub(crate) omitted_parts: u32,
}

/// Reads `parts`.
///
/// # Errors
/// [`ApiError`] names the part and what was expected there.
pub(crate) fn read(root: &Field<'_>, offer: &Offer) -> Result<Brought, ApiError> {
    let field = root.require("parts", PARTS)?;
    let items = field.items(PARTS)?;
    if items.is_empty() {
        return Err(field.unlike(PARTS));
    }
    let mut basket = Basket::new(offer);
    let (mut messages, mut parts, mut said) = (Vec::new(), Vec::new(), Vec::new());
    for item in &items {
        match read_part(item, &mut basket)? {
            Read::Part(part) => {
                said.push(told(&part, &basket));
                parts.push(part);
            }
            Read::Result { call_id, text } => {
                said.push(Said::ToolResult { call_id: call_id.clone(), text: text.clone() });
                messages.push(Message::Tool { call_id, parts: vec![Part::Text(text)] });
            }
        }
    }
    if !parts.is_empty() {
        messages.push(Message::User { parts });
    }
    Ok(Brought { messages, said, omitted_parts: basket.omitted, media: basket.found })
}

/// The prompt of a session's first turn.
///
/// # Errors
/// [`ApiError`] names the part.
pub(crate) fn first(
    system: Option<&str>,
    gate: &Gate,
    mut messages: Vec<Message>,
    thinking: Thinking,
) -> Result<Rendered, ApiError> {
    if let Some(system) = system {
        messages.insert(0, Message::text(Role::System, system));
    }
    let tools = if gate.choice == ToolChoice::None { &[] } else { gate.tools.as_slice() };
    render(&Conversation { messages: &messages, tools, thinking }).map_err(of_parts)
}

/// What comes behind the answer of the last turn, which made these calls.
///
/// # Errors
/// [`ApiError`] names the part.
pub(crate) fn more(
    calls: &[PastCall],
    messages: &[Message],
    thinking: Thinking,
) -> Result<Rendered, ApiError> {
    render_more(&Continuation { calls, messages, thinking }).map_err(of_parts)
}

/// A client knows of parts where a conversation has messages.
fn of_parts(error: RenderError) -> ApiError {
    let param = Some(error.field().replace("messages", "parts"));
    ApiError::BadRequest { param, what: format!("{}.", error.to_string().replace("messages", "parts")) }
}

enum Read {
    Part(Part),
    Result { call_id: Option<String>, text: String },
}

/// What the transcript keeps of a part: of media what it was and how large.
fn told(part: &Part, basket: &Basket<'_>) -> Said {
    let found = |index: &u32| {
        let found = usize::try_from(*index).ok().and_then(|index| basket.found.get(index));
        found.map_or(("", 0), |found| (found.kind.mime_types()[0], found.bytes.len()))
    };
    match part {
        Part::Text(text) => Said::Text(text.clone()),
        Part::Image(index) => {
            let (mime_type, bytes) = found(index);
            Said::Image { mime_type, bytes }
        }
        Part::Audio(index) => {
            let (mime_type, bytes) = found(index);
            Said::Audio { mime_type, bytes }
        }
    }
}

fn read_part(part: &Field<'_>, basket: &mut Basket<'_>) -> Result<Read, ApiError> {
    part.object("a part")?;
    let expected = "text, audio, image or tool_result";
    let kind = part.require("type", expected)?;
    match kind.text(expected)? {
        "text" | "input_text" => {
            Ok(Read::Part(Part::Text(part.require("text", "a string")?.text("a string")?.to_owned())))
        }
        "tool_result" => Ok(Read::Result {
            call_id: part.get("tool_call_id").map(|id| id.text("a string").map(str::to_owned)).transpose()?,
            text: part.require("content", "a string")?.text("a string")?.to_owned(),
        }),
        "image" | "image_url" | "input_image" => basket.read(part, Modality::Image).map(Read::Part),
        "audio" | "audio_url" | "input_audio" => basket.read(part, Modality::Audio).map(Read::Part),
        _ => Err(ApiError::UnsupportedPartType { param: kind.path().to_owned() }),
    }
}
