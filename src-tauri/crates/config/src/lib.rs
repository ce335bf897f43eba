//! Configuration: raw layers are merged and resolved once into immutable [`Settings`].
//!
//! Order of layers, later wins: embedded defaults, the built-in profile, `local.json`, environment. This
//! crate must not know of workers, HTTP or processes.

mod home;
mod raw;
mod resolve;

pub use home::{Home, HomeError};
pub use resolve::{
    Environment, LoadedSettings, ModelSource, Profile, ServerSettings, Settings, WorkerSettings, load,
};

/// Why the configuration cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// The file is there but cannot be read.
    #[error("{file} cannot be read: {source}")]
    Unreadable {
        /// The file.
        file: String,
        /// What the system said.
        source: std::io::Error,
    },
    /// The file is not JSON, or a value has another type than expected.
    #[error("{file}: at {json_path}: {expected}")]
    Invalid {
        /// The file, or the name of the embedded layer.
        file: String,
        /// Path of the value, such as `server.port`.
        json_path: String,
        /// What was expected there.
        expected: String,
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
