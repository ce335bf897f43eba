//! Where this command works: state folder, settings, resources.

use hangar_config::{Environment, Home, LoadedSettings};

use crate::failure::Failure;

/// The state folder that the environment names.
pub(crate) fn home() -> Result<Home, Failure> {
    Ok(Home::from_environment(variable)?)
}

/// The settings in that folder.
pub(crate) fn settings(home: &Home) -> Result<LoadedSettings, Failure> {
    Ok(hangar_config::load(home, &environment())?)
}

/// What the environment says about the settings.
pub(crate) fn environment() -> Environment {
    Environment::read(variable)
}

fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok()
}
