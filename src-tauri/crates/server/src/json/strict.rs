//! Bytes to a JSON value; a field written twice is an error, not a silent choice.

use std::cell::{Cell, RefCell};
use std::fmt;

use serde::de::{DeserializeSeed, MapAccess, SeqAccess, Visitor};
use serde_json::error::Category;
use serde_json::{Map, Number, Value};

use crate::error::ApiError;

/// Most values in a body: a few bytes of it become a hundred in memory, and real requests hold some thousands.
pub(crate) const VALUES_MAX: u32 = 500_000;
/// Steps of a path that are told.
const STEPS_MAX: usize = 8;
/// Longest name that is told, in characters.
const NAME_MAX: usize = 64;

/// Reads a whole body.
///
/// # Errors
/// [`ApiError::BadRequest`] with the path of the field at fault, the position where it is no JSON, and the cure.
pub(crate) fn parse(body: &[u8]) -> Result<Value, ApiError> {
    let bad = |param: Option<String>, what: String| ApiError::BadRequest { param, what };
    let text = text(body).map_err(|what| bad(None, what))?;
    let finding =
        Finding { left: Cell::new(VALUES_MAX), path: RefCell::new(None), trouble: Cell::new(Trouble::Json) };
    let mut reader = serde_json::Deserializer::from_str(text);
    let read = Node { path: &Path::Root, finding: &finding }.deserialize(&mut reader);
    let whole = read.and_then(|value| reader.end().map(|()| value));
    whole.map_err(|error| {
        let path = finding.path.take();
        let what = match (finding.trouble.get(), &path) {
            (Trouble::Twice, Some(path)) => format!("The field {path} is written twice. Write it once."),
            (Trouble::TooMany, _) => format!("The body holds over {VALUES_MAX} values. Send fewer."),
            (Trouble::Twice | Trouble::Json, _) => {
                format!("The body is not valid JSON: {error}. {}", cure(&error))
            }
        };
        bad(path, what)
    })
}

fn text(body: &[u8]) -> Result<&str, String> {
    let body = body.strip_prefix(b"\xef\xbb\xbf").unwrap_or(body);
    match body {
        [0xff, 0xfe, ..] | [0xfe, 0xff, ..] | [0, ..] | [_, 0, ..] => {
            Err("The body is UTF-16 or UTF-32. Send it as UTF-8.".to_owned())
        }
        _ if body.trim_ascii().is_empty() => Err("The body is empty. Send a JSON object.".to_owned()),
        _ => std::str::from_utf8(body).map_err(|error| {
            format!("The body is not UTF-8 at byte {}. Send it as UTF-8.", error.valid_up_to())
        }),
    }
}

/// What to do about a body that the library refuses.
fn cure(error: &serde_json::Error) -> &'static str {
    let told = error.to_string();
    let is = |start: &str| told.starts_with(start);
    match error.classify() {
        Category::Eof => "It ends too early: send all of it.",
        _ if is("recursion limit exceeded") => "Nest it less: 127 levels are read.",
        _ if is("number out of range") => "Send a number that a 64-bit float holds.",
        _ if is("lone leading surrogate") || is("unexpected end of hex escape") => {
            "Half a character is escaped there: send the whole of it, or leave it out."
        }
        Category::Io | Category::Syntax | Category::Data => {
            "Send JSON by RFC 8259, which has no NaN, no comments and no comma at the end."
        }
    }
}

/// What is known of a fault, found where the reading is deepest.
struct Finding {
    /// Values that may follow.
    left: Cell<u32>,
    /// Path of the value at fault.
    path: RefCell<Option<String>>,
    trouble: Cell<Trouble>,
}

#[derive(Clone, Copy)]
enum Trouble {
    Json,
    Twice,
    TooMany,
}

impl Finding {
    /// Notes where reading failed; who is told first stands deepest.
    fn at(&self, path: &Path<'_>) {
        let mut known = self.path.borrow_mut();
        if known.is_none() && !matches!(path, Path::Root) {
            *known = Some(path.to_string());
        }
    }
}

enum Path<'a> {
    Root,
    Key(&'a Path<'a>, &'a str),
    Index(&'a Path<'a>, usize),
}

impl Path<'_> {
    fn above(&self) -> Option<&Self> {
        match self {
            Self::Root => None,
            Self::Key(above, _) | Self::Index(above, _) => Some(above),
        }
    }
}

impl fmt::Display for Path<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut steps: Vec<&Path<'_>> = std::iter::successors(Some(self), |path| path.above()).collect();
        steps.reverse();
        for (at, step) in steps.iter().enumerate().skip(1) {
            match step {
                _ if at > STEPS_MAX => return formatter.write_str("…"),
                Self::Root => {}
                Self::Key(_, key) if at == 1 => formatter.write_str(&shortened(key))?,
                Self::Key(_, key) => write!(formatter, ".{}", shortened(key))?,
                Self::Index(_, index) => write!(formatter, "[{index}]")?,
            }
        }
        Ok(())
    }
}

/// A name as it can be told.
pub(super) fn shortened(key: &str) -> String {
    let told: String = key.chars().filter(|letter| !letter.is_control()).take(NAME_MAX).collect();
    if told.is_empty() { "\"\"".to_owned() } else { told }
}

