//! Why a configuration cannot be used.

use std::fmt;

/// Why the configuration cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// The file is there, or was named, but cannot be read.
    #[error("{file} cannot be read: {source}")]
    Unreadable {
        /// The file.
        file: String,
        /// What the system said.
        source: std::io::Error,
    },
    /// The file is no JSON with comments; nothing of it was used.
    #[error("{file}:{line}:{column}: {expected}")]
    Malformed {
        /// The file.
        file: String,
        /// Line, counted from 1.
        line: usize,
        /// Column, counted from 1.
        column: usize,
        /// What was expected there.
        expected: String,
    },
    /// Values have another type than expected or are impossible.
    #[error("{file}: {}", listed(problems))]
    Invalid {
        /// The file, or the name of the embedded layer.
        file: String,
        /// All of them, never none.
        problems: Vec<Problem>,
    },
    /// A variable of the environment has an impossible value.
    #[error("environment variable {variable}={found} is not {expected}")]
    Environment {
        /// Name of the variable.
        variable: &'static str,
        /// Its value.
        found: String,
        /// What was expected.
        expected: &'static str,
    },
}

impl ConfigError {
    /// What a person can do, where the message does not say so itself.
    pub fn cure(&self) -> Option<String> {
        match self {
            Self::Unreadable { .. } | Self::Malformed { .. } | Self::Invalid { .. } => {
                Some("mend the file, or move it away to start with defaults; it was not changed".to_owned())
            }
            Self::Environment { .. } => None,
        }
    }

    pub(crate) fn at(file: &str, json_path: impl Into<String>, expected: impl Into<String>) -> Self {
        let problem = Problem { json_path: json_path.into(), expected: expected.into() };
        Self::Invalid { file: file.to_owned(), problems: vec![problem] }
    }
}

/// One value that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// Path of the value, such as `server.port`.
    pub json_path: String,
    /// What was expected there.
    pub expected: String,
}

impl fmt::Display for Problem {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "at {}: {}", self.json_path, self.expected)
    }
}

fn listed(problems: &[Problem]) -> String {
    problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
}
