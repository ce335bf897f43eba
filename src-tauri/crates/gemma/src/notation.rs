//! Values in the model's own notation.

use serde_json::{Map, Value};

use crate::ControlToken;
use crate::render::Writer;

/// Deepest level that is written; what lies below is left out.
pub(crate) const NESTING_LIMIT: usize = 64;

/// Writes a value: strings between quote tokens, names bare.
pub(crate) fn value(writer: &mut Writer, value: &Value, level: usize) {
    if level > NESTING_LIMIT {
        writer.text("null");
        return;
    }
    match value {
        Value::Null => writer.text("null"),
        Value::Bool(flag) => writer.text(if *flag { "true" } else { "false" }),
        Value::Number(number) => writer.text(&number.to_string()),
        Value::String(text) => quoted(writer, text),
        Value::Array(items) => {
            writer.text("[");
            for (at, item) in items.iter().enumerate() {
                separate(writer, at);
                self::value(writer, item, level + 1);
            }
            writer.text("]");
        }
        Value::Object(map) => object(writer, map, level),
    }
}

/// Writes an object with its braces, names in the template's order.
pub(crate) fn object(writer: &mut Writer, map: &Map<String, Value>, level: usize) {
    writer.text("{");
    for (at, (name, item)) in sorted(map.iter().collect()).into_iter().enumerate() {
        separate(writer, at);
        writer.text(name);
        writer.text(":");
        value(writer, item, level + 1);
    }
    writer.text("}");
}

/// Writes a string between quote tokens.
pub(crate) fn quoted(writer: &mut Writer, text: &str) {
    writer.control(ControlToken::Quote);
    writer.text(text);
    writer.control(ControlToken::Quote);
}

/// Writes the comma before every entry but the first.
pub(crate) fn separate(writer: &mut Writer, at: usize) {
    if at > 0 {
        writer.text(",");
    }
}

/// The template sorts names without regard to case; equal ones are put in a fixed order.
pub(crate) fn sorted<T>(mut entries: Vec<(&String, T)>) -> Vec<(&String, T)> {
    entries.sort_by_cached_key(|(name, _)| (name.to_lowercase(), (*name).clone()));
    entries
}
