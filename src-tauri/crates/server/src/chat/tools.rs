//! The tools of a chat request, and which of them may be called.

use hangar_gemma::{Gate, ToolChoice, ToolDeclaration};
use hangar_protocol::{CallableTool, Grammar};
use serde_json::Value;

use crate::error::ApiError;
use crate::json::Field;

const CHOICES: &str = "auto, none, required or a function by name";

/// Reads `tools`, `tool_choice` and `parallel_tool_calls`.
///
/// # Errors
/// [`ApiError`] names the field and what was expected there.
pub(crate) fn read(root: &Field<'_>) -> Result<Gate, ApiError> {
    let tools = match root.get("tools") {
        None => Vec::new(),
        Some(field) => {
            field.items("an array of tools")?.iter().map(read_tool).collect::<Result<_, ApiError>>()?
        }
    };
    let choice = root.get("tool_choice").map_or(Ok(ToolChoice::Auto), |field| read_choice(&field, &tools))?;
    let many = root.get("parallel_tool_calls").map_or(Ok(true), |field| field.flag())?;
    Ok(Gate { tools, choice, one_call: !many })
}

/// What the answer must be, where a call has to be made.
pub(crate) fn grammar(gate: &Gate) -> Option<Grammar> {
    let wanted = |tool: &&ToolDeclaration| match &gate.choice {
        ToolChoice::Auto | ToolChoice::None => false,
        ToolChoice::Required => true,
        ToolChoice::Named(name) => tool.name == *name,
    };
    let callable = |tool: &ToolDeclaration| CallableTool {
        name: tool.name.clone(),
        parameters_json: if tool.parameters.is_null() {
            r#"{"type":"object"}"#.to_owned()
        } else {
            tool.parameters.to_string()
        },
    };
    let tools: Vec<CallableTool> = gate.tools.iter().filter(wanted).map(callable).collect();
    // A named function is called once.
    let parallel = !gate.one_call && matches!(gate.choice, ToolChoice::Required);
    (!tools.is_empty()).then_some(Grammar::ToolCalls { tools, parallel })
}

fn read_tool(field: &Field<'_>) -> Result<ToolDeclaration, ApiError> {
    field.object("a tool")?;
    if let Some(kind) = field.get("type")
        && kind.text("function")? != "function"
    {
        return Err(kind.unsupported("send tools of type function"));
    }
    let function = field.require("function", "a function with a name")?;
    function.object("a function with a name")?;
    let description = function.get("description").map_or(Ok(""), |field| field.text("a string"))?;
    let parameters = match function.get("parameters") {
        None => Value::Null,
        Some(field) => {
            field.object("a JSON schema of type object")?;
            field.value().clone()
        }
    };
    Ok(ToolDeclaration {
        name: function.require("name", "a string")?.text("a string")?.to_owned(),
        description: description.to_owned(),
        parameters,
    })
}

fn read_choice(field: &Field<'_>, tools: &[ToolDeclaration]) -> Result<ToolChoice, ApiError> {
    if let Value::String(word) = field.value() {
        return match word.as_str() {
            "auto" => Ok(ToolChoice::Auto),
            "none" => Ok(ToolChoice::None),
            "required" if tools.is_empty() => Err(refused(field, "asks for a call, but tools is empty")),
            "required" => Ok(ToolChoice::Required),
            _ => Err(field.unlike(CHOICES)),
        };
    }
    field.object(CHOICES)?;
    let kind = field.require("type", "function")?;
    if kind.text("function")? != "function" {
        return Err(kind.unsupported("send auto, none, required or a function by name"));
    }
    let function = field.require("function", "a function with a name")?;
    let name = function.require("name", "the name of a tool")?.text("the name of a tool")?;
    if tools.iter().all(|tool| tool.name != name) {
        return Err(refused(field, "names a function that is not in tools"));
    }
    Ok(ToolChoice::Named(name.to_owned()))
}

fn refused(field: &Field<'_>, why: &str) -> ApiError {
    let path = field.path();
    ApiError::BadRequest { param: Some(path.to_owned()), what: format!("{path} {why}.") }
}
