//! What a JSON schema says about a value, as far as the model's notation and the reading of calls need it.
//!
//! Whatever is not understood is left out: a schema is never refused.

use serde_json::Value;

/// References and alternatives that are followed for one tool.
const HOPS: usize = 10_000;
/// Schemas within schemas that are merged into one shape.
const MERGE_DEPTH: u32 = 16;

/// A kind of JSON value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    String,
    Integer,
    Number,
    Boolean,
    Array,
    Object,
    Null,
}

impl Kind {
    /// The word of that kind in a schema.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::String => "string",
            Self::Integer => "integer",
            Self::Number => "number",
            Self::Boolean => "boolean",
            Self::Array => "array",
            Self::Object => "object",
            Self::Null => "null",
        }
    }

    fn of_word(word: &str) -> Option<Self> {
        const ALL: [Kind; 7] =
            [Kind::String, Kind::Integer, Kind::Number, Kind::Boolean, Kind::Array, Kind::Object, Kind::Null];
        ALL.into_iter().find(|kind| word.eq_ignore_ascii_case(kind.word()))
    }

    fn of_value(value: &Value) -> Self {
        match value {
            Value::Null => Self::Null,
            Value::Bool(_) => Self::Boolean,
            Value::Number(number) if number.is_f64() => Self::Number,
            Value::Number(_) => Self::Integer,
            Value::String(_) => Self::String,
            Value::Array(_) => Self::Array,
            Value::Object(_) => Self::Object,
        }
    }
}

/// A schema with its references followed and its alternatives merged.
#[derive(Clone, Debug, Default)]
pub(crate) struct Shape<'a> {
    /// What the value may be; empty where anything may stand.
    pub(crate) kinds: Vec<Kind>,
    /// The type as it is written, where it is one word that is not a kind.
    pub(crate) unknown_type: Option<&'a str>,
    /// Whether null may stand beside the other kinds.
    pub(crate) nullable: bool,
    /// What it is for.
    pub(crate) description: Option<&'a Value>,
    /// The only values there are; empty where there is no such list.
    pub(crate) values: Vec<&'a Value>,
    /// Schema of an array's items.
    pub(crate) items: Option<&'a Value>,
    /// Schemas of an object's members.
    pub(crate) properties: Vec<(&'a String, &'a Value)>,
    /// Members that must be there.
    pub(crate) required: Option<&'a Value>,
    /// Schema of members that are not listed.
    pub(crate) additional: Option<&'a Value>,
}

impl Shape<'_> {
    /// Whether a value of that kind may stand here.
    pub(crate) fn takes(&self, kind: Kind) -> bool {
        self.kinds.is_empty()
            || self.kinds.contains(&kind)
            || (kind == Kind::Integer && self.kinds.contains(&Kind::Number))
            || (kind == Kind::Null && self.nullable)
    }

    /// Whether a member must be there.
    pub(crate) fn requires(&self, name: &str) -> bool {
        let listed = self.required.and_then(Value::as_array);
        listed.is_some_and(|names| names.iter().any(|each| each.as_str() == Some(name)))
    }
}

/// Reads the schemas of one tool.
#[derive(Debug)]
pub(crate) struct Schemas<'a> {
    root: &'a Value,
    hops_left: usize,
}

static ANYTHING: Value = Value::Bool(true);

impl<'a> Schemas<'a> {
    /// Reads within the tool's parameters, where references begin.
    pub(crate) fn new(root: &'a Value) -> Self {
        Self { root, hops_left: HOPS }
    }

