//! Messages of a chat request.

use hangar_config::Modality;
use hangar_gemma::{Message, Part, PastCall, Role};

use super::past;
use crate::error::ApiError;
use crate::json::Field;
use crate::media::Basket;

const ROLES: &str = "one of system, developer, user, assistant, tool";
const CONTENT: &str = "a string, a content part or an array of content parts";

/// Reads all messages.
pub(crate) fn read_all(field: &Field<'_>, basket: &mut Basket<'_>) -> Result<Vec<Message>, ApiError> {
    let items = field.items("an array of messages")?;
    if items.is_empty() {
        let what = "messages is empty: send at least one message.".to_owned();
        return Err(ApiError::BadRequest { param: Some(field.path().to_owned()), what });
    }
    items.iter().map(|item| read_one(item, basket)).collect()
}

fn read_one(field: &Field<'_>, basket: &mut Basket<'_>) -> Result<Message, ApiError> {
    field.object("a message")?;
    let role = read_role(&field.require("role", ROLES)?)?;
    if let Some(call) = field.get("function_call") {
        return Err(call.unsupported("send the call in tool_calls"));
    }
    let mut calls = Vec::new();
    let parts = match field.get("content") {
        Some(content) => read_content(&content, role, &mut calls, basket)?,
        // Null says that there is none; only an assistant and a tool may leave it out.
        None if matches!(role, Role::Assistant | Role::Tool) || field.value().get("content").is_some() => {
            Vec::new()
        }
        None => {
            return Err(field.require("content", CONTENT).err().unwrap_or(ApiError::Internal));
        }
    };
    let own_calls =
        field.get("tool_calls").map(|list| (past::read_calls(&list), list)).map(|(read, list)| {
            let calls = read?;
            if !calls.is_empty() && role != Role::Assistant {
                return Err(list.unsupported("only an assistant message makes calls"));
            }
            Ok(calls)
        });
    calls.extend(own_calls.transpose()?.unwrap_or_default());
    Ok(match role {
        Role::System => Message::System { parts },
        Role::User => Message::User { parts },
        Role::Assistant => Message::Assistant { parts, reasoning: read_reasoning(field)?, calls },
        Role::Tool => {
            let id = field.get("tool_call_id").map(|id| id.text("a string").map(str::to_owned));
            Message::Tool { call_id: id.transpose()?, parts }
        }
    })
}

fn read_role(field: &Field<'_>) -> Result<Role, ApiError> {
    match field.text(ROLES)? {
        "system" | "developer" => Ok(Role::System),
        "user" => Ok(Role::User),
        "assistant" => Ok(Role::Assistant),
        "tool" => Ok(Role::Tool),
        "function" => Err(field.unsupported("send the result with role tool and the call's id")),
        _ => Err(field.unlike(ROLES)),
    }
}

/// The thinking of an earlier answer, as clients send it back.
fn read_reasoning(field: &Field<'_>) -> Result<String, ApiError> {
    let sent = field.get("reasoning_content").or_else(|| field.get("reasoning"));
    sent.map_or(Ok(String::new()), |reasoning| reasoning.text("a string").map(str::to_owned))
}

fn read_content(
    content: &Field<'_>,
    role: Role,
    calls: &mut Vec<PastCall>,
    basket: &mut Basket<'_>,
) -> Result<Vec<Part>, ApiError> {
    match content.value() {
        serde_json::Value::String(text) => Ok(vec![Part::Text(text.clone())]),
        serde_json::Value::Object(_) => Ok(read_part(content, role, calls, basket)?.into_iter().collect()),
        serde_json::Value::Array(_) => {
            let parts = content.items(CONTENT)?;
            parts.iter().filter_map(|part| read_part(part, role, calls, basket).transpose()).collect()
        }
        serde_json::Value::Null | serde_json::Value::Bool(_) | serde_json::Value::Number(_) => {
            Err(content.unlike(CONTENT))
        }
    }
}

/// Reads one part; thinking of an earlier answer is dropped, as the model's own template drops it, and calls of
/// an earlier answer are set aside.
fn read_part(
    part: &Field<'_>,
    role: Role,
    calls: &mut Vec<PastCall>,
    basket: &mut Basket<'_>,
) -> Result<Option<Part>, ApiError> {
    part.object("a content part")?;
    let kind = part.require("type", "the kind of the part, such as text")?;
    match kind.text("the kind of the part, such as text")? {
        "text" | "input_text" | "output_text" => {
            Ok(Some(Part::Text(part.require("text", "a string")?.text("a string")?.to_owned())))
        }
        "thinking" | "reasoning" | "redacted_thinking" if role == Role::Assistant => Ok(None),
        "tool_call" | "tool-call" | "tool_use" if role == Role::Assistant => {
            calls.push(past::read_call_part(part)?);
            Ok(None)
        }
        "image" | "image_url" | "input_image" => basket.read(part, Modality::Image).map(Some),
        "audio" | "audio_url" | "input_audio" => basket.read(part, Modality::Audio).map(Some),
        "video" | "video_url" | "input_video" => basket.read(part, Modality::Video).map(Some),
        "file" | "input_file" | "document" => basket.read(part, Modality::Document).map(Some),
        _ => Err(kind.unsupported("send parts of type text, image_url or input_audio")),
    }
}
