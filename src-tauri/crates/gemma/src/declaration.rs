//! Tool declarations in the model's own notation.

use serde_json::{Map, Value};

use crate::render::{RenderError, Writer};
use crate::{ControlToken, ToolDeclaration};

/// Deepest schema or value that is rendered.
const NESTING_LIMIT: usize = 64;

/// Writes one declaration, its markers included.
pub(crate) fn write(writer: &mut Writer, index: usize, tool: &ToolDeclaration) -> Result<(), RenderError> {
    writer.control(ControlToken::ToolStart);
    writer.text("declaration:");
    writer.text(&tool.name);
    writer.text("{description:");
    writer.quoted(&tool.description);
    match &tool.parameters {
        Value::Null => {}
        Value::Object(schema) if schema.is_empty() => {}
        Value::Object(schema) => {
            writer.text(",parameters:{");
            Notation { writer, tool: index }.schema(Some(schema), 0)?;
            writer.text("}");
        }
        Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => {
            return Err(RenderError::ParametersNotObject { tool: index });
        }
    }
    writer.text("}");
    writer.control(ControlToken::ToolEnd);
    Ok(())
}

struct Notation<'a> {
    writer: &'a mut Writer,
    tool: usize,
}

impl Notation<'_> {
    /// The parts of a schema that the notation knows, in its fixed order, then the type. What has no type of
    /// its own, a union or something that is no schema at all, is declared as a string.
    fn schema(&mut self, schema: Option<&Map<String, Value>>, level: usize) -> Result<(), RenderError> {
        self.check(level)?;
        let field = |name: &str| schema.and_then(|schema| schema.get(name));
        for name in ["description", "enum"] {
            self.stated(name, field(name), level)?;
        }
        if let Some(Value::Object(items)) = field("items") {
            self.writer.text("items:{");
            self.schema(Some(items), level + 1)?;
            self.writer.text("},");
        }
        if let Some(Value::Object(properties)) = field("properties")
            && !properties.is_empty()
        {
            self.writer.text("properties:{");
            for (at, (name, property)) in sorted(properties).into_iter().enumerate() {
                self.separate(at);
                self.writer.text(name);
                self.writer.text(":{");
                self.schema(property.as_object(), level + 1)?;
                self.writer.text("}");
            }
            self.writer.text("},");
        }
        self.stated("required", field("required"), level)?;
        self.writer.text("type:");
        self.writer.quoted(&field("type").and_then(Value::as_str).unwrap_or("string").to_uppercase());
        Ok(())
    }

    fn stated(&mut self, name: &str, value: Option<&Value>, level: usize) -> Result<(), RenderError> {
        if let Some(value) = value
            && says_something(value)
        {
            self.writer.text(name);
            self.writer.text(":");
            self.value(value, level + 1)?;
            self.writer.text(",");
        }
        Ok(())
    }

    fn value(&mut self, value: &Value, level: usize) -> Result<(), RenderError> {
        self.check(level)?;
        match value {
            Value::Null => self.writer.text("null"),
            Value::Bool(flag) => self.writer.text(if *flag { "true" } else { "false" }),
            Value::Number(number) => self.writer.text(&number.to_string()),
            Value::String(text) => self.writer.quoted(text),
            Value::Array(items) => {
                self.writer.text("[");
                for (at, item) in items.iter().enumerate() {
                    self.separate(at);
                    self.value(item, level + 1)?;
                }
                self.writer.text("]");
            }
            Value::Object(map) => {
                self.writer.text("{");
                for (at, (name, item)) in sorted(map).into_iter().enumerate() {
                    self.separate(at);
                    self.writer.text(name);
                    self.writer.text(":");
                    self.value(item, level + 1)?;
                }
                self.writer.text("}");
            }
        }
        Ok(())
    }

    fn separate(&mut self, at: usize) {
        if at > 0 {
            self.writer.text(",");
        }
    }

    fn check(&self, level: usize) -> Result<(), RenderError> {
        if level > NESTING_LIMIT {
            return Err(RenderError::SchemaTooDeep { tool: self.tool, limit: NESTING_LIMIT });
        }
        Ok(())
    }
}

/// The template sorts names without regard to case; equal ones are put in a fixed order.
fn sorted(map: &Map<String, Value>) -> Vec<(&String, &Value)> {
    let mut entries: Vec<_> = map.iter().collect();
    entries.sort_by_cached_key(|(name, _)| (name.to_lowercase(), (*name).clone()));
    entries
}

fn says_something(value: &Value) -> bool {
    match value {
        Value::Null => false,
        Value::Bool(flag) => *flag,
        Value::Number(number) => number.as_f64() != Some(0.0),
        Value::String(text) => !text.is_empty(),
        Value::Array(items) => !items.is_empty(),
        Value::Object(map) => !map.is_empty(),
    }
}
