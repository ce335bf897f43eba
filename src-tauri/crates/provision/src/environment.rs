//! The variables a call may read, taken once so that nothing below depends on the process.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::PathBuf;

/// A copy of environment variables.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Environment(BTreeMap<OsString, OsString>);

impl Environment {
    /// The variables of this process.
    pub fn of_process() -> Self {
        Self(std::env::vars_os().collect())
    }

    /// Exactly these variables.
    pub fn from_pairs<Name: Into<OsString>, Value: Into<OsString>>(
        pairs: impl IntoIterator<Item = (Name, Value)>,
    ) -> Self {
        Self(pairs.into_iter().map(|(name, value)| (name.into(), value.into())).collect())
    }

    /// A variable that is set and not empty.
    pub fn get(&self, name: &str) -> Option<&OsStr> {
        self.0.get(OsStr::new(name)).map(OsString::as_os_str).filter(|value| !value.is_empty())
    }

    /// Every variable.
    pub fn iter(&self) -> impl Iterator<Item = (&OsStr, &OsStr)> {
        self.0.iter().map(|(name, value)| (name.as_os_str(), value.as_os_str()))
    }

    /// A variable as an absolute path.
    pub fn path(&self, name: &str) -> Option<PathBuf> {
        self.get(name).map(|value| std::path::absolute(value).unwrap_or_else(|_| PathBuf::from(value)))
    }

    /// The folders of `PATH`, in order.
    pub fn search_path(&self) -> Vec<PathBuf> {
        self.get("PATH").map(|value| std::env::split_paths(value).collect()).unwrap_or_default()
    }
}
