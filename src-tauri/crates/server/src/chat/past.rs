//! Calls and results of tools in a chat request's history.

use hangar_gemma::{PastArguments, PastCall};
use serde_json::Value;

use crate::error::ApiError;
use crate::json::{Field, VALUES_MAX};

const ARGUMENTS: &str = "a JSON object in a string";

/// Refuses a history whose calls would unfold to more values than memory should hold: arguments in a string are
/// JSON inside of JSON, and the body's own limit does not see into it.
///
/// # Errors
/// [`ApiError`] names the messages.
pub(crate) fn check_size(messages: &Field<'_>) -> Result<(), ApiError> {
    let mut values = 0_usize;
    for message in each(messages.value()) {
        let calls = each(&message["tool_calls"]).iter().map(|call| &call["function"]);
        let parts = each(&message["content"]);
        for call in calls.chain(parts) {
            for text in ["arguments", "input", "args"].into_iter().filter_map(|name| call[name].as_str()) {
                values += text.bytes().filter(|byte| matches!(byte, b',' | b'[' | b'{')).count();
            }
        }
    }
    if u32::try_from(values).is_ok_and(|values| values <= VALUES_MAX) {
        return Ok(());
    }
    let path = messages.path();
    let what = format!("The calls in {path} hold over {VALUES_MAX} values. Send fewer.");
    Err(ApiError::BadRequest { param: Some(path.to_owned()), what })
}

/// The items of an array; anything else is the only one.
fn each(value: &Value) -> &[Value] {
    value.as_array().map_or(std::slice::from_ref(value), Vec::as_slice)
}

/// Reads `tool_calls` of an assistant message.
///
/// # Errors
/// [`ApiError`] names the field and what was expected there.
pub(crate) fn read_calls(field: &Field<'_>) -> Result<Vec<PastCall>, ApiError> {
    field.items("an array of tool calls")?.iter().map(read_call).collect()
}

/// Reads a call that stands among the parts of an assistant message.
///
/// # Errors
/// [`ApiError`] names the field and what was expected there.
pub(crate) fn read_call_part(part: &Field<'_>) -> Result<PastCall, ApiError> {
    let any = |names: [&str; 3]| names.into_iter().find_map(|name| part.get(name));
    let name = match any(["name", "toolName", "tool_name"]) {
        Some(name) => name,
        None => part.require("name", "the name of a tool")?,
    };
    Ok(PastCall {
        id: any(["id", "toolCallId", "call_id"])
            .map(|id| id.text("a string").map(str::to_owned))
            .transpose()?,
        name: name.text("the name of a tool")?.to_owned(),
        arguments: read_arguments(any(["arguments", "input", "args"]))?,
    })
}

fn read_call(field: &Field<'_>) -> Result<PastCall, ApiError> {
    field.object("a tool call")?;
    if let Some(kind) = field.get("type")
        && kind.text("function")? != "function"
    {
        return Err(kind.unsupported("send calls of type function"));
    }
    let function = field.require("function", "a function with a name")?;
    function.object("a function with a name")?;
    Ok(PastCall {
        id: field.get("id").map(|id| id.text("a string").map(str::to_owned)).transpose()?,
        name: function.require("name", "the name of a tool")?.text("the name of a tool")?.to_owned(),
        arguments: read_arguments(function.get("arguments"))?,
    })
}

fn read_arguments(field: Option<Field<'_>>) -> Result<PastArguments, ApiError> {
    let Some(field) = field else {
        return Ok(PastArguments::read(""));
    };
    match field.value() {
        Value::String(text) => Ok(PastArguments::read(text)),
        Value::Object(arguments) => Ok(PastArguments::Object(arguments.clone())),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) => Err(field.unlike(ARGUMENTS)),
    }
}
