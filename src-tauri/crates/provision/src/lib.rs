//! What Hangar runs on: its read-only data, the pinned Python runtime and the model that comes along.
//!
//! Everything blocks; an async caller moves it to a blocking thread. A runtime is whole only with its
//! marker, which is written last, and its folder appears under its own name only once it is whole.

mod environment;
mod error;
mod expected;
mod files;
mod foreign;
mod hub;
mod installer;
mod key;
mod leftovers;
mod lock;
mod marker;
mod model;
mod patch;
mod pins;
mod platform;
mod program;
mod python;
mod record;
mod resources;
pub mod runtime;
mod step;
mod traits;
mod verify;
mod worker;

pub use environment::Environment;
pub use error::ProvisionError;
pub use expected::Expected;
pub use foreign::inspect_foreign;
pub use hub::{HubCache, Snapshot};
pub use key::RuntimeKey;
pub use marker::Marker;
pub use model::verify_pocket;
pub use pins::{PatchedFile, Pins, PythonRange, RefusedPackage};
pub use platform::Platform;
pub use resources::Resources;
pub use runtime::{Request, Runtime};
pub use step::Step;
pub use traits::ModelTraits;
pub use verify::{Report, Row, verify};
pub use worker::{openblas, worker_environment};
