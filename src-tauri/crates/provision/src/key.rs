//! The key of a runtime: everything that decides what is in it, as one name.

use std::fmt;
use std::path::Path;

use sha2::{Digest, Sha256};

use crate::{Pins, ProvisionError, Resources, files};

const KEY_DIGITS: usize = 16;

/// Names a runtime by the content of its lock, pins, patches and worker.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RuntimeKey(String);

impl RuntimeKey {
    /// Hashes everything a runtime of this platform is made from.
    ///
    /// # Errors
    /// [`ProvisionError`] when one of the inputs is not there.
    pub fn compute(resources: &Resources, pins: &Pins) -> Result<Self, ProvisionError> {
        let mut hash = Sha256::new();
        add(&mut hash, &resources.requirements_for_this_platform()?)?;
        add(&mut hash, &resources.pins_path())?;
        for patched in &pins.patched_files {
            add(&mut hash, &resources.patches_dir().join(&patched.patch))?;
        }
        add(&mut hash, &resources.worker_wheel()?)?;
        let mut digits = hex::encode(hash.finalize());
        digits.truncate(KEY_DIGITS);
        Ok(Self(digits))
    }

    /// The key as a folder name.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for RuntimeKey {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

/// Adds a file by name and content, both with their length, so that no two sets of files read the same.
fn add(hash: &mut Sha256, path: &Path) -> Result<(), ProvisionError> {
    let content = files::read(path)?;
    let name = path.file_name().unwrap_or_default().as_encoded_bytes();
    for bytes in [name, &content] {
        hash.update((bytes.len() as u64).to_le_bytes());
        hash.update(bytes);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::expected::tests::project;
    use std::fs;

    fn key(root: &Path) -> RuntimeKey {
        let resources = Resources::locate_from(&root.join("hangar"), &crate::Environment::default()).unwrap();
        RuntimeKey::compute(&resources, &resources.pins().unwrap()).unwrap()
    }

    #[test]
    fn the_key_changes_with_every_input_and_only_with_them() {
        let folder = tempfile::tempdir().unwrap();
        project(folder.path());
        let first = key(folder.path());
        assert_eq!(first.as_str().len(), KEY_DIGITS);
        fs::write(folder.path().join("README.md"), "other").unwrap();
        assert_eq!(key(folder.path()), first);
        let mut seen = vec![first];
        for input in [
            "runtime-patches/".to_owned() + crate::Platform::current().unwrap().requirements_name(),
            "runtime-patches/pins.json".into(),
            "runtime-patches/patches/a.patch".into(),
            "wheels/hangar_worker-0.1.0-cp311-abi3-any.whl".into(),
        ] {
            let path = folder.path().join(&input);
            let mut content = fs::read(&path).unwrap();
            content.push(b'\n');
            fs::write(&path, content).unwrap();
            let next = key(folder.path());
            assert!(!seen.contains(&next), "{input}");
            seen.push(next);
        }
    }

    #[test]
    fn another_wheel_name_is_another_key() {
        let folder = tempfile::tempdir().unwrap();
        project(folder.path());
        let first = key(folder.path());
        let wheels = folder.path().join("wheels");
        fs::rename(
            wheels.join("hangar_worker-0.1.0-cp311-abi3-any.whl"),
            wheels.join("hangar_worker-0.1.1-cp311-abi3-any.whl"),
        )
        .unwrap();
        assert_ne!(key(folder.path()), first);
    }
}
