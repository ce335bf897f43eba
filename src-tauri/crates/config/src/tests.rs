//! What the configuration promises, through the one way in.

use std::path::{Path, PathBuf};

use super::*;

mod earlier;
mod files;
mod layers;
mod schema;
mod shipped;
mod values;

/// A state folder of a test's own, with or without a local file.
struct Place {
    folder: tempfile::TempDir,
    home: Home,
}

impl Place {
    fn new(local: Option<&[u8]>) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let home = home(folder.path());
        if let Some(bytes) = local {
            std::fs::write(home.local_config(), bytes).unwrap();
        }
        Self { folder, home }
    }

    fn load(&self) -> Result<LoadedSettings, ConfigError> {
        load(&self.home, &Environment { user_home: Some("/home/ada".into()), ..Environment::default() })
    }
}

fn home(root: &Path) -> Home {
    let root = root.display().to_string();
    Home::from_environment(|name| (name == "HANGAR_HOME").then(|| root.clone())).unwrap()
}

fn local(text: &str) -> Result<LoadedSettings, ConfigError> {
    Place::new(Some(text.as_bytes())).load()
}

fn fresh() -> Settings {
    Place::new(None).load().unwrap().settings
}

fn profile(loaded: &LoadedSettings, name: &str) -> Profile {
    loaded.settings.profiles.find(name).unwrap_or_else(|| panic!("no profile {name}")).clone()
}

fn default_id(loaded: &LoadedSettings) -> &str {
    loaded.settings.profiles.default_profile().id.as_str()
}

/// The paths and expectations of an error about values.
fn problems(result: Result<LoadedSettings, ConfigError>) -> Vec<Problem> {
    let error = result.unwrap_err();
    let ConfigError::Invalid { problems, .. } = error else { panic!("{error}") };
    problems
}

fn repository_root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../..").canonicalize().unwrap()
}
