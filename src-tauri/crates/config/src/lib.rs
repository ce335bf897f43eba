//! Configuration: raw layers are merged and resolved once into immutable [`Settings`].
//!
//! Order of layers, later wins: `config/default.json`, the shipped profile, the top level of the local file, its
//! `profiles.<id>`, environment. A flag such as `--port` is laid over the settings by whoever reads it. This crate must not know of workers, HTTP or processes.

mod compose;
mod error;
mod home;
mod known;
mod load;
mod merge;
mod modality;
mod profile;
mod raw;
mod read;
mod resolve;
mod settings;
mod shipped;
mod value;

pub use error::{ConfigError, Problem};
pub use home::{Home, HomeError};
pub use known::UnknownKey;
pub use load::{Environment, LoadedSettings, SettledValue, built_in, load, local_file};
pub use merge::{Adjustment, Origin};
pub use modality::{Modalities, Modality, ModalityPolicy, Transcode};
pub use profile::{
    Backend, DiffusionSampler, DiffusionSettings, Estimate, KvCacheSettings, ModelSource, Profile, Profiles,
    QuantScheme, SamplingSettings, SessionLimits, SessionSettings, WorkerSettings,
};
pub use settings::{GovernorSettings, ListenHost, ServerSettings, Settings};
pub use value::{AllowedHost, ApiKey, ProfileId, RepositoryId};

#[cfg(test)]
mod tests;
