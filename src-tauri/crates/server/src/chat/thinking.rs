//! Whether a client wants the model to think, by any of the names clients have for it.

use serde_json::Value;

use crate::error::ApiError;
use crate::json::Field;

const EFFORTS: &str = "one of none, minimal, low, medium, high, xhigh, max";

/// What a client wants of thinking.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Asked {
    /// The model thinks before it answers.
    pub(crate) thinks: bool,
    /// The thinking is sent.
    pub(crate) shows: bool,
}

/// Reads `chat_template_kwargs.enable_thinking`, `enable_thinking`, `thinkLevel`, `reasoning_effort`, `reasoning`,
/// `thinking` and `includeReasoning`; the first of them that is there decides, and without any the model does not think.
///
/// # Errors
/// [`ApiError`] names the field and what was expected there.
pub(crate) fn read(root: &Field<'_>) -> Result<Asked, ApiError> {
    let in_template = match root.get("chat_template_kwargs") {
        None => None,
        Some(arguments) => read_template(&arguments)?,
    };
    let flag = root.get("enable_thinking").map(|field| field.flag()).transpose()?;
    let level = root.get("thinkLevel").map(|field| read_effort(&field)).transpose()?;
    let effort = root.get("reasoning_effort").map(|field| read_effort(&field)).transpose()?;
    let reasoning = root.get("reasoning").map(|field| read_reasoning(&field)).transpose()?.flatten();
    let kind = root.get("thinking").map(|field| read_kind(&field)).transpose()?;
    let shows = root.get("includeReasoning").map(|field| field.flag()).transpose()?;
    let thinks = in_template.or(flag).or(level).or(effort).or(reasoning).or(kind).unwrap_or(false);
    Ok(Asked { thinks, shows: thinks && shows.unwrap_or(true) })
}

/// `{effort}` or `{enabled}`, as routers of several services send it.
fn read_reasoning(field: &Field<'_>) -> Result<Option<bool>, ApiError> {
    field.object("an object")?;
    let effort = field.get("effort").map(|effort| read_effort(&effort)).transpose()?;
    let enabled = field.get("enabled").map(|enabled| enabled.flag()).transpose()?;
    Ok(effort.or(enabled))
}

/// `{type}`, as Anthropic's clients send it.
fn read_kind(field: &Field<'_>) -> Result<bool, ApiError> {
    const KINDS: &str = "enabled, adaptive or disabled";
    field.object("an object with a type")?;
    let kind = field.require("type", KINDS)?;
    match kind.text(KINDS)? {
        "enabled" | "adaptive" => Ok(true),
        "disabled" => Ok(false),
        _ => Err(kind.unlike(KINDS)),
    }
}

fn read_template(arguments: &Field<'_>) -> Result<Option<bool>, ApiError> {
    let names = arguments.object("an object")?;
    for name in names.keys().filter(|name| *name != "enable_thinking") {
        if let Some(other) = arguments.get(name)
            && *other.value() != Value::Bool(false)
        {
            return Err(
                other.unsupported("of the template's arguments only enable_thinking is known; leave it out")
            );
        }
    }
    arguments.get("enable_thinking").map(|field| field.flag()).transpose()
}

/// Any effort but none and the least is thinking: the model knows no degrees.
fn read_effort(field: &Field<'_>) -> Result<bool, ApiError> {
    if let Value::Bool(flag) = field.value() {
        return Ok(*flag);
    }
    match field.text(EFFORTS)? {
        "none" | "off" | "minimal" => Ok(false),
        "low" | "medium" | "high" | "xhigh" | "max" | "adaptive" | "on" => Ok(true),
        _ => Err(field.unlike(EFFORTS)),
    }
}
