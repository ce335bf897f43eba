//! Bytes to a JSON value; a field written twice is an error, not a silent choice.

use std::cell::RefCell;
use std::fmt;

use serde::de::{DeserializeSeed, Error as _, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};

use crate::error::ApiError;

/// Reads a whole body.
///
/// # Errors
/// [`ApiError::BadRequest`] with the position of the fault, or the path of a field written twice.
pub(crate) fn parse(body: &[u8]) -> Result<Value, ApiError> {
    let bad = |param: Option<String>, what: String| ApiError::BadRequest { param, what };
    if body.is_empty() {
        return Err(bad(None, "The body is empty. Send a JSON object.".to_owned()));
    }
    let text = std::str::from_utf8(body)
        .map_err(|error| bad(None, format!("The body is not UTF-8 at byte {}.", error.valid_up_to())))?;
    let twice = RefCell::new(None);
    let mut reader = serde_json::Deserializer::from_str(text);
    let read = Node { path: &Path::Root, twice: &twice }.deserialize(&mut reader);
    let whole = read.and_then(|value| reader.end().map(|()| value));
    whole.map_err(|error| match twice.take() {
        Some(path) => {
            let what = format!("The field {path} is written twice. Write it once.");
            bad(Some(path), what)
        }
        None => bad(None, format!("The body is not valid JSON: {error}.")),
    })
}

enum Path<'a> {
    Root,
    Key(&'a Path<'a>, &'a str),
    Index(&'a Path<'a>, usize),
}

impl fmt::Display for Path<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Root => Ok(()),
            Self::Key(Self::Root, key) => write!(formatter, "{}", shortened(key)),
            Self::Key(above, key) => write!(formatter, "{above}.{}", shortened(key)),
            Self::Index(above, index) => write!(formatter, "{above}[{index}]"),
        }
    }
}

fn shortened(key: &str) -> String {
    key.chars().filter(|letter| !letter.is_control()).take(64).collect()
}

struct Node<'a> {
    path: &'a Path<'a>,
    twice: &'a RefCell<Option<String>>,
}

impl<'de> DeserializeSeed<'de> for Node<'_> {
    type Value = Value;

    fn deserialize<D: serde::Deserializer<'de>>(self, reader: D) -> Result<Value, D::Error> {
        reader.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Node<'_> {
    type Value = Value;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("JSON")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(Value::Number(value.into()))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(Value::Number(value.into()))
    }

    fn visit_f64<E: serde::de::Error>(self, value: f64) -> Result<Value, E> {
        Number::from_f64(value).map(Value::Number).ok_or_else(|| E::custom("number out of range"))
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(Value::String(value.to_owned()))
    }

    fn visit_string<E>(self, value: String) -> Result<Value, E> {
        Ok(Value::String(value))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut list = Vec::new();
        loop {
            let path = Path::Index(self.path, list.len());
            match items.next_element_seed(Node { path: &path, twice: self.twice })? {
                Some(item) => list.push(item),
                None => return Ok(Value::Array(list)),
            }
        }
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<Value, A::Error> {
        let mut map = Map::new();
        while let Some(key) = fields.next_key::<String>()? {
            let path = Path::Key(self.path, &key);
            if map.contains_key(&key) {
                self.twice.replace(Some(path.to_string()));
                return Err(A::Error::custom("field written twice"));
            }
            let value = fields.next_value_seed(Node { path: &path, twice: self.twice })?;
            map.insert(key, value);
        }
        Ok(Value::Object(map))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(body: &[u8]) -> (Option<String>, String) {
        match parse(body) {
            Err(ApiError::BadRequest { param, what }) => (param, what),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_value_comes_out_as_serde_json_itself_reads_it() {
        for text in
            [r#"{"a":[1,-2,3.5,"x",null,true,{"b":{}}]}"#, "[]", "7", r#""é😀\n""#, r#"18446744073709551615"#]
        {
            assert_eq!(parse(text.as_bytes()).unwrap(), serde_json::from_str::<Value>(text).unwrap());
        }
    }

    #[test]
    fn malformed_json_names_the_position_and_never_quotes_the_body() {
        for body in [
            r#"{"secret":"#,
            r#"{"secret"}"#,
            r#"{"secret":1,}"#,
            r#"{"secret":1} secret"#,
            "secret",
            "{'secret':1}",
            "{\"secret\":\"a\nb\"}",
            r#"{"secret":01}"#,
            r#"{"secret":NaN}"#,
            r#"{"secret":1e999}"#,
        ] {
            let (param, what) = refused(body.as_bytes());
            assert_eq!(param, None);
            assert!(what.contains("line 1 column") || what.contains("line 2 column"), "{what}");
            assert!(!what.contains("secret"), "{what}");
        }
    }

    #[test]
    fn a_lone_surrogate_is_refused() {
        assert!(refused(br#"{"a":"\ud800"}"#).1.contains("line 1 column"));
        assert!(refused(br#"{"a":"\udc00 x"}"#).1.contains("line 1 column"));
    }

    #[test]
    fn bytes_that_are_not_utf8_are_refused_with_their_place() {
        assert!(refused(b"{\"a\":\"\xff\"}").1.contains("byte 6"));
    }

    #[test]
    fn very_deep_nesting_is_refused_and_does_not_crash() {
        let body = "[".repeat(100_000);
        assert!(refused(body.as_bytes()).1.contains("recursion limit"));
    }

    #[test]
    fn a_field_written_twice_is_refused_with_its_path() {
        assert_eq!(refused(br#"{"a":1,"a":1}"#).0.as_deref(), Some("a"));
        let (param, what) = refused(br#"{"m":[{},{"b":{"c":1,"c":2}}]}"#);
        assert_eq!(param.as_deref(), Some("m[1].b.c"));
        assert!(what.contains("m[1].b.c"));
    }

    #[test]
    fn an_empty_body_says_what_to_send() {
        assert!(refused(b"").1.contains("JSON object"));
    }
}
