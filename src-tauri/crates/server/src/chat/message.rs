//! Messages of a chat request.

use hangar_gemma::{Message, Part, Role};

use crate::error::ApiError;
use crate::json::Field;

const ROLES: &str = "one of system, developer, user, assistant";
const CONTENT: &str = "a string, a content part or an array of content parts";

/// Reads all messages.
pub(crate) fn read_all(field: &Field<'_>) -> Result<Vec<Message>, ApiError> {
    let items = field.items("an array of messages")?;
    if items.is_empty() {
        let what = "messages is empty: send at least one message.".to_owned();
        return Err(ApiError::BadRequest { param: Some(field.path().to_owned()), what });
    }
    items.iter().map(read_one).collect()
}

fn read_one(field: &Field<'_>) -> Result<Message, ApiError> {
    field.object("a message")?;
    let role = read_role(&field.require("role", ROLES)?)?;
    if let Some(calls) = field.get("tool_calls")
        && calls.value().as_array().is_none_or(|calls| !calls.is_empty())
    {
        return Err(calls.unsupported("tools are not offered yet; leave tool calls out of the history"));
    }
    if let Some(call) = field.get("function_call") {
        return Err(call.unsupported("tools are not offered yet; leave tool calls out of the history"));
    }
    let parts = match field.get("content") {
        Some(content) => read_content(&content, role)?,
        None if role == Role::Assistant => Vec::new(),
        None => {
            return Err(field.require("content", CONTENT).err().unwrap_or(ApiError::Internal));
        }
    };
    Ok(Message::new(role, parts))
}

fn read_role(field: &Field<'_>) -> Result<Role, ApiError> {
    match field.text(ROLES)? {
        "system" | "developer" => Ok(Role::System),
        "user" => Ok(Role::User),
        "assistant" => Ok(Role::Assistant),
        "tool" | "function" => Err(field.unsupported("tools are not offered yet; leave tool results out")),
        _ => Err(field.unlike(ROLES)),
    }
}

fn read_content(content: &Field<'_>, role: Role) -> Result<Vec<Part>, ApiError> {
    match content.value() {
        serde_json::Value::String(text) => Ok(vec![Part::Text(text.clone())]),
        serde_json::Value::Object(_) => Ok(read_part(content, role)?.into_iter().collect()),
        serde_json::Value::Array(_) => {
            let parts = content.items(CONTENT)?;
            parts.iter().filter_map(|part| read_part(part, role).transpose()).collect()
        }
        serde_json::Value::Null | serde_json::Value::Bool(_) | serde_json::Value::Number(_) => {
            Err(content.unlike(CONTENT))
        }
    }
}

/// Reads one part; thinking of an earlier answer is dropped, as the model's own template drops it.
fn read_part(part: &Field<'_>, role: Role) -> Result<Option<Part>, ApiError> {
    part.object("a content part")?;
    let kind = part.require("type", "the kind of the part, such as text")?;
    match kind.text("the kind of the part, such as text")? {
        "text" | "input_text" | "output_text" => {
            Ok(Some(Part::Text(part.require("text", "a string")?.text("a string")?.to_owned())))
        }
        "thinking" | "reasoning" | "redacted_thinking" if role == Role::Assistant => Ok(None),
        "image" | "image_url" | "input_image" => Err(refused(part, "image")),
        "audio" | "audio_url" | "input_audio" => Err(refused(part, "audio")),
        "video" | "video_url" | "input_video" => Err(refused(part, "video")),
        "file" | "input_file" | "document" => Err(refused(part, "document")),
        _ => Err(kind.unsupported("send parts of type text")),
    }
}

fn refused(part: &Field<'_>, modality: &'static str) -> ApiError {
    ApiError::UnsupportedModality { param: part.path().to_owned(), modality }
}
