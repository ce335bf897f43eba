//! From the bytes of a file to a typed layer, whole or not at all. No IO.

use jsonc_parser::ast::Value as Tree;
use jsonc_parser::common::Ranged;
use jsonc_parser::{CollectOptions, ParseOptions, parse_to_ast};
use serde::de::DeserializeOwned;
use serde_json::Value;
use serde_path_to_error::Segment;

use crate::error::{ConfigError, Problem};
use crate::known::{UnknownKey, nearest};
use crate::raw::{Known, KnownKey};

const OPTIONS: ParseOptions = ParseOptions {
    allow_comments: true,
    allow_trailing_commas: true,
    allow_loose_object_property_names: false,
    allow_missing_commas: false,
    allow_single_quoted_strings: false,
    allow_hexadecimal_numbers: false,
    allow_unary_plus_numbers: false,
    allow_bare_decimal_point_numbers: false,
    allow_non_finite_numbers: false,
    allow_extended_string_escapes: false,
};

/// A layer and the keys in it that nobody reads.
#[derive(Debug)]
pub(crate) struct Read<T> {
    pub(crate) layer: T,
    pub(crate) unknown_keys: Vec<UnknownKey>,
}

/// Reads JSON with comments and trailing commas.
///
/// # Errors
/// [`ConfigError::Malformed`] for what is no such JSON, [`ConfigError::Invalid`] with every value that cannot be.
pub(crate) fn read<T: DeserializeOwned + Known>(file: &str, bytes: &[u8]) -> Result<Read<T>, ConfigError> {
    let text = decode(file, bytes)?;
    let mut value = parse(file, text)?;
    let mut known = Vec::new();
    T::known("", &mut known);
    let mut problems = Vec::new();
    refuse_non_objects(&mut value, "", "", &known, &mut problems);
    loop {
        let mut unread = Vec::new();
        let mut track = serde_path_to_error::Track::new();
        let tracked = serde_path_to_error::Deserializer::new(&value, &mut track);
        match serde_ignored::deserialize::<_, _, T>(tracked, |path| unread.push(path.to_string())) {
            Ok(layer) if problems.is_empty() => {
                let unknown_keys = unread.into_iter().map(|path| nearest(path, &known)).collect();
                return Ok(Read { layer, unknown_keys });
            }
            Ok(_) => return Err(ConfigError::Invalid { file: file.to_owned(), problems }),
            Err(error) => {
                let path = track.path();
                problems.push(Problem { json_path: path.to_string(), expected: error.to_string() });
                // The others are found without this one.
                if !remove(&mut value, path.iter()) {
                    return Err(ConfigError::Invalid { file: file.to_owned(), problems });
                }
            }
        }
    }
}

/// Reads a layer that comes with the program.
///
/// # Errors
/// As [`read`]; a key that nobody reads is an error too.
pub(crate) fn read_embedded<T: DeserializeOwned + Known>(file: &str, text: &str) -> Result<T, ConfigError> {
    let read = read(file, text.as_bytes())?;
    match read.unknown_keys.first() {
        Some(unknown) => Err(ConfigError::at(file, &unknown.path, "nobody reads this key")),
        None => Ok(read.layer),
    }
}

fn decode<'a>(file: &str, bytes: &'a [u8]) -> Result<&'a str, ConfigError> {
    let malformed = |line, expected: &str| ConfigError::Malformed {
        file: file.to_owned(),
        line,
        column: 1,
        expected: expected.to_owned(),
    };
    if bytes.starts_with(&[0xFF, 0xFE]) || bytes.starts_with(&[0xFE, 0xFF]) {
        return Err(malformed(1, "the file is UTF-16: save it as UTF-8"));
    }
    let bytes = bytes.strip_prefix(&[0xEF, 0xBB, 0xBF]).unwrap_or(bytes);
    std::str::from_utf8(bytes).map_err(|error| {
        let line = 1 + bytes[..error.valid_up_to()].iter().filter(|byte| **byte == b'\n').count();
        malformed(line, "the file is not UTF-8: save it as UTF-8")
    })
}

