//! How the answer's tokens are to be chosen, read from a request.

use hangar_config::Profile;
use hangar_protocol::{Grammar, Sampling};
use serde_json::Value;

use crate::error::ApiError;
use crate::json::Field;

/// Most stop texts of a request, as with OpenAI.
const STOPS_MAX: usize = 4;
/// Longest stop text, in characters.
const STOP_CHARACTERS_MAX: usize = 1000;
/// Most other tokens told beside each token, as with OpenAI.
const TOP_LOGPROBS_MAX: u8 = 20;

/// Reads every parameter of sampling; what is left out is the profile's, or changes nothing.
///
/// # Errors
/// [`ApiError`] names the field and its range.
pub(crate) fn read(root: &Field<'_>, profile: &Profile) -> Result<Sampling, ApiError> {
    let number = |key, expected, low: f64, high: f64| {
        let fits = move |found: f64| (low..=high).contains(&found);
        root.get(key).map(|field| field.number(expected, fits).map(narrow)).transpose()
    };
    let penalty = |key| number(key, "a number from -2 to 2", -2.0, 2.0);
    // Rounding to 32 bits may not turn what is over 0 into 0.
    let over_zero = f64::from(f32::MIN_POSITIVE);
    let plain = Sampling::default();
    let top_p = match root.get("top_p") {
        None => profile.sampling.top_p,
        Some(field) => {
            let part = field.number("a number over 0 and at most 1", |found| found > 0.0 && found <= 1.0)?;
            narrow(part.max(over_zero))
        }
    };
    let repetition = |key| number(key, "a number over 0 and at most 10", over_zero, 10.0);
    let other_name = repetition("repeat_penalty")?;
    Ok(Sampling {
        temperature: number("temperature", "a number from 0 to 2", 0.0, 2.0)?
            .unwrap_or(profile.sampling.temperature),
        top_k: root.get("top_k").map_or(Ok(plain.top_k), |field| read_top_k(&field))?,
        top_p,
        min_p: number("min_p", "a number from 0 to 1", 0.0, 1.0)?.unwrap_or(plain.min_p),
        repetition_penalty: repetition("repetition_penalty")?
            .or(other_name)
            .unwrap_or(plain.repetition_penalty),
        presence_penalty: penalty("presence_penalty")?.unwrap_or(plain.presence_penalty),
        frequency_penalty: penalty("frequency_penalty")?.unwrap_or(plain.frequency_penalty),
        seed: root.get("seed").map(|field| read_seed(&field)).transpose()?,
        stop: root.get("stop").map_or(Ok(Vec::new()), |field| read_stop(&field))?,
        logprobs: read_logprobs(root)?,
        grammar: root.get("response_format").map_or(Ok(None), |field| read_format(&field))?,
        thought: plain.thought,
    })
}

fn read_top_k(field: &Field<'_>) -> Result<u32, ApiError> {
    // Other servers write "every token" as -1.
    if field.value().as_i64() == Some(-1) {
        return Ok(0);
    }
    let count = field.value().as_u64().and_then(|count| u32::try_from(count).ok());
    count.ok_or_else(|| field.unlike("a whole number, 0 for every token"))
}

fn read_seed(field: &Field<'_>) -> Result<u64, ApiError> {
    let value = field.value();
    let negative = || value.as_i64().map(i64::cast_unsigned);
    value.as_u64().or_else(negative).ok_or_else(|| field.unlike("a whole number of at most 64 bits"))
}

fn read_stop(field: &Field<'_>) -> Result<Vec<String>, ApiError> {
    let expected = "a text or an array of at most 4 texts";
    if let Some(text) = field.value().as_str() {
        return if text.is_empty() { Ok(Vec::new()) } else { Ok(vec![read_stop_text(field)?]) };
    }
    let items = field.items(expected)?;
    if items.len() > STOPS_MAX {
        return Err(field.unlike(expected));
    }
    items.iter().map(read_stop_text).collect()
}

fn read_stop_text(field: &Field<'_>) -> Result<String, ApiError> {
    let expected = "a text of 1 to 1000 characters";
    let text = field.text(expected)?;
    if text.is_empty() || text.chars().nth(STOP_CHARACTERS_MAX).is_some() {
        return Err(field.unlike(expected));
    }
    Ok(text.to_owned())
}

/// `logprobs` asks for the tokens' own, `top_logprobs` for that many others beside each.
fn read_logprobs(root: &Field<'_>) -> Result<Option<u8>, ApiError> {
    let wanted = root.get("logprobs").map_or(Ok(false), |field| field.flag())?;
    let Some(top) = root.get("top_logprobs") else {
        return Ok(wanted.then_some(0));
    };
    let count = top.value().as_u64().and_then(|count| u8::try_from(count).ok());
    let count = count.filter(|count| *count <= TOP_LOGPROBS_MAX);
    let count = count.ok_or_else(|| top.unlike("a whole number from 0 to 20"))?;
    if !wanted && count > 0 {
        return Err(top.unsupported("it goes with logprobs; send logprobs = true"));
    }
    Ok(wanted.then_some(count))
}

fn read_format(field: &Field<'_>) -> Result<Option<Grammar>, ApiError> {
    let expected = "an object with a type";
    field.object(expected)?;
    let kind = field.require("type", "text, json_object or json_schema")?;
    let schema = match kind.text("text, json_object or json_schema")? {
        "text" => return Ok(None),
        // The form of llama.cpp, with the schema beside the type.
        "json_object" => match field.get("schema") {
            Some(schema) => schema,
            None => return Ok(Some(Grammar::JsonObject)),
        },
        "json_schema" => {
            let outer = field.require("json_schema", "an object with a schema")?;
            outer.object("an object with a schema")?;
            outer.require("schema", "a JSON schema")?
        }
        _ => return Err(kind.unsupported("send text, json_object or json_schema")),
    };
    schema.object("a JSON schema, an object")?;
    Ok(Some(Grammar::JsonSchema { schema_json: Value::to_string(schema.value()) }))
}

#[expect(clippy::cast_possible_truncation, reason = "the range was checked; only precision is lost")]
fn narrow(number: f64) -> f32 {
    number as f32
}
