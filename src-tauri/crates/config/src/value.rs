//! Values of single keys, checked where they are read: what is of one of these types is possible.

use std::fmt;

use serde::de::{Error as _, Unexpected, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;

/// A whole number from `MIN` to `MAX`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Whole<const MIN: u64, const MAX: u64>(u64);

impl<const MIN: u64, const MAX: u64> Whole<MIN, MAX> {
    /// The number.
    pub fn get(self) -> u64 {
        self.0
    }

    /// The number where `MAX` fits 32 bits.
    pub fn get_u32(self) -> u32 {
        u32::try_from(self.0).unwrap_or(u32::MAX)
    }
}

impl<'de, const MIN: u64, const MAX: u64> Deserialize<'de> for Whole<MIN, MAX> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Reader<const MIN: u64, const MAX: u64>;
        impl<const MIN: u64, const MAX: u64> Visitor<'_> for Reader<MIN, MAX> {
            type Value = u64;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(formatter, "a whole number from {MIN} to {MAX}")
            }

            fn visit_u64<E: serde::de::Error>(self, found: u64) -> Result<u64, E> {
                let possible = (MIN..=MAX).contains(&found).then_some(found);
                possible.ok_or_else(|| E::invalid_value(Unexpected::Unsigned(found), &self))
            }

            fn visit_i64<E: serde::de::Error>(self, found: i64) -> Result<u64, E> {
                match u64::try_from(found) {
                    Ok(found) => self.visit_u64(found),
                    Err(_) => Err(E::invalid_value(Unexpected::Signed(found), &self)),
                }
            }
        }
        deserializer.deserialize_u64(Reader::<MIN, MAX>).map(Self)
    }
}

#[cfg(test)]
impl<const MIN: u64, const MAX: u64> schemars::JsonSchema for Whole<MIN, MAX> {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> std::borrow::Cow<'static, str> {
        format!("Whole{MIN}To{MAX}").into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({ "type": "integer", "minimum": MIN, "maximum": MAX })
    }
}

macro_rules! decimal {
    ($(#[$doc:meta])* $name:ident, $expected:literal, $possible:expr, $schema:tt) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq)]
        pub struct $name(f64);

        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                number(self.0).serialize(serializer)
            }
        }

        impl $name {
            /// The number.
            pub fn get(self) -> f64 {
                self.0
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                struct Reader;
                impl Visitor<'_> for Reader {
                    type Value = f64;

                    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                        formatter.write_str($expected)
                    }

                    fn visit_f64<E: serde::de::Error>(self, found: f64) -> Result<f64, E> {
                        let possible: fn(f64) -> bool = $possible;
                        if found.is_finite() && possible(found) {
                            return Ok(found);
                        }
                        Err(E::invalid_value(Unexpected::Float(found), &self))
                    }

                    #[expect(clippy::cast_precision_loss, reason = "such numbers are out of range anyway")]
                    fn visit_u64<E: serde::de::Error>(self, found: u64) -> Result<f64, E> {
                        self.visit_f64(found as f64)
                    }

                    #[expect(clippy::cast_precision_loss, reason = "such numbers are out of range anyway")]
                    fn visit_i64<E: serde::de::Error>(self, found: i64) -> Result<f64, E> {
                        self.visit_f64(found as f64)
                    }
                }
                deserializer.deserialize_f64(Reader).map(Self)
            }
        }

        #[cfg(test)]
        impl schemars::JsonSchema for $name {
            fn inline_schema() -> bool {
                true
            }

            fn schema_name() -> std::borrow::Cow<'static, str> {
                stringify!($name).into()
            }

            fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
                schemars::json_schema!($schema)
            }
        }
    };
}

decimal! {
    /// Temperature of sampling.
    Temperature, "a number from 0 to 2", |found| (0.0..=2.0).contains(&found),
    { "type": "number", "minimum": 0, "maximum": 2 }
}
decimal! {
    /// A share of probability.
    Share, "a number over 0, at most 1", |found| found > 0.0 && found <= 1.0,
    { "type": "number", "exclusiveMinimum": 0, "maximum": 1 }
}
decimal! {
    /// An amount of memory in GiB.
    Gibibytes, "a number of GiB over 0, at most 4096", |found| found > 0.0 && found <= 4096.0,
    { "type": "number", "exclusiveMinimum": 0, "maximum": 4096 }
}
decimal! {
    /// Bits a value in a quantised cache, in halves.
    Bits, "a number from 1 to 8 in steps of 0.5",
    |found| (1.0..=8.0).contains(&found) && (found * 2.0).fract() == 0.0,
    { "type": "number", "minimum": 1, "maximum": 8, "multipleOf": 0.5 }
}
decimal! {
    /// A span of seconds.
    Seconds, "a number of seconds over 0, at most 604800", |found| found > 0.0 && found <= 604_800.0,
    { "type": "number", "exclusiveMinimum": 0, "maximum": 604_800 }
}

const LEVELS: [&str; 6] = ["off", "error", "warn", "info", "debug", "trace"];

macro_rules! text {
    ($(#[$doc:meta])* $name:ident, $expected:literal, $pattern:literal, $read:expr) => {
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
        pub struct $name(String);

        impl $name {
            /// Takes the text if it is possible.
            pub fn read(text: &str) -> Option<Self> {
                let read: fn(&str) -> Option<String> = $read;
                read(text).map(Self)
            }

            /// The text.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str(&self.0)
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                struct Reader;
                impl Visitor<'_> for Reader {
                    type Value = $name;

                    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                        formatter.write_str($expected)
                    }

                    fn visit_str<E: serde::de::Error>(self, found: &str) -> Result<$name, E> {
                        $name::read(found).ok_or_else(|| E::invalid_value(Unexpected::Str(found), &self))
                    }
                }
                deserializer.deserialize_str(Reader)
            }
        }

        #[cfg(test)]
        impl schemars::JsonSchema for $name {
            fn inline_schema() -> bool {
                true
            }

            fn schema_name() -> std::borrow::Cow<'static, str> {
                stringify!($name).into()
            }

            fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
                schemars::json_schema!({ "type": "string", "pattern": $pattern })
            }
        }
    };
}

