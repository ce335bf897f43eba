//! Layers laid over each other, with where each value came from.

use std::collections::BTreeMap;
use std::fmt;

use serde::Serialize;
use serde_json::{Map, Value};

use crate::error::ConfigError;
use crate::raw::Layer;
use crate::value::ProfileId;

/// Where a value came from, the weakest first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    /// `config/default.json`, which comes with the program.
    Default,
    /// What is known of a model that the program knows.
    Shipped(ProfileId),
    /// The top level of the local file.
    Local,
    /// A profile in the local file.
    LocalProfile(ProfileId),
    /// A variable of the environment.
    Environment(&'static str),
    /// It follows from other values.
    Derived,
}

impl fmt::Display for Origin {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Default => formatter.write_str("default"),
            Self::Shipped(profile) => write!(formatter, "shipped profile {profile}"),
            Self::Local => formatter.write_str("local file"),
            Self::LocalProfile(profile) => write!(formatter, "local file, profiles.{profile}"),
            Self::Environment(variable) => write!(formatter, "environment, {variable}"),
            Self::Derived => formatter.write_str("derived"),
        }
    }
}

/// A value that was not used as it was written.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Adjustment {
    /// The profile it is of; none for the service as a whole.
    pub profile: Option<ProfileId>,
    /// JSON path.
    pub path: String,
    /// What was written.
    pub asked: Value,
    /// What is used.
    pub used: Value,
    /// Why.
    pub why: String,
}

impl fmt::Display for Adjustment {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(profile) = &self.profile {
            write!(formatter, "profile {profile}, ")?;
        }
        write!(formatter, "{}: {} is used instead of {}: {}", self.path, self.used, self.asked, self.why)
    }
}

/// Single values by JSON path, each from the strongest layer that names it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Merged {
    leaves: BTreeMap<String, (Value, Origin)>,
}

impl Merged {
    /// Lays a layer over what is there.
    pub(crate) fn lay(&mut self, layer: &impl Serialize, origin: &Origin) {
        self.lay_without(layer, origin, &[]);
    }

    /// The same, but for some paths.
    pub(crate) fn lay_without(&mut self, layer: &impl Serialize, origin: &Origin, without: &[&str]) {
        // A layer is plain data with text keys: it always has a JSON form.
        let value = serde_json::to_value(layer).unwrap_or_default();
        let mut found = Vec::new();
        flatten("", value, &mut found);
        let kept = found.into_iter().filter(|(path, _)| !without.contains(&path.as_str()));
        self.leaves.extend(kept.map(|(path, value)| (path, (value, origin.clone()))));
    }

    /// Sets one value.
    pub(crate) fn set(&mut self, path: &str, value: impl Into<Value>, origin: Origin) {
        self.leaves.insert(path.to_owned(), (value.into(), origin));
    }

    /// Where the value at a path came from.
    pub(crate) fn origin(&self, path: &str) -> Option<&Origin> {
        self.leaves.get(path).map(|(_, origin)| origin)
    }

    /// All values with their paths and origins.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&str, &Value, &Origin)> {
        self.leaves.iter().map(|(path, (value, origin))| (path.as_str(), value, origin))
    }

    /// Everything as one layer.
    ///
    /// # Errors
    /// None that a layer laid down before could cause.
    pub(crate) fn layer(&self) -> Result<Layer, ConfigError> {
        let mut root = Map::new();
        for (path, (value, _)) in &self.leaves {
            insert(&mut root, path, value.clone());
        }
        serde_json::from_value(Value::Object(root))
            .map_err(|error| ConfigError::at("the merged configuration", ".", error.to_string()))
    }

    /// Lowers a number to a limit, and says so unless it was only a default.
    pub(crate) fn lower(
        &mut self,
        path: &str,
        limit: &Value,
        why: &str,
        profile: Option<&ProfileId>,
        adjustments: &mut Vec<Adjustment>,
    ) {
        let Some((value, origin)) = self.leaves.get_mut(path) else {
            return;
        };
        if value.as_f64() <= limit.as_f64() {
            return;
        }
        let asked = std::mem::replace(value, limit.clone());
        if *origin == Origin::Default {
            *origin = Origin::Derived;
            return;
        }
        let (path, why, used) = (path.to_owned(), why.to_owned(), limit.clone());
        adjustments.push(Adjustment { profile: profile.cloned(), path, asked, used, why });
    }
}

fn flatten(path: &str, value: Value, found: &mut Vec<(String, Value)>) {
    match value {
        Value::Null => {}
        Value::Object(map) => {
            for (key, below) in map {
                let path = if path.is_empty() { key } else { format!("{path}.{key}") };
                flatten(&path, below, found);
            }
        }
        leaf @ (Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_)) => {
            found.push((path.to_owned(), leaf));
        }
    }
}

fn insert(map: &mut Map<String, Value>, path: &str, value: Value) {
    match path.split_once('.') {
        None => {
            map.insert(path.to_owned(), value);
        }
        Some((first, rest)) => {
            let below = map.entry(first).or_insert_with(|| Value::Object(Map::new()));
            if let Value::Object(below) = below {
                insert(below, rest, value);
            }
        }
    }
}
