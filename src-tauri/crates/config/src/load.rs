//! Finds the layers, lays them over each other in order, and says what was noticed.

use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::Home;
use crate::compose::{self, Layers};
use crate::error::ConfigError;
use crate::known::UnknownKey;
use crate::merge::{Adjustment, Origin};
use crate::raw::{Layer, Port};
use crate::read::read;
use crate::settings::Settings;
use crate::shipped;
use crate::value::ProfileId;

/// What the environment says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Environment {
    /// `HANGAR_CONFIG`: another local file than the one in the state folder.
    pub config: Option<String>,
    /// `HANGAR_PORT`.
    pub port: Option<String>,
    /// `HANGAR_LOG`.
    pub log: Option<String>,
    /// `HOME`, for paths that begin with `~/`.
    pub user_home: Option<String>,
}

impl Environment {
    /// Reads the variables; an empty one is as good as none.
    pub fn read(variable: impl Fn(&str) -> Option<String>) -> Self {
        let set = |name: &str| variable(name).filter(|value| !value.is_empty());
        Self {
            config: set("HANGAR_CONFIG"),
            port: set("HANGAR_PORT"),
            log: set("HANGAR_LOG"),
            user_home: set("HOME"),
        }
    }
}

/// Settings with what was noticed while reading them.
#[derive(Clone, Debug, PartialEq)]
pub struct LoadedSettings {
    /// The settings.
    pub settings: Settings,
    /// The local file, whether or not it is there.
    pub file: PathBuf,
    /// Whether it is there.
    pub file_is_there: bool,
    /// Keys in it that nobody reads.
    pub unknown_keys: Vec<UnknownKey>,
    /// Values that were not used as they were written.
    pub adjustments: Vec<Adjustment>,
    /// Every value in use with where it came from.
    pub values: Vec<SettledValue>,
}

/// One value in use.
#[derive(Clone, Debug, PartialEq)]
pub struct SettledValue {
    /// The profile it is of; none for the service as a whole.
    pub profile: Option<ProfileId>,
    /// JSON path.
    pub path: String,
    /// The value; a key is masked.
    pub value: Value,
    /// Where it came from.
    pub origin: Origin,
}

/// The local file that would be read.
pub fn local_file(home: &Home, environment: &Environment) -> PathBuf {
    match &environment.config {
        Some(named) => std::path::absolute(named).unwrap_or_else(|_| PathBuf::from(named)),
        None => home.local_config(),
    }
}

/// Reads all layers and resolves them.
///
/// # Errors
/// [`ConfigError`] names file, JSON path and what was expected. The local file is never changed.
pub fn load(home: &Home, environment: &Environment) -> Result<LoadedSettings, ConfigError> {
    let file = local_file(home, environment);
    let name = file.display().to_string();
    let bytes = match std::fs::read(&file) {
        Ok(bytes) => Some(bytes),
        // A file that was named has to be there.
        Err(error) if error.kind() == std::io::ErrorKind::NotFound && environment.config.is_none() => None,
        Err(source) => return Err(ConfigError::Unreadable { file: name, source }),
    };
    settle(home, &file, bytes.as_deref(), environment)
}

/// The settings of a fresh installation: no local file, nothing in the environment.
///
/// # Errors
/// None that a user could cause: what comes with the program is tested.
pub fn built_in(home: &Home) -> Result<Settings, ConfigError> {
    let nothing = Environment::default();
    settle(home, &home.local_config(), None, &nothing).map(|loaded| loaded.settings)
}

fn settle(
    home: &Home,
    file: &Path,
    bytes: Option<&[u8]>,
    environment: &Environment,
) -> Result<LoadedSettings, ConfigError> {
    let name = file.display().to_string();
    let (local, unknown_keys) = match bytes {
        Some(bytes) => {
            let read = read::<Layer>(&name, bytes)?;
            (read.layer, read.unknown_keys)
        }
        None => (Layer::default(), Vec::new()),
    };
    let layers = Layers {
        defaults: shipped::defaults()?,
        shipped: shipped::profiles()?,
        local,
        over: over(environment)?,
        local_file: name,
        local_folder: file.parent().unwrap_or(Path::new("")).to_owned(),
        user_home: environment.user_home.as_ref().map(PathBuf::from),
        governor_dir: home.governor_dir(),
    };
    let composed = compose::compose(layers)?;
    Ok(LoadedSettings {
        settings: composed.settings,
        file: file.to_owned(),
        file_is_there: bytes.is_some(),
        unknown_keys,
        adjustments: composed.adjustments,
        values: composed.values,
    })
}

/// The environment as single values.
fn over(environment: &Environment) -> Result<Vec<(&'static str, Value, Origin)>, ConfigError> {
    let mut over = Vec::new();
    if let Some(found) = &environment.port {
        let port =
            found.parse::<u16>().ok().and_then(|port| serde_json::from_value::<Port>(port.into()).ok());
        let port = port.ok_or_else(|| ConfigError::Environment {
            variable: "HANGAR_PORT",
            found: found.clone(),
            expected: "a port number from 1024 to 65535",
        })?;
        over.push(("server.port", port.get().into(), Origin::Environment("HANGAR_PORT")));
    }
    if let Some(level) = &environment.log {
        over.push(("logging.level", level.clone().into(), Origin::Environment("HANGAR_LOG")));
    }
    Ok(over)
}
