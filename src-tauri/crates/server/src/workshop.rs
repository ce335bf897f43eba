//! Where models are found and workers come from on this machine.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use hangar_config::{Home, ModelSource, Profile, RepositoryId};
use hangar_provision::{HubCache, Resources, Snapshot};
use hangar_supervisor::WorkerHandle;

use crate::launcher::{RuntimeLauncher, limits, load_order};
use crate::served::{NoModel, Workshop};

/// Workers of the managed runtime, or of a user's own Python where one is configured.
#[derive(Debug)]
pub(crate) struct RuntimeWorkshop {
    resources: Resources,
    home: Home,
}

impl RuntimeWorkshop {
    pub(crate) fn new(resources: Resources, home: Home) -> Self {
        Self { resources, home }
    }
}

impl Workshop for RuntimeWorkshop {
    fn model_dir(&self, profile: &Profile) -> Result<PathBuf, NoModel> {
        model_dir(&self.resources, profile)
    }

    fn worker(&self, profile: &Profile, model_dir: &Path) -> WorkerHandle {
        let launcher = RuntimeLauncher::new(self.resources.clone(), &self.home, profile);
        WorkerHandle::spawn(limits(&profile.worker), load_order(model_dir, profile), Arc::new(launcher))
    }
}

/// The folder of a profile's model.
///
/// # Errors
/// [`NoModel`] says why there is none, and what to do.
pub fn model_dir(resources: &Resources, profile: &Profile) -> Result<PathBuf, NoModel> {
    match &profile.source {
        // Its files are verified at every start of a worker, which names what is missing.
        ModelSource::BuiltInPocket => Ok(resources.pocket_model_dir()),
        ModelSource::Folder(folder) if folder.join("config.json").is_file() => Ok(folder.clone()),
        ModelSource::Folder(folder) => Err(NoModel {
            what: format!("there is no model in {}", folder.display()),
            cure: "Put the model there, or set model.path to its folder".to_owned(),
        }),
        ModelSource::Repository(repository) => in_cache(repository),
        ModelSource::Unnamed => Err(NoModel {
            what: format!("no model is named for the profile {}", profile.id.as_str()),
            cure: format!("Set profiles.{}.model.path to the folder of a model", profile.id.as_str()),
        }),
    }
}

fn in_cache(repository: &RepositoryId) -> Result<PathBuf, NoModel> {
    let cache = HubCache::from_environment(|name| std::env::var(name).ok());
    let what = match cache.map(|cache| cache.find(repository)) {
        Some(Snapshot::Found(folder)) => return Ok(folder),
        Some(Snapshot::Partial { missing, .. }) => {
            let first = missing.first().map_or("a file", String::as_str);
            format!("{repository} is not whole in the Hugging Face cache, {first} is missing")
        }
        Some(Snapshot::Missing { looked_in }) => format!("{repository} is not at {}", looked_in.display()),
        None => format!("there is no Hugging Face cache to look for {repository} in"),
    };
    Err(NoModel {
        what,
        cure: format!("Run `hf download {repository}`, or set model.path to a folder that has it"),
    })
}

#[cfg(test)]
mod tests {
    use hangar_provision::Environment;

    use super::*;

    #[test]
    fn a_model_that_is_nowhere_says_what_is_missing_and_what_to_do() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().display().to_string();
        let home = Home::from_environment(|name| (name == "HANGAR_HOME").then(|| root.clone())).unwrap();
        let resources =
            Resources::locate_from(Path::new(env!("CARGO_MANIFEST_DIR")), &Environment::of_process())
                .unwrap();
        let settings = hangar_config::built_in(&home).unwrap();
        let mut profile = settings.profiles.default_profile().clone();
        assert!(model_dir(&resources, &profile).unwrap().join("config.json").is_file());
        profile.source = ModelSource::Folder(folder.path().to_owned());
        let missing = model_dir(&resources, &profile).unwrap_err();
        assert!(missing.what.contains(&root) && missing.cure.contains("model.path"), "{missing:?}");
        std::fs::write(folder.path().join("config.json"), "{}").unwrap();
        assert_eq!(model_dir(&resources, &profile), Ok(folder.path().to_owned()));
        profile.source = ModelSource::Unnamed;
        assert!(model_dir(&resources, &profile).unwrap_err().cure.contains("profiles.pocket.model.path"));
    }
}
