//! Where the project's read-only data lies: a clone, an app bundle, or a folder that was named.

use std::path::{Path, PathBuf};

use crate::files::{self, at};
use crate::{Environment, Pins, Platform, ProvisionError};

const LANDMARK: &str = "runtime-patches/pins.json";

/// The folder of read-only data.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Resources {
    root: PathBuf,
    named_wheel: Option<PathBuf>,
}

impl Resources {
    /// Finds the folder: `HANGAR_RESOURCES`, else upwards from the running program, else its app bundle.
    ///
    /// # Errors
    /// [`ProvisionError::ResourcesMissing`] with every folder looked at.
    pub fn locate() -> Result<Self, ProvisionError> {
        let program = std::env::current_exe().map_err(at("find", Path::new("the running program")))?;
        let program = program.canonicalize().unwrap_or(program);
        Self::locate_from(&program, &Environment::of_process())
    }

    /// Finds the folder as [`Resources::locate`] does, for a program at this path and these variables.
    ///
    /// # Errors
    /// [`ProvisionError::ResourcesMissing`] with every folder looked at.
    pub fn locate_from(program: &Path, environment: &Environment) -> Result<Self, ProvisionError> {
        let tried: Vec<PathBuf> = match environment.path("HANGAR_RESOURCES") {
            Some(named) => vec![named],
            None => {
                let bundle =
                    program.parent().and_then(Path::parent).map(|contents| contents.join("Resources"));
                program.ancestors().skip(1).map(Path::to_owned).chain(bundle).collect()
            }
        };
        match tried.iter().find(|folder| folder.join(LANDMARK).is_file()) {
            Some(root) => {
                Ok(Self { root: root.clone(), named_wheel: environment.path("HANGAR_WORKER_WHEEL") })
            }
            None => Err(ProvisionError::ResourcesMissing { tried }),
        }
    }

    /// The folder itself.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Pins, locks and patches.
    pub fn patches_dir(&self) -> PathBuf {
        self.root.join("runtime-patches")
    }

    /// The file of pins, as a worker is given it.
    pub fn pins_path(&self) -> PathBuf {
        self.root.join(LANDMARK)
    }

    /// The pins, read and checked.
    ///
    /// # Errors
    /// [`ProvisionError::File`] or [`ProvisionError::DataInvalid`].
    pub fn pins(&self) -> Result<Pins, ProvisionError> {
        Pins::read(&self.pins_path())
    }

    /// The hash-locked requirements of this platform.
    ///
    /// # Errors
    /// [`ProvisionError::PlatformUnsupported`], or [`ProvisionError::File`] when the lock is not there.
    pub fn requirements_for_this_platform(&self) -> Result<PathBuf, ProvisionError> {
        self.requirements_for(Platform::current()?)
    }

    /// The hash-locked requirements of a platform.
    ///
    /// # Errors
    /// [`ProvisionError::File`] when the lock is not there.
    pub fn requirements_for(&self, platform: Platform) -> Result<PathBuf, ProvisionError> {
        let path = self.patches_dir().join(platform.requirements_name());
        std::fs::metadata(&path).map_err(at("read", &path))?;
        Ok(path)
    }

    /// The folder of the built-in model: its list of files and `model/`.
    pub fn pocket_dir(&self) -> PathBuf {
        self.root.join("worker/pocket")
    }

    /// The built-in model.
    pub fn pocket_model_dir(&self) -> PathBuf {
        self.pocket_dir().join("model")
    }

    /// The built page.
    pub fn page_dir(&self) -> PathBuf {
        self.root.join("ui/dist")
    }

    /// Defaults and examples.
    pub fn config_dir(&self) -> PathBuf {
        self.root.join("config")
    }

