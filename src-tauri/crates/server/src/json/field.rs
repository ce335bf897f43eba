//! Reading a value by path, so that every refusal names the field and what was expected.

use serde_json::{Map, Value};

use super::strict::shortened;
use crate::error::ApiError;

/// One value with the path it was found at; a missing field and null are the same.
#[derive(Clone, Debug)]
pub(crate) struct Field<'a> {
    path: String,
    value: &'a Value,
}

impl<'a> Field<'a> {
    /// The body itself.
    pub(crate) fn root(value: &'a Value) -> Self {
        Self { path: String::new(), value }
    }

    /// The path, such as `messages[0].role`.
    pub(crate) fn path(&self) -> &str {
        &self.path
    }

    /// The value itself.
    pub(crate) fn value(&self) -> &'a Value {
        self.value
    }

    /// A field of this object; none when absent or null.
    pub(crate) fn get(&self, key: &str) -> Option<Field<'a>> {
        let value = self.value.as_object()?.get(key).filter(|value| !value.is_null())?;
        Some(Field { path: self.path_of(key), value })
    }

    /// A field that must be there.
    pub(crate) fn require(&self, key: &str, expected: &str) -> Result<Field<'a>, ApiError> {
        let missing = || {
            let param = self.path_of(key);
            let what = format!("{param} is missing: expected {expected}.");
            ApiError::BadRequest { param: Some(param), what }
        };
        self.get(key).ok_or_else(missing)
    }

    /// The path of a field of this object; a client's own names are told as far as they can be.
    fn path_of(&self, key: &str) -> String {
        let key = shortened(key);
        if self.path.is_empty() { key } else { format!("{}.{key}", self.path) }
    }

    /// The items of an array.
    pub(crate) fn items(&self, expected: &str) -> Result<Vec<Field<'a>>, ApiError> {
        let list = self.value.as_array().ok_or_else(|| self.unlike(expected))?;
        let item = |(index, value)| Field { path: format!("{}[{index}]", self.path), value };
        Ok(list.iter().enumerate().map(item).collect())
    }

    /// An object.
    pub(crate) fn object(&self, expected: &str) -> Result<&'a Map<String, Value>, ApiError> {
        self.value.as_object().ok_or_else(|| self.unlike(expected))
    }

    /// A string.
    pub(crate) fn text(&self, expected: &str) -> Result<&'a str, ApiError> {
        self.value.as_str().ok_or_else(|| self.unlike(expected))
    }

    /// True or false.
    pub(crate) fn flag(&self) -> Result<bool, ApiError> {
        self.value.as_bool().ok_or_else(|| self.unlike("true or false"))
    }

    /// A finite number in a range.
    pub(crate) fn number(&self, expected: &str, fits: impl Fn(f64) -> bool) -> Result<f64, ApiError> {
        self.value.as_f64().filter(|number| fits(*number)).ok_or_else(|| self.unlike(expected))
    }

    /// The refusal of this value; the value itself is only quoted where it is a number.
    pub(crate) fn unlike(&self, expected: &str) -> ApiError {
        let found = match self.value {
            Value::Null => "null".to_owned(),
            Value::Bool(value) => value.to_string(),
            Value::Number(number) => number.to_string(),
            Value::String(_) => "a string".to_owned(),
            Value::Array(_) => "an array".to_owned(),
            Value::Object(_) => "an object".to_owned(),
        };
        let (name, param) = if self.path.is_empty() {
            ("The body", None)
        } else {
            (self.path.as_str(), Some(self.path.clone()))
        };
        ApiError::BadRequest { param, what: format!("{name}: expected {expected}, found {found}.") }
    }

    /// The refusal of a field that cannot be honoured.
    pub(crate) fn unsupported(&self, cure: &str) -> ApiError {
        ApiError::UnsupportedRequest { param: self.path.clone(), cure: cure.to_owned() }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_refusal_names_path_expectation_and_kind_but_not_the_text() {
        let body = json!({"a": [{"b": "secret"}]});
        let items = Field::root(&body).get("a").unwrap().items("an array").unwrap();
        let refusal = items[0].get("b").unwrap().flag().unwrap_err();
        let ApiError::BadRequest { param, what } = refusal else { panic!() };
        assert_eq!(param.as_deref(), Some("a[0].b"));
        assert_eq!(what, "a[0].b: expected true or false, found a string.");
    }

    #[test]
    fn null_is_as_good_as_absent() {
        let body = json!({"a": null});
        assert!(Field::root(&body).get("a").is_none());
        let ApiError::BadRequest { param, .. } = Field::root(&body).require("a", "a string").unwrap_err()
        else {
            panic!()
        };
        assert_eq!(param.as_deref(), Some("a"));
    }

    #[test]
    fn a_name_of_the_clients_own_is_told_as_far_as_it_can_be() {
        let key = format!("\n{}", "x".repeat(1_000_000));
        let body = json!({key.as_str(): 1});
        assert_eq!(Field::root(&body).get(&key).unwrap().path(), "x".repeat(64));
    }
}
