//! Keys that nobody reads, and what was probably meant.

use std::fmt;

use crate::raw::KnownKey;

/// A key that nobody reads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownKey {
    /// Its JSON path.
    pub path: String,
    /// The known key that is most like it, if one is.
    pub nearest: Option<String>,
}

impl fmt::Display for UnknownKey {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}: nobody reads this key", self.path)?;
        match &self.nearest {
            Some(nearest) => write!(formatter, "; did you mean {nearest}?"),
            None => Ok(()),
        }
    }
}

/// Whether a path is of the form of a known one, where `*` stands for one segment.
pub(crate) fn matches(known: &str, path: &str) -> bool {
    let (mut known, mut path) = (known.split('.'), path.split('.'));
    loop {
        match (known.next(), path.next()) {
            (None, None) => return true,
            (Some(known), Some(path)) if known == "*" || known == path => {}
            _ => return false,
        }
    }
}

/// Names the known key that was probably meant: a sibling spelt much alike, else the same key elsewhere.
pub(crate) fn nearest(path: String, known: &[KnownKey]) -> UnknownKey {
    let (parent, last) = path.rsplit_once('.').unwrap_or(("", &path));
    let simple = |key: &str| key.replace(['_', '-'], "").to_lowercase();
    let mistakes = |key: &str| strsim::osa_distance(&simple(key), &simple(last));
    let sibling = known
        .iter()
        .filter(|known| known.path != "*" && !known.path.is_empty())
        .filter_map(|known| {
            let (above, key) = known.path.rsplit_once('.').unwrap_or(("", &known.path));
            (key != "*" && matches(above, parent)).then_some(key)
        })
        .min_by_key(|key| mistakes(key))
        .filter(|key| mistakes(key) <= key.len().min(last.len()) / 3);
    let nearest = match sibling {
        Some(key) if parent.is_empty() => Some(key.to_owned()),
        Some(key) => Some(format!("{parent}.{key}")),
        None => elsewhere(parent, last, known),
    };
    UnknownKey { path, nearest }
}

/// The one place where a key of this name is known: below the same profile, else outside of all.
fn elsewhere(parent: &str, last: &str, known: &[KnownKey]) -> Option<String> {
    let simple = |key: &str| key.replace(['_', '-'], "").to_lowercase();
    let same = |inside: bool| {
        let mut found = known
            .iter()
            .filter(|known| known.path.starts_with("profiles.*.") == inside)
            .filter(|known| simple(known.path.rsplit('.').next().unwrap_or_default()) == simple(last));
        found.next().filter(|_| found.next().is_none()).map(|known| known.path.clone())
    };
    let profile = parent.strip_prefix("profiles.").and_then(|rest| rest.split('.').next());
    match profile {
        Some(profile) => same(true).map(|path| path.replacen('*', profile, 1)).or_else(|| same(false)),
        None => same(false),
    }
}
