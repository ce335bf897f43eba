//! The pins: which packages, which files patched, which versions refused.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::{ProvisionError, files};

const SCHEMA: u32 = 1;

/// What the runtime must be, as `runtime-patches/pins.json` says it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pins {
    /// Version of this file's shape.
    pub schema: u32,
    /// Python versions that serve.
    pub python: PythonRange,
    /// Exact versions by package name.
    pub packages: BTreeMap<String, String>,
    /// Installed files that are patched.
    pub patched_files: Vec<PatchedFile>,
    /// Versions known to be broken.
    pub refused: Vec<RefusedPackage>,
}

/// A range of Python versions, both ends included, as in "3.11".
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PythonRange {
    /// The first that serves.
    pub min: String,
    /// The last that serves.
    pub max: String,
}

/// An installed file that a patch changes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PatchedFile {
    /// The package it belongs to.
    pub package: String,
    /// Path below site-packages.
    pub path: PathBuf,
    /// SHA-256 as downloaded.
    pub before_sha256: String,
    /// SHA-256 once patched.
    pub after_sha256: String,
    /// The unified diff, below the pins' folder.
    pub patch: PathBuf,
    /// The defect it mends.
    pub why: String,
}

/// A package version that must not be used.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RefusedPackage {
    /// The package.
    pub package: String,
    /// The version.
    pub version: String,
    /// What is broken in it.
    pub why: String,
}

impl Pins {
    /// Reads and checks a file of pins.
    ///
    /// # Errors
    /// [`ProvisionError::File`], or [`ProvisionError::DataInvalid`] naming the value that is wrong.
    pub fn read(file: &Path) -> Result<Self, ProvisionError> {
        let pins: Self = files::read_json(file)?;
        pins.check().map_err(|(json_path, what)| ProvisionError::DataInvalid {
            file: file.to_owned(),
            json_path,
            what,
        })?;
        Ok(pins)
    }

    /// Why a version of a package is refused, if it is. A build of a refused version is refused like it.
    pub fn refusal(&self, package: &str, version: &str) -> Option<&RefusedPackage> {
        let release = version.split('+').next().unwrap_or(version);
        self.refused.iter().find(|refused| {
            refused.package == package && (refused.version == version || refused.version == release)
        })
    }

    fn check(&self) -> Result<(), (String, String)> {
        if self.schema != SCHEMA {
            return Err(("schema".into(), format!("expected {SCHEMA}, found {}", self.schema)));
        }
        for (end, version) in [("min", &self.python.min), ("max", &self.python.max)] {
            if major_minor(version).is_none() {
                return Err((
                    format!("python.{end}"),
                    format!("expected a version as in 3.11, found {version:?}"),
                ));
            }
        }
        if major_minor(&self.python.min) > major_minor(&self.python.max) {
            return Err(("python.min".into(), "later than python.max".into()));
        }
        for (index, file) in self.patched_files.iter().enumerate() {
            file.check().map_err(|(field, what)| (format!("patched_files[{index}].{field}"), what))?;
            if !self.packages.contains_key(&file.package) {
                let what = format!("{:?} is not among the packages", file.package);
                return Err((format!("patched_files[{index}].package"), what));
            }
        }
        Ok(())
    }
}

impl PythonRange {
    /// Whether a full version, as in "3.12.1", lies in the range.
    pub fn holds(&self, version: &str) -> bool {
        let found = major_minor(version);
        found.is_some() && found >= major_minor(&self.min) && found <= major_minor(&self.max)
    }

    /// The versions of the range, the latest first.
    pub fn versions_latest_first(&self) -> Vec<String> {
        match (major_minor(&self.min), major_minor(&self.max)) {
            (Some((major, first)), Some((_, last))) => {
                (first..=last).rev().map(|minor| format!("{major}.{minor}")).collect()
            }
            (None, _) | (_, None) => Vec::new(),
        }
    }
}

impl std::fmt::Display for PythonRange {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "{} to {}", self.min, self.max)
    }
}

impl PatchedFile {
    fn check(&self) -> Result<(), (&'static str, String)> {
        for (field, path) in [("path", &self.path), ("patch", &self.patch)] {
            if !files::is_confined(path) {
                return Err((
                    field,
                    format!("expected a path inside the folder, found {:?}", path.display()),
                ));
            }
        }
        for (field, hash) in [("before_sha256", &self.before_sha256), ("after_sha256", &self.after_sha256)] {
            if hash.len() != 64 || !hash.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f')) {
                return Err((field, format!("expected 64 lower-case hex digits, found {hash:?}")));
            }
        }
        Ok(())
    }
}