fn parse(file: &str, text: &str) -> Result<Value, ConfigError> {
    let malformed = |line, column, expected: String| ConfigError::Malformed {
        file: file.to_owned(),
        line,
        column,
        expected,
    };
    let parsed = parse_to_ast(text, &CollectOptions::default(), &OPTIONS).map_err(|error| {
        malformed(error.line_display(), error.column_display(), error.kind().to_string().to_lowercase())
    })?;
    let Some(tree) = parsed.value else {
        return Err(malformed(1, 1, "the file is empty: write {} for no settings of your own".to_owned()));
    };
    let mut repeated = None;
    let value = plain(&tree, &mut |at, expected| {
        repeated.get_or_insert((at, expected));
    });
    if let Some((at, expected)) = repeated {
        let before = &text[..at];
        let line = 1 + before.matches('\n').count();
        let column = 1 + before.rsplit('\n').next().unwrap_or_default().chars().count();
        return Err(malformed(line, column, expected));
    }
    if !value.is_object() {
        return Err(malformed(1, 1, "expected an object in braces".to_owned()));
    }
    Ok(value)
}

/// The tree as plain JSON; a key that is null says nothing and is left out.
fn plain(tree: &Tree<'_>, complain: &mut impl FnMut(usize, String)) -> Value {
    match tree {
        Tree::StringLit(text) => Value::String(text.value.to_string()),
        Tree::NumberLit(number) => serde_json::from_str(number.value).map_or_else(
            |_| {
                complain(tree.start(), format!("{} is no number that can be read", number.value));
                Value::Null
            },
            Value::Number,
        ),
        Tree::BooleanLit(flag) => Value::Bool(flag.value),
        Tree::NullKeyword(_) => Value::Null,
        Tree::Array(array) => array.elements.iter().map(|element| plain(element, complain)).collect(),
        Tree::Object(object) => {
            let mut map = serde_json::Map::new();
            for property in &object.properties {
                let key = property.name.as_str();
                let value = plain(&property.value, complain);
                if value.is_null() {
                    continue;
                }
                if map.insert(key.to_owned(), value).is_some() {
                    complain(property.start(), format!("the key \"{key}\" is there twice"));
                }
            }
            Value::Object(map)
        }
    }
}

/// Objects could be read from arrays, one key after the other: nobody means that.
fn refuse_non_objects(
    value: &mut Value,
    json_path: &str,
    known_path: &str,
    known: &[KnownKey],
    problems: &mut Vec<Problem>,
) {
    let Value::Object(map) = value else {
        return;
    };
    let mut wrong = Vec::new();
    for (key, below) in map.iter_mut() {
        let forms = [join(known_path, key), join(known_path, "*")];
        let is_object = |form: &&String| known.iter().any(|known| known.is_object && known.path == **form);
        let Some(form) = forms.iter().find(is_object) else {
            continue;
        };
        if below.is_object() {
            refuse_non_objects(below, &join(json_path, key), form, known, problems);
        } else {
            let expected = "expected an object in braces".to_owned();
            problems.push(Problem { json_path: join(json_path, key), expected });
            wrong.push(key.clone());
        }
    }
    for key in wrong {
        map.remove(&key);
    }
}

fn join(above: &str, key: &str) -> String {
    if above.is_empty() { key.to_owned() } else { format!("{above}.{key}") }
}

/// Takes out the value that could not be read; of an array the whole of it.
fn remove<'a>(value: &mut Value, segments: impl Iterator<Item = &'a Segment>) -> bool {
    let mut keys = Vec::new();
    for segment in segments {
        match segment {
            Segment::Map { key } => keys.push(key),
            Segment::Seq { .. } | Segment::Enum { .. } | Segment::Unknown => break,
        }
    }
    let Some((last, above)) = keys.split_last() else {
        return false;
    };
    let mut at = value;
    for key in above {
        let Some(below) = at.get_mut(key.as_str()) else {
            return false;
        };
        at = below;
    }
    at.as_object_mut().is_some_and(|map| map.remove(last.as_str()).is_some())
}
