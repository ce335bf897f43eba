//! Fields that cannot be honoured yet, in the values that ask for nothing.

use serde_json::Value;

use crate::error::ApiError;
use crate::json::Field;

/// Refuses every field that would change the answer and is not honoured; a value that asks for nothing is
/// accepted, and so is every field that only informs (`user`, `metadata`, `store` and the like).
pub(crate) fn check(root: &Field<'_>) -> Result<(), ApiError> {
    for (key, asks_for_nothing, cure) in RULES {
        if let Some(field) = root.get(key)
            && !asks_for_nothing(field.value())
        {
            return Err(field.unsupported(cure));
        }
    }
    Ok(())
}

type Rule = (&'static str, fn(&Value) -> bool, &'static str);

const CONSTRAINED: &str = "send response_format with json_object or json_schema";
const UNKNOWN_SAMPLER: &str = "it is not offered; leave it out";

const RULES: [Rule; 28] = [
    ("n", is_one, "one answer is given; send n = 1 or leave it out"),
    ("functions", is_empty, "declare the functions in tools"),
    ("function_call", is_free_choice, "send tool_choice"),
    ("logit_bias", is_empty, "it is not offered yet; leave it out"),
    ("modalities", is_text_only, "answers are text; send [\"text\"] or leave it out"),
    ("audio", |_| false, "answers are text; leave it out"),
    ("web_search_options", |_| false, "there is no web search here; leave it out"),
    ("best_of", is_one, "one answer is given; send best_of = 1 or leave it out"),
    ("n_predict", |_| false, "send max_tokens"),
    ("min_tokens", is_zero, "an answer ends where the model ends it; leave it out"),
    ("ignore_eos", is_off, "an answer ends where the model ends it; leave it out"),
    ("echo", is_off, "answers do not repeat the prompt; leave it out"),
    ("suffix", is_empty, "text is not filled in between; leave it out"),
    ("grammar", is_empty, CONSTRAINED),
    ("json_schema", is_empty, CONSTRAINED),
    ("guided_json", is_empty, CONSTRAINED),
    ("guided_regex", is_empty, CONSTRAINED),
    ("guided_choice", is_empty, CONSTRAINED),
    ("guided_grammar", is_empty, CONSTRAINED),
    ("structured_outputs", is_empty, CONSTRAINED),
    ("use_beam_search", is_off, UNKNOWN_SAMPLER),
    ("length_penalty", is_one, UNKNOWN_SAMPLER),
    ("mirostat", is_zero, UNKNOWN_SAMPLER),
    ("typical_p", is_one, UNKNOWN_SAMPLER),
    ("top_a", is_zero, UNKNOWN_SAMPLER),
    ("dry_multiplier", is_zero, UNKNOWN_SAMPLER),
    ("xtc_probability", is_zero, UNKNOWN_SAMPLER),
    ("bad_words", is_empty, UNKNOWN_SAMPLER),
];

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Array(items) => items.is_empty(),
        Value::Object(fields) => fields.is_empty(),
        Value::String(text) => text.is_empty(),
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}

fn is_one(value: &Value) -> bool {
    value.as_f64() == Some(1.0)
}

fn is_zero(value: &Value) -> bool {
    value.as_f64() == Some(0.0)
}

fn is_off(value: &Value) -> bool {
    value.as_bool() == Some(false)
}

fn is_free_choice(value: &Value) -> bool {
    matches!(value.as_str(), Some("auto" | "none"))
}

fn is_text_only(value: &Value) -> bool {
    value.as_array().is_some_and(|kinds| kinds.iter().all(|kind| kind.as_str() == Some("text")))
}
