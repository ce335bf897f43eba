//! Tool declarations in the model's own notation.

use serde_json::Value;

use crate::notation::{self, NESTING_LIMIT};
use crate::render::{RenderError, Writer};
use crate::schema::{Kind, Schemas, Shape};
use crate::{ControlToken, ToolDeclaration};

/// Longest name of a tool, in characters.
const NAME_LIMIT: usize = 64;
/// Members and items that are described for one tool; what a schema unfolds to beyond it is left out.
const ENTRIES_LIMIT: usize = 4096;

/// Writes one declaration, its markers included.
pub(crate) fn write(writer: &mut Writer, index: usize, tool: &ToolDeclaration) -> Result<(), RenderError> {
    if !is_name(&tool.name) {
        return Err(RenderError::ToolName { tool: index });
    }
    writer.control(ControlToken::ToolStart);
    writer.text("declaration:");
    writer.text(&tool.name);
    writer.text("{description:");
    notation::quoted(writer, &tool.description);
    match &tool.parameters {
        Value::Null => {}
        Value::Object(schema) if schema.is_empty() => {}
        Value::Object(_) => {
            writer.text(",parameters:{");
            let schemas = Schemas::new(&tool.parameters);
            Notation { writer, schemas, open: Vec::new(), entries_left: ENTRIES_LIMIT }
                .schema(&tool.parameters, 0);
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

/// Names hold nothing that the notation uses itself, so that a call can be told apart from its arguments.
fn is_name(name: &str) -> bool {
    !name.is_empty()
        && name.chars().count() <= NAME_LIMIT
        && name.chars().all(|each| each.is_alphanumeric() || "_-.:/".contains(each))
}

struct Notation<'w, 'a> {
    writer: &'w mut Writer,
    schemas: Schemas<'a>,
    /// Schemas that this one stands in; one that refers to itself is not unfolded again.
    open: Vec<&'a Value>,
    entries_left: usize,
}

impl<'a> Notation<'_, 'a> {
    /// The parts of a schema that the notation knows, in its fixed order, then the type. What has no type of
    /// its own and lets none be guessed is declared as a string.
    fn schema(&mut self, schema: &'a Value, level: usize) {
        let shape = self.schemas.shape(schema);
        let target = self.schemas.target(schema);
        let is_open = self.open.iter().any(|open| std::ptr::eq(*open, target));
        if !is_open && level < NESTING_LIMIT && self.entries_left > 0 {
            self.entries_left -= 1;
            self.open.push(target);
            self.details(&shape, level);
            self.open.pop();
        }
        self.writer.text("type:");
        notation::quoted(self.writer, &type_word(&shape).to_uppercase());
    }

    fn details(&mut self, shape: &Shape<'a>, level: usize) {
        if let Some(description) = shape.description
            && says_something(description)
        {
            self.writer.text("description:");
            notation::value(self.writer, description, level + 1);
            self.writer.text(",");
        }
        if !shape.values.is_empty() {
            self.writer.text("enum:[");
            for (at, value) in shape.values.iter().enumerate() {
                notation::separate(self.writer, at);
                notation::value(self.writer, value, level + 1);
            }
            self.writer.text("],");
        }
        if let Some(items) = shape.items {
            self.writer.text("items:{");
            self.schema(items, level + 1);
            self.writer.text("},");
        }
        // Arguments as a whole are never null.
        if shape.nullable && level > 0 {
            self.writer.text("nullable:true,");
        }
        if !shape.properties.is_empty() {
            self.writer.text("properties:{");
            for (at, (name, property)) in notation::sorted(shape.properties.clone()).into_iter().enumerate() {
                notation::separate(self.writer, at);
                self.writer.text(name);
                self.writer.text(":{");
                self.schema(property, level + 1);
                self.writer.text("}");
            }
            self.writer.text("},");
        }
        if let Some(required) = shape.required {
            self.writer.text("required:");
            notation::value(self.writer, required, level + 1);
            self.writer.text(",");
        }
    }
}

fn type_word<'a>(shape: &Shape<'a>) -> &'a str {
    let kind = shape.kinds.iter().find(|kind| **kind != Kind::Null).or(shape.kinds.first());
    shape.unknown_type.unwrap_or(kind.map_or("string", |kind| kind.word()))
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