    /// What a schema says.
    pub(crate) fn shape(&mut self, schema: &'a Value) -> Shape<'a> {
        let mut shape = self.merged(schema, 0);
        if shape.kinds.len() > 1 && shape.kinds.contains(&Kind::Null) {
            shape.nullable = true;
        }
        if shape.kinds.is_empty() && shape.unknown_type.is_none() {
            infer_kinds(&mut shape);
        }
        shape
    }

    fn merged(&mut self, schema: &'a Value, depth: u32) -> Shape<'a> {
        let mut shape = Shape::default();
        let Some(fields) = schema.as_object() else {
            return shape;
        };
        if let Some(target) =
            fields.get("$ref").and_then(Value::as_str).and_then(|path| self.follow(path, depth))
        {
            shape = self.merged(target, depth + 1);
        }
        for part in self.listed(fields.get("allOf"), depth) {
            let part = self.merged(part, depth + 1);
            overlay(&mut shape, part);
        }
        for key in ["anyOf", "oneOf"] {
            let parts = self.listed(fields.get(key), depth);
            if !parts.is_empty() {
                let parts = parts.iter().map(|part| self.alternative(part, depth + 1)).collect();
                overlay(&mut shape, union(parts));
            }
        }
        let mut own = Shape {
            nullable: fields.get("nullable").and_then(Value::as_bool).unwrap_or(false),
            description: fields.get("description").filter(|value| !value.is_null()),
            items: fields.get("items").filter(|value| value.is_object()),
            required: fields
                .get("required")
                .filter(|value| value.as_array().is_some_and(|names| !names.is_empty())),
            additional: fields.get("additionalProperties").filter(|value| value.is_object()),
            ..Shape::default()
        };
        read_type(fields.get("type"), &mut own);
        match (fields.get("enum"), fields.get("const")) {
            (Some(Value::Array(values)), _) => own.values = values.iter().collect(),
            (_, Some(value)) => own.values = vec![value],
            (_, None) => {}
        }
        if let Some(Value::Object(properties)) = fields.get("properties") {
            own.properties = properties.iter().collect();
        }
        overlay(&mut shape, own);
        shape
    }

    fn alternative(&mut self, schema: &'a Value, depth: u32) -> Shape<'a> {
        let mut shape = self.merged(schema, depth);
        if shape.kinds.is_empty() {
            infer_kinds(&mut shape);
        }
        shape
    }

    /// The schema that this one stands for, where it is nothing but a reference.
    pub(crate) fn target(&self, schema: &'a Value) -> &'a Value {
        let mut target = schema;
        for _ in 0..MERGE_DEPTH {
            let path = target.get("$ref").and_then(Value::as_str).and_then(|path| path.strip_prefix('#'));
            match path.and_then(|pointer| self.root.pointer(pointer)) {
                Some(next) => target = next,
                None => break,
            }
        }
        target
    }

    fn follow(&mut self, path: &str, depth: u32) -> Option<&'a Value> {
        let pointer = path.strip_prefix('#')?;
        self.spend(1, depth).then(|| self.root.pointer(pointer)).flatten()
    }

    fn listed(&mut self, value: Option<&'a Value>, depth: u32) -> &'a [Value] {
        let items = value.and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
        if self.spend(items.len(), depth) { items } else { &[] }
    }

    fn spend(&mut self, hops: usize, depth: u32) -> bool {
        let left = self.hops_left.checked_sub(hops);
        self.hops_left = left.unwrap_or(0);
        left.is_some() && depth < MERGE_DEPTH
    }
}

fn read_type<'a>(written: Option<&'a Value>, shape: &mut Shape<'a>) {
    match written {
        Some(Value::String(word)) => match Kind::of_word(word) {
            Some(kind) => shape.kinds = vec![kind],
            None => shape.unknown_type = Some(word),
        },
        Some(Value::Array(words)) => {
            shape.kinds = words.iter().filter_map(Value::as_str).filter_map(Kind::of_word).collect();
        }
        Some(Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_)) | None => {}
    }
}

/// What a schema without a type must mean.
fn infer_kinds(shape: &mut Shape<'_>) {
    if !shape.values.is_empty() {
        for value in &shape.values {
            let kind = Kind::of_value(value);
            if !shape.kinds.contains(&kind) {
                shape.kinds.push(kind);
            }
        }
    } else if !shape.properties.is_empty() || shape.additional.is_some() {
        shape.kinds.push(Kind::Object);
    } else if shape.items.is_some() {
        shape.kinds.push(Kind::Array);
    }
}

/// Adds what another schema says of the same value; it has the last word.
fn overlay<'a>(shape: &mut Shape<'a>, other: Shape<'a>) {
    if !other.kinds.is_empty() || other.unknown_type.is_some() {
        shape.kinds = other.kinds;
        shape.unknown_type = other.unknown_type;
    }
    shape.nullable |= other.nullable;
    if !other.values.is_empty() {
        shape.values = other.values;
    }
    shape.description = other.description.or(shape.description);
    shape.items = other.items.or(shape.items);
    shape.required = other.required.or(shape.required);
    shape.additional = other.additional.or(shape.additional);
    for (name, schema) in other.properties {
        match shape.properties.iter_mut().find(|(known, _)| *known == name) {
            Some(known) => known.1 = schema,
            None => shape.properties.push((name, schema)),
        }
    }
}

/// What holds whichever alternative is taken.
fn union(alternatives: Vec<Shape<'_>>) -> Shape<'_> {
    let mut all = Shape::default();
    let mut anything = false;
    let mut open_values = false;
    for each in &alternatives {
        anything |= each.kinds.is_empty();
        let only_null = each.kinds == [Kind::Null];
        open_values |= each.values.is_empty() && !only_null;
    }
    for each in alternatives {
        for kind in each.kinds {
            if !all.kinds.contains(&kind) {
                all.kinds.push(kind);
            }
        }
        all.unknown_type = all.unknown_type.or(each.unknown_type);
        all.nullable |= each.nullable;
        all.description = all.description.or(each.description);
        all.items = all.items.or(each.items);
        all.additional = all.additional.or(each.additional);
        if !open_values {
            all.values.extend(each.values);
        }
        for (name, schema) in each.properties {
            match all.properties.iter_mut().find(|(known, _)| *known == name) {
                // Two alternatives disagree: the member may be anything.
                Some(known) if known.1 != schema => known.1 = &ANYTHING,
                Some(_) => {}
                None => all.properties.push((name, schema)),
            }
        }
    }
    if anything {
        all.kinds.clear();
    }
    all
}
