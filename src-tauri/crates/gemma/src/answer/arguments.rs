//! Arguments of a call as JSON of the declared types.

use serde_json::{Number, Value};

use super::call::Node;
use crate::ToolDeclaration;
use crate::notation::NESTING_LIMIT;
use crate::schema::{Kind, Schemas, Shape};

/// The arguments as a JSON object.
///
/// # Errors
/// The JSON path of the first value that cannot be made to fit its declared type.
pub(super) fn write(tool: &ToolDeclaration, arguments: Vec<(String, Node)>) -> Result<String, String> {
    let mut fit = Fit { schemas: Schemas::new(&tool.parameters), out: String::new(), path: Vec::new() };
    let shape = fit.schemas.shape(&tool.parameters);
    match fit.object(&shape, arguments) {
        Ok(()) => Ok(fit.out),
        Err(Misfit) => Err(fit.path.join(".")),
    }
}

#[derive(Debug)]
struct Misfit;

struct Fit<'a> {
    schemas: Schemas<'a>,
    out: String,
    path: Vec<String>,
}

impl<'a> Fit<'a> {
    fn value(&mut self, shape: &Shape<'a>, node: Node) -> Result<(), Misfit> {
        if self.path.len() > 2 * NESTING_LIMIT {
            return Err(Misfit);
        }
        match node {
            Node::Bare(text) => self.scalar(shape, &text),
            Node::Quoted(text) if shape.takes(Kind::String) => {
                self.string(&text);
                Ok(())
            }
            Node::Quoted(text) => self.unquoted(shape, &text),
            Node::List(items) if shape.takes(Kind::Array) => self.list(shape, items),
            Node::Object(members) if shape.takes(Kind::Object) => self.object(shape, members),
            node @ (Node::List(_) | Node::Object(_)) if shape.takes(Kind::String) => self.as_text(node),
            Node::List(_) | Node::Object(_) => Err(Misfit),
        }
    }

    /// A string where none may stand: what it spells, if that fits.
    fn unquoted(&mut self, shape: &Shape<'a>, text: &str) -> Result<(), Misfit> {
        if (shape.takes(Kind::Array) || shape.takes(Kind::Object))
            && let Ok(value @ (Value::Array(_) | Value::Object(_))) = serde_json::from_str(text)
        {
            return self.value(shape, node_of(value));
        }
        self.scalar(shape, text.trim())
    }

    fn scalar(&mut self, shape: &Shape<'_>, text: &str) -> Result<(), Misfit> {
        let word = match text {
            "null" | "None" if shape.takes(Kind::Null) => Some("null"),
            "true" | "True" if shape.takes(Kind::Boolean) => Some("true"),
            "false" | "False" if shape.takes(Kind::Boolean) => Some("false"),
            _ => None,
        };
        if let Some(word) = word {
            self.out.push_str(word);
            return Ok(());
        }
        if let Some(number) = number(shape, text) {
            self.out.push_str(&number);
            return Ok(());
        }
        if shape.takes(Kind::String) {
            self.string(text);
            return Ok(());
        }
        Err(Misfit)
    }

    fn list(&mut self, shape: &Shape<'a>, items: Vec<Node>) -> Result<(), Misfit> {
        let item = shape.items.map(|items| self.schemas.shape(items)).unwrap_or_default();
        self.out.push('[');
        for (at, each) in items.into_iter().enumerate() {
            if at > 0 {
                self.out.push(',');
            }
            self.within(at.to_string(), &item, each)?;
        }
        self.out.push(']');
        Ok(())
    }

    fn object(&mut self, shape: &Shape<'a>, members: Vec<(String, Node)>) -> Result<(), Misfit> {
        self.out.push('{');
        let mut is_first = true;
        for (name, each) in members {
            let listed =
                shape.properties.iter().find(|(known, _)| **known == name).map(|(_, schema)| *schema);
            let member =
                listed.or(shape.additional).map(|schema| self.schemas.shape(schema)).unwrap_or_default();
            // Models write null for what they leave out.
            if is_null(&each)
                && !shape.requires(&name)
                && !member.takes(Kind::Null)
                && !member.takes(Kind::String)
            {
                continue;
            }
            if !is_first {
                self.out.push(',');
            }
            is_first = false;
            self.string(&name);
            self.out.push(':');
            self.within(name, &member, each)?;
        }
        self.out.push('}');
        Ok(())
    }

    fn within(&mut self, step: String, shape: &Shape<'a>, node: Node) -> Result<(), Misfit> {
        self.path.push(step);
        self.value(shape, node)?;
        self.path.pop();
        Ok(())
    }

    /// A list or object where a string is declared: its JSON as a string.
    fn as_text(&mut self, node: Node) -> Result<(), Misfit> {
        let before = std::mem::take(&mut self.out);
        let written = self.value(&Shape::default(), node);
        let text = std::mem::replace(&mut self.out, before);
        written?;
        self.string(&text);
        Ok(())
    }

    fn string(&mut self, text: &str) {
        self.out.push_str(&Value::from(text).to_string());
    }
}

fn is_null(node: &Node) -> bool {
    matches!(node, Node::Bare(text) if matches!(text.as_str(), "null" | "None"))
}

/// The number as JSON, where a number may stand and this is one.
fn number(shape: &Shape<'_>, text: &str) -> Option<String> {
    let anything = shape.kinds.is_empty();
    let json = serde_json::from_str::<Number>(text).is_ok().then(|| text.to_owned());
    let is_whole = |text: &str| text.trim_start_matches('-').bytes().all(|byte| byte.is_ascii_digit());
    if anything || shape.kinds.contains(&Kind::Number) {
        return json.or_else(|| (!anything).then(|| loosely_written(text)).flatten());
    }
    if !shape.takes(Kind::Integer) {
        return None;
    }
    match json {
        Some(json) if is_whole(&json) => Some(json),
        Some(_) | None => loosely_written(text).and_then(|number| {
            let number = number.parse::<f64>().ok()?;
            // Beyond that, neighbouring whole numbers are not told apart.
            (number.fract() == 0.0 && number.abs() < 9e15).then(|| format!("{number:.0}"))
        }),
    }
}

/// A finite number in a way of writing that JSON does not have, such as `+1`, `.5` or `007`.
fn loosely_written(text: &str) -> Option<String> {
    let begins = text.trim_start_matches(['+', '-', '.']).starts_with(|first: char| first.is_ascii_digit());
    let number = text.parse::<f64>().ok().filter(|number| begins && number.is_finite())?;
    if number.fract() == 0.0 && number.abs() < 9e15 {
        return Some(format!("{number:.0}"));
    }
    Number::from_f64(number).map(|number| number.to_string())
}

fn node_of(value: Value) -> Node {
    match value {
        Value::Null => Node::Bare("null".to_owned()),
        Value::Bool(flag) => Node::Bare(flag.to_string()),
        Value::Number(number) => Node::Bare(number.to_string()),
        Value::String(text) => Node::Quoted(text),
        Value::Array(items) => Node::List(items.into_iter().map(node_of).collect()),
        Value::Object(members) => {
            Node::Object(members.into_iter().map(|(name, member)| (name, node_of(member))).collect())
        }
    }
}