struct Node<'a> {
    path: &'a Path<'a>,
    finding: &'a Finding,
}

impl Node<'_> {
    fn failed<E>(&self, trouble: Trouble, path: &Path<'_>) -> E
    where
        E: serde::de::Error,
    {
        self.finding.trouble.set(trouble);
        self.finding.at(path);
        E::custom("")
    }
}

impl<'de> DeserializeSeed<'de> for Node<'_> {
    type Value = Value;

    fn deserialize<D: serde::Deserializer<'de>>(self, reader: D) -> Result<Value, D::Error> {
        let Some(left) = self.finding.left.get().checked_sub(1) else {
            return Err(self.failed(Trouble::TooMany, self.path));
        };
        self.finding.left.set(left);
        let (path, finding) = (self.path, self.finding);
        reader.deserialize_any(self).inspect_err(|_| finding.at(path))
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
            match items.next_element_seed(Node { path: &path, finding: self.finding })? {
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
                return Err(self.failed(Trouble::Twice, &path));
            }
            let value = fields.next_value_seed(Node { path: &path, finding: self.finding })?;
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
    fn malformed_json_names_the_field_and_the_position_and_never_quotes_the_body() {
        for (body, field) in [
            (r#"{"a":"#, Some("a")),
            (r#"{"a"}"#, None),
            (r#"{"a":1,}"#, None),
            (r#"{"a":1} secret"#, None),
            ("secret", None),
            ("{'secret':1}", None),
            ("{\"a\":\"secret\nb\"}", Some("a")),
            (r#"{"a":01}"#, Some("a")),
            (r#"{"":01}"#, Some("\"\"")),
            (r#"{"a":[{"b":NaN}]}"#, Some("a[0].b")),
            (r#"{"a":-Infinity}"#, Some("a")),
            (r#"{"a":secret}"#, Some("a")),
        ] {
            let (param, what) = refused(body.as_bytes());
            assert_eq!(param.as_deref(), field, "{body}");
            assert!(what.contains("line 1 column") || what.contains("line 2 column"), "{what}");
            assert!(what.contains(". Send JSON") || what.contains("send all of it"), "{what}");
            assert!(!what.contains("secret"), "{what}");
        }
    }

    #[test]
    fn a_number_that_no_float_holds_is_refused_with_its_field() {
        for number in ["1e400", "-1e400", &"9".repeat(400)] {
            let (param, what) = refused(format!(r#"{{"a":{{"b":{number}}}}}"#).as_bytes());
            assert_eq!(param.as_deref(), Some("a.b"));
            assert!(what.contains("64-bit float"), "{what}");
        }
    }

    #[test]
    fn half_a_character_is_refused_with_its_field_wherever_it_stands() {
        for (body, field) in [
            (r#"{"a":"\ud800"}"#, "a"),
            (r#"{"a":"\udc00 x"}"#, "a"),
            (r#"{"a":"\ud83d\u0041"}"#, "a"),
            (r#"{"a":[{"b":1,"\ud800":2}]}"#, "a[0]"),
        ] {
            let (param, what) = refused(body.as_bytes());
            assert_eq!(param.as_deref(), Some(field), "{body}");
            assert!(what.contains("Half a character"), "{what}");
        }
    }

    #[test]
    fn bytes_that_are_not_utf8_are_refused_with_their_place_and_the_cure() {
        assert!(refused(b"{\"a\":\"\xff\"}").1.contains("byte 6. Send it as UTF-8."));
        let wide = |order: fn(u16) -> [u8; 2]| "{}".encode_utf16().flat_map(order).collect::<Vec<u8>>();
        let marked = [vec![0xff, 0xfe], wide(u16::to_le_bytes)].concat();
        for body in [marked, wide(u16::to_le_bytes), wide(u16::to_be_bytes)] {
            assert!(refused(&body).1.contains("UTF-16"), "{body:?}");
        }
    }

    #[test]
    fn a_byte_order_mark_of_utf8_is_passed_over() {
        assert_eq!(parse(b"\xef\xbb\xbf{}").unwrap(), Value::Object(Map::new()));
    }

    #[test]
    fn very_deep_nesting_is_refused_with_the_beginning_of_its_path() {
        let body = format!(r#"{{"a":{}"#, "[".repeat(100_000));
        let (param, what) = refused(body.as_bytes());
        assert_eq!(param.as_deref(), Some("a[0][0][0][0][0][0][0]…"));
        assert!(what.contains("127 levels"), "{what}");
        let most = format!(r#"{{"a":{}{}}}"#, "[".repeat(126), "]".repeat(126));
        assert!(parse(most.as_bytes()).is_ok());
    }

    #[test]
    fn more_values_than_memory_should_hold_are_refused() {
        let list = |count: u32| format!("[{}]", vec!["0"; count as usize].join(","));
        assert!(parse(list(VALUES_MAX - 1).as_bytes()).is_ok());
        let (param, what) = refused(list(VALUES_MAX).as_bytes());
        assert_eq!(param.as_deref(), Some("[499999]"));
        assert!(what.contains("500000 values"), "{what}");
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
        assert!(refused(b" \n").1.contains("JSON object"));
    }
}