text! {
    /// A name without control characters.
    Name, "a name of 1 to 200 characters", r"^[^\u0000-\u001f\u007f]{1,200}$",
    |text| {
        let possible = (1..=200).contains(&text.chars().count()) && !text.chars().any(char::is_control);
        possible.then(|| text.to_owned())
    }
}
text! {
    /// Name of a profile: it stands in addresses, so letters, digits, `.`, `_` and `-` only.
    ProfileId, "a profile's name of 1 to 100 letters, digits, '.', '_' or '-'", "^[A-Za-z0-9._-]{1,100}$",
    |text| {
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
        let possible = (1..=100).contains(&text.len()) && text.bytes().all(plain);
        possible.then(|| text.to_owned())
    }
}
text! {
    /// A repository of the Hugging Face hub, as in `owner/name`.
    RepositoryId, "a repository as in owner/name", "^[A-Za-z0-9][A-Za-z0-9._-]*/[A-Za-z0-9][A-Za-z0-9._-]*$",
    |text| {
        let plain = |part: &str| {
            part.starts_with(|first: char| first.is_ascii_alphanumeric())
                && part.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"._-".contains(&byte))
        };
        let possible = text.split_once('/').is_some_and(|(owner, name)| plain(owner) && plain(name));
        possible.then(|| text.to_owned())
    }
}
text! {
    /// A folder or file; `~/` is the user's home.
    PathText, "a path", "^[^\\u0000]+$",
    |text| (!text.is_empty() && !text.contains('\0')).then(|| text.to_owned())
}
text! {
    /// A name this server is reached by, with or without a port, in lower case.
    AllowedHost, "a host name with or without a port, as in box.lan or box.lan:8443",
    r"^([A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\])(:[0-9]{1,5})?$",
    |text| allowed_host(text)
}
text! {
    /// What is logged, in tracing's syntax: levels, for all or for one target.
    LogFilter, "error, warn, info, debug, trace or off, or a list as in info,hangar_server=debug",
    r"^$|^([^,=]+=)?([Oo][Ff][Ff]|[Ee][Rr][Rr][Oo][Rr]|[Ww][Aa][Rr][Nn]|[Ii][Nn][Ff][Oo]|[Dd][Ee][Bb][Uu][Gg]|[Tt][Rr][Aa][Cc][Ee])(,.*)?$",
    |text| {
        let is_level = |word: &str| LEVELS.iter().any(|level| word.eq_ignore_ascii_case(level));
        let possible = text.split(',').all(|part| is_level(part.rsplit('=').next().unwrap_or(part).trim()));
        (possible || text.is_empty()).then(|| text.to_owned())
    }
}
text! {
    /// A MIME type.
    MimeType, "a MIME type as in image/png", "^[a-z]+/[a-z0-9.+-]+$",
    |text| {
        let lower = text.to_ascii_lowercase();
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || b".+-".contains(&byte);
        let possible = lower.split_once('/').is_some_and(|(kind, format)| {
            !kind.is_empty()
                && kind.bytes().all(|byte| byte.is_ascii_lowercase())
                && !format.is_empty()
                && format.bytes().all(plain)
        });
        possible.then_some(lower)
    }
}

/// The key that callers must show. Neither Debug nor a refusal prints it.
#[derive(Clone, PartialEq, Eq, Serialize)]
pub struct ApiKey(String);

impl ApiKey {
    /// The key itself, to compare with.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for ApiKey {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("ApiKey(…)")
    }
}

impl<'de> Deserialize<'de> for ApiKey {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        // Through a value of any type, so that no message quotes what was found.
        let found = serde_json::Value::deserialize(deserializer)?;
        let text = found.as_str().filter(|text| {
            (8..=256).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_graphic())
        });
        let text = text.ok_or_else(|| {
            D::Error::custom("expected a text of 8 to 256 visible ASCII characters without spaces")
        })?;
        Ok(Self(text.to_owned()))
    }
}

#[cfg(test)]
impl schemars::JsonSchema for ApiKey {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> std::borrow::Cow<'static, str> {
        "ApiKey".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({ "type": "string", "minLength": 8, "maxLength": 256, "pattern": "^[!-~]+$" })
    }
}

/// A whole number stays one, so that it is shown as it was written.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "checked just before")]
pub(crate) fn number(found: f64) -> Value {
    if found.fract() == 0.0 && (0.0..1e15).contains(&found) {
        Value::from(found as u64)
    } else {
        found.into()
    }
}

fn allowed_host(text: &str) -> Option<String> {
    let text = text.to_ascii_lowercase();
    let (name, rest) = match text.strip_prefix('[').and_then(|open| open.split_once(']')) {
        Some((address, rest)) if address.parse::<std::net::Ipv6Addr>().is_ok() => (None, rest.to_owned()),
        Some(_) => return None,
        None => match text.split_once(':') {
            Some((name, port)) => (Some(name.to_owned()), format!(":{port}")),
            None => (Some(text.clone()), String::new()),
        },
    };
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
    let named = name.is_none_or(|name| !name.is_empty() && name.bytes().all(plain));
    let port = rest.is_empty()
        || rest.strip_prefix(':').is_some_and(|port| port.parse::<u16>().is_ok_and(|port| port != 0));
    (named && port).then_some(text)
}
