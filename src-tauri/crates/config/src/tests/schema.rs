//! `config/schema.json` and the table of keys in the documentation, made from the types of a layer.

use schemars::generate::SchemaSettings;
use serde_json::{Map, Value, json};

use crate::raw::Layer;
use crate::shipped;

/// The schema of `local.json`, with the defaults.
pub(crate) fn schema() -> Value {
    let settings = SchemaSettings::draft2020_12().with(|settings| settings.inline_subschemas = true);
    let mut schema = settings.into_generator().into_root_schema_for::<Layer>().to_value();
    tidy(&mut schema);
    let defaults = serde_json::to_value(shipped::defaults().unwrap()).unwrap();
    set_defaults(&mut schema, &defaults);
    schema["title"] = json!("Configuration of Hangar: local.json");
    schema
}

/// One row a key of the top level, as Markdown.
pub(crate) fn table() -> String {
    let mut rows = "| key | meaning | values | default |\n| --- | --- | --- | --- |\n".to_owned();
    add_rows("", &schema(), &mut rows);
    rows
}

/// Leaves out what serde's defaults look like, which are not ours, and the null that stands for an absent key.
fn tidy(schema: &mut Value) {
    let Value::Object(map) = schema else {
        if let Value::Array(list) = schema {
            list.iter_mut().for_each(tidy);
        }
        return;
    };
    map.remove("default");
    map.remove("title");
    if let Some(Value::Array(kinds)) = map.get_mut("type") {
        kinds.retain(|kind| kind != "null");
        if let [only] = kinds.as_slice() {
            let only = only.clone();
            map.insert("type".to_owned(), only);
        }
    }
    if let Some(Value::Array(choices)) = map.get_mut("enum") {
        choices.retain(|choice| !choice.is_null());
    }
    if let Some(Value::Array(choices)) = map.get_mut("anyOf") {
        choices.retain(|choice| *choice != json!({ "type": "null" }));
        if let [Value::Object(only)] = choices.as_slice() {
            let (only, description) = (only.clone(), map.get("description").cloned());
            map.remove("anyOf");
            map.extend(only);
            map.extend(description.map(|description| ("description".to_owned(), description)));
        }
    }
    if let Some(Value::Array(choices)) = map.get("oneOf") {
        let words: Vec<Value> = choices.iter().filter_map(|choice| choice.get("const").cloned()).collect();
        if words.len() == choices.len() {
            map.remove("oneOf");
            map.insert("type".to_owned(), json!("string"));
            map.insert("enum".to_owned(), Value::Array(words));
        }
    }
    map.values_mut().for_each(tidy);
}

fn set_defaults(schema: &mut Value, defaults: &Value) {
    let Some(properties) = schema.get_mut("properties").and_then(Value::as_object_mut) else {
        return;
    };
    for (key, below) in properties {
        match defaults.get(key) {
            None | Some(Value::Null) => {}
            Some(found @ Value::Object(_)) => set_defaults(below, found),
            Some(found) => below["default"] = found.clone(),
        }
    }
}

fn add_rows(path: &str, schema: &Value, rows: &mut String) {
    let nothing = Map::new();
    for (key, below) in schema["properties"].as_object().unwrap_or(&nothing) {
        let path = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
        if below["properties"].is_object() {
            add_rows(&path, below, rows);
            continue;
        }
        let meaning = below["description"].as_str().unwrap_or_default().replace('\n', " ");
        let default = match &below["default"] {
            Value::Null => String::new(),
            Value::Array(list) if list.is_empty() => "none".to_owned(),
            Value::Array(list) => words(list, " "),
            Value::String(text) => text.clone(),
            other @ (Value::Bool(_) | Value::Number(_) | Value::Object(_)) => other.to_string(),
        };
        rows.push_str(&format!("| `{path}` | {meaning} | {} | {default} |\n", values(below)));
    }
}

fn values(schema: &Value) -> String {
    if let Some(choices) = schema["enum"].as_array() {
        return words(choices, ", ");
    }
    match schema["type"].as_str().unwrap_or_default() {
        "array" => format!("list of: {}", values(&schema["items"])),
        "boolean" => "true, false".to_owned(),
        "integer" if schema["minimum"] == schema["maximum"] => schema["minimum"].to_string(),
        "integer" => format!("{} to {}", schema["minimum"], schema["maximum"]),
        "number" if schema["exclusiveMinimum"].is_number() => {
            format!("over {}, to {}", schema["exclusiveMinimum"], schema["maximum"])
        }
        "number" => format!("{} to {}", schema["minimum"], schema["maximum"]),
        "object" => "one object a profile".to_owned(),
        _ => "text".to_owned(),
    }
}

fn words(list: &[Value], between: &str) -> String {
    let words: Vec<String> =
        list.iter().map(|word| word.as_str().map_or_else(|| word.to_string(), str::to_owned)).collect();
    words.join(between)
}