fn major_minor(version: &str) -> Option<(u32, u32)> {
    let mut parts = version.split('.');
    let major = parts.next()?.parse().ok()?;
    let minor = parts.next()?.parse().ok()?;
    Some((major, minor))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn file(folder: &Path, change: impl FnOnce(&mut Value)) -> PathBuf {
        let mut value = json!({
            "schema": 1,
            "python": {"min": "3.11", "max": "3.14"},
            "packages": {"mlx-vlm": "0.7.10"},
            "patched_files": [{
                "package": "mlx-vlm", "path": "mlx_vlm/a.py", "before_sha256": "a".repeat(64),
                "after_sha256": "b".repeat(64), "patch": "patches/a.patch", "why": "wrong rows"
            }],
            "refused": [{"package": "mlx-vlm", "version": "0.6.3", "why": "cannot load"}]
        });
        change(&mut value);
        let file = folder.join("pins.json");
        std::fs::write(&file, value.to_string()).unwrap();
        file
    }

    fn wrong_at(change: impl FnOnce(&mut Value)) -> String {
        let folder = tempfile::tempdir().unwrap();
        let error = Pins::read(&file(folder.path(), change)).unwrap_err();
        assert!(matches!(error, ProvisionError::DataInvalid { .. }), "{error}");
        let text = error.to_string();
        let (_, after) = text.split_once(" is wrong at ").unwrap();
        after.split_once(": ").unwrap().0.to_owned()
    }

    #[test]
    fn an_error_names_the_path_of_the_value() {
        assert_eq!(wrong_at(|pins| pins["schema"] = json!(2)), "schema");
        assert_eq!(wrong_at(|pins| pins["packages"]["mlx-vlm"] = json!(7)), "packages.mlx-vlm");
        assert_eq!(wrong_at(|pins| pins["python"]["min"] = json!("three")), "python.min");
        assert_eq!(wrong_at(|pins| pins["python"]["max"] = json!("3.10")), "python.min");
        assert_eq!(
            wrong_at(|pins| pins["patched_files"][0]["path"] = json!("../x")),
            "patched_files[0].path"
        );
        assert_eq!(
            wrong_at(|pins| pins["patched_files"][0]["after_sha256"] = json!("12")),
            "patched_files[0].after_sha256"
        );
        assert_eq!(
            wrong_at(|pins| pins["patched_files"][0]["package"] = json!("other")),
            "patched_files[0].package"
        );
        assert_eq!(wrong_at(|pins| pins["refused"][0]["why"] = json!(null)), "refused[0].why");
    }

    #[test]
    fn a_refused_version_carries_its_reason_and_so_does_a_build_of_it() {
        let folder = tempfile::tempdir().unwrap();
        let pins = Pins::read(&file(folder.path(), |_| ())).unwrap();
        assert_eq!(pins.refusal("mlx-vlm", "0.6.3").unwrap().why, "cannot load");
        assert_eq!(pins.refusal("mlx-vlm", "0.6.3+a0578772").unwrap().why, "cannot load");
        assert!(pins.refusal("mlx-vlm", "0.6.30").is_none());
        assert!(pins.refusal("mlx", "0.6.3").is_none());
    }

    #[test]
    fn the_range_compares_numbers_and_not_text() {
        let range = PythonRange { min: "3.9".into(), max: "3.11".into() };
        assert!(range.holds("3.10.2") && range.holds("3.9.0") && range.holds("3.11.9"));
        assert!(
            !range.holds("3.12.0") && !range.holds("3.8.9") && !range.holds("4.10.0") && !range.holds("x")
        );
        assert_eq!(range.versions_latest_first(), ["3.11", "3.10", "3.9"]);
    }

    #[test]
    fn the_pins_of_this_project_are_read() {
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../runtime-patches/pins.json");
        let pins = Pins::read(&file).unwrap();
        assert!(pins.refusal("mlx-vlm", "0.6.3").is_some());
        for patched in &pins.patched_files {
            assert!(file.with_file_name(&patched.patch).is_file(), "{}", patched.patch.display());
        }
    }
}
