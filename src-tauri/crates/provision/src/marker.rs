//! The marker that makes a folder a whole runtime, and the claim that makes it ours.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::files::{self, at};
use crate::{ProvisionError, RuntimeKey};

/// Written last; a runtime without it is not whole.
pub(crate) const MARKER: &str = "hangar-runtime.json";
/// Written first; a folder without it, or the marker, is not ours to remove.
const CLAIM: &str = "hangar-runtime.claim";
pub(crate) const SCHEMA: u32 = 1;

/// What a whole runtime says about itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Marker {
    /// Version of this file's shape.
    pub schema: u32,
    /// Key of what it was made from.
    pub key: String,
    /// Full Python version.
    pub python: String,
    /// The installer used.
    pub installer: String,
    /// Site-packages below the runtime.
    pub site_packages: PathBuf,
    /// Installed versions by package name.
    pub packages: BTreeMap<String, String>,
    /// SHA-256 of the patched files, by path below site-packages.
    pub patched_files: BTreeMap<PathBuf, String>,
    /// When it was made, in unix seconds.
    pub built_at: u64,
}

impl Marker {
    /// Writes the marker whole into a finished runtime.
    pub(crate) fn write(&self, root: &Path) -> Result<(), ProvisionError> {
        let file = root.join(MARKER);
        let mut bytes = serde_json::to_vec_pretty(self).map_err(|error| at("write", &file)(error.into()))?;
        bytes.push(b'\n');
        files::replace(&file, &bytes)
    }

    /// Reads the marker of a runtime with this key, or says why it counts for nothing.
    pub(crate) fn read(root: &Path, key: &RuntimeKey) -> Result<Self, String> {
        let bytes = fs::read(root.join(MARKER))
            .map_err(|error| format!("no {MARKER} ({error}): it was never finished"))?;
        let marker: Self =
            serde_json::from_slice(&bytes).map_err(|error| format!("{MARKER} cannot be read ({error})"))?;
        if marker.schema != SCHEMA {
            return Err(format!("{MARKER} has schema {}, not {SCHEMA}", marker.schema));
        }
        if marker.key != key.as_str() {
            return Err(format!("it was made for key {}, not {key}", marker.key));
        }
        if !files::is_confined(&marker.site_packages) {
            return Err(format!("{MARKER} names site-packages outside the runtime"));
        }
        Ok(marker)
    }
}

/// Claims a folder that is about to become a runtime.
pub(crate) fn claim(root: &Path) -> Result<(), ProvisionError> {
    let text = "Made by Hangar, which may remove this folder and make it anew.\n";
    files::replace(&root.join(CLAIM), text.as_bytes())
}

/// Whether a folder may be removed: it is empty or not there, or was made by us.
pub(crate) fn may_remove(root: &Path) -> Result<bool, ProvisionError> {
    match fs::symlink_metadata(root) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(true),
        Err(error) => return Err(at("look at", root)(error)),
        Ok(known) if !known.is_dir() => return Ok(false),
        Ok(_) => (),
    }
    Ok(root.join(CLAIM).is_file() || root.join(MARKER).is_file() || files::entries(root)?.is_empty())
}

/// The packages installed in a site-packages folder, by the names of their records.
pub(crate) fn installed_packages(site_packages: &Path) -> Result<BTreeMap<String, String>, ProvisionError> {
    let records = files::entries(site_packages)?;
    let names = records.iter().filter_map(|path| path.file_name()?.to_str()?.strip_suffix(".dist-info"));
    Ok(names
        .filter_map(|name| name.split_once('-'))
        .map(|(name, version)| (normal_name(name), version.into()))
        .collect())
}

/// A package name as the pins spell it.
pub(crate) fn normal_name(name: &str) -> String {
    name.to_lowercase().replace(['_', '.'], "-")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_of_somebody_else_may_not_be_removed() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().join("runtime");
        assert!(may_remove(&root).unwrap());
        fs::create_dir(&root).unwrap();
        assert!(may_remove(&root).unwrap());
        fs::write(root.join("letter.txt"), "mine").unwrap();
        assert!(!may_remove(&root).unwrap());
        claim(&root).unwrap();
        assert!(may_remove(&root).unwrap());
        assert!(!may_remove(&root.join("letter.txt")).unwrap());
    }

    #[test]
    fn packages_are_read_from_their_records() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["mlx_vlm-0.7.10.dist-info", "Pillow-13.0.0.dist-info", "mlx_vlm", "__pycache__"] {
            fs::create_dir(folder.path().join(name)).unwrap();
        }
        let found = installed_packages(folder.path()).unwrap();
        let expected = [("mlx-vlm", "0.7.10"), ("pillow", "13.0.0")];
        assert_eq!(found, expected.map(|(name, version)| (name.to_owned(), version.to_owned())).into());
    }
}