    /// The worker's wheel: the one named by `HANGAR_WORKER_WHEEL`, else the newest built one.
    ///
    /// # Errors
    /// [`ProvisionError::WorkerWheelMissing`] with every place looked at.
    pub fn worker_wheel(&self) -> Result<PathBuf, ProvisionError> {
        if let Some(named) = &self.named_wheel {
            let there = named.is_file() && is_wheel(named);
            return there
                .then(|| named.clone())
                .ok_or_else(|| ProvisionError::WorkerWheelMissing { tried: vec![named.clone()] });
        }
        let tried = vec![self.root.join(".build/wheels"), self.root.join("wheels")];
        for folder in &tried {
            let newest =
                files::entries(folder)?.into_iter().filter(|path| is_worker_wheel(path)).max_by_key(|path| {
                    (std::fs::metadata(path).and_then(|known| known.modified()).ok(), path.clone())
                });
            if let Some(wheel) = newest {
                return Ok(wheel);
            }
        }
        Err(ProvisionError::WorkerWheelMissing { tried })
    }
}

fn is_wheel(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "whl")
}

fn is_worker_wheel(path: &Path) -> bool {
    is_wheel(path)
        && path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("hangar_worker-"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn clone_at(root: &Path) {
        fs::create_dir_all(root.join("runtime-patches")).unwrap();
        fs::write(root.join(LANDMARK), "{}").unwrap();
    }

    #[test]
    fn the_clone_is_found_upwards_from_the_program() {
        let folder = tempfile::tempdir().unwrap();
        clone_at(folder.path());
        let program = folder.path().join("build/debug/hangar");
        let found = Resources::locate_from(&program, &Environment::default()).unwrap();
        assert_eq!(found.root(), folder.path());
    }

    #[test]
    fn an_app_finds_its_bundle() {
        let folder = tempfile::tempdir().unwrap();
        let contents = folder.path().join("Hangar.app/Contents");
        clone_at(&contents.join("Resources"));
        let found = Resources::locate_from(&contents.join("MacOS/Hangar"), &Environment::default()).unwrap();
        assert_eq!(found.root(), contents.join("Resources"));
    }

    #[test]
    fn a_named_folder_without_pins_is_refused_and_nothing_else_is_tried() {
        let folder = tempfile::tempdir().unwrap();
        clone_at(folder.path());
        let named = folder.path().join("empty");
        let environment = Environment::from_pairs([("HANGAR_RESOURCES", &named)]);
        let error = Resources::locate_from(&folder.path().join("hangar"), &environment).unwrap_err();
        assert!(matches!(&error, ProvisionError::ResourcesMissing { tried } if *tried == [named]), "{error}");
        assert!(error.hint().unwrap().contains("HANGAR_RESOURCES"));
    }

    #[test]
    fn the_newest_built_wheel_is_taken_and_a_named_one_before_it() {
        let folder = tempfile::tempdir().unwrap();
        clone_at(folder.path());
        let wheels = folder.path().join(".build/wheels");
        fs::create_dir_all(&wheels).unwrap();
        let old = wheels.join("hangar_worker-0.2.0-cp311-abi3-linux_x86_64.whl");
        let new = wheels.join("hangar_worker-0.1.0-cp311-abi3-linux_x86_64.whl");
        fs::write(&old, "old").unwrap();
        fs::write(&new, "new").unwrap();
        fs::write(wheels.join("other-1.0-py3-none-any.whl"), "other").unwrap();
        let an_hour_ago = std::time::SystemTime::now() - std::time::Duration::from_secs(3600);
        fs::File::open(&old).unwrap().set_modified(an_hour_ago).unwrap();
        let program = folder.path().join("hangar");
        let found = Resources::locate_from(&program, &Environment::default()).unwrap().worker_wheel();
        assert_eq!(found.unwrap(), new);
        let environment = Environment::from_pairs([("HANGAR_WORKER_WHEEL", &old)]);
        assert_eq!(Resources::locate_from(&program, &environment).unwrap().worker_wheel().unwrap(), old);
    }

    #[test]
    fn a_missing_wheel_names_the_cure() {
        let folder = tempfile::tempdir().unwrap();
        clone_at(folder.path());
        let found = Resources::locate_from(&folder.path().join("hangar"), &Environment::default()).unwrap();
        let error = found.worker_wheel().unwrap_err();
        assert!(error.to_string().contains(".build/wheels"), "{error}");
        assert!(error.hint().unwrap().contains("npm start"));
    }
}
