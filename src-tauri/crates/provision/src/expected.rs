//! What a runtime must be, read once, and the cheap comparison before every worker start.

use std::fs;
use std::path::{Path, PathBuf};

use crate::marker::{self, Marker};
use crate::{Pins, ProvisionError, Resources, Runtime, RuntimeKey, files, record, worker};

/// The key and pins that a runtime is compared with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Expected {
    /// The key its marker must have.
    pub key: RuntimeKey,
    /// The pins its files must match.
    pub pins: Pins,
    /// The file of pins, as a worker is given it.
    pub pins_path: PathBuf,
}

/// What a folder is, compared with what was expected.
pub(crate) enum State {
    Missing,
    /// Not a whole runtime with this key; to be made anew.
    Unfinished(String),
    /// Whole once, and changed since; refused until repaired.
    Damaged(String),
    Whole(Runtime),
}

impl Expected {
    /// Reads pins and computes the key.
    ///
    /// # Errors
    /// [`ProvisionError`] when an input is missing or wrong.
    pub fn read(resources: &Resources) -> Result<Self, ProvisionError> {
        let pins = resources.pins()?;
        Ok(Self { key: RuntimeKey::compute(resources, &pins)?, pins, pins_path: resources.pins_path() })
    }

    /// Compares a runtime with what was expected, without starting it.
    ///
    /// # Errors
    /// [`ProvisionError::RuntimeMissing`] or [`ProvisionError::RuntimeUnverified`].
    pub fn inspect(&self, root: &Path) -> Result<Runtime, ProvisionError> {
        let root = root.to_owned();
        match self.state(&root) {
            State::Whole(runtime) => Ok(runtime),
            State::Missing => Err(ProvisionError::RuntimeMissing { root }),
            State::Unfinished(what) | State::Damaged(what) => {
                Err(ProvisionError::RuntimeUnverified { root, what })
            }
        }
    }

    pub(crate) fn state(&self, root: &Path) -> State {
        if !root.exists() {
            return State::Missing;
        }
        let marker = match Marker::read(root, &self.key) {
            Ok(marker) => marker,
            Err(what) => return State::Unfinished(what),
        };
        let python = root.join("bin/python");
        match self.difference(&python, &root.join(&marker.site_packages)) {
            Ok(None) => State::Whole(Runtime {
                root: root.to_owned(),
                python,
                pins_path: self.pins_path.clone(),
                openblas: worker::openblas(),
            }),
            Ok(Some(what)) => State::Damaged(what),
            Err(error) => State::Damaged(error.to_string()),
        }
    }

    /// The first thing that differs, if any: interpreter, packages, the worker's own files, patched files.
    pub(crate) fn difference(
        &self,
        python: &Path,
        site_packages: &Path,
    ) -> Result<Option<String>, ProvisionError> {
        if !files::is_executable(python) {
            let gone = fs::symlink_metadata(python).is_ok() && !python.exists();
            let why = if gone { "leads to a Python that is gone" } else { "is no program" };
            return Ok(Some(format!("{} {why}", python.display())));
        }
        let installed = marker::installed_packages(site_packages)?;
        for (name, version) in &self.pins.packages {
            match installed.get(&marker::normal_name(name)) {
                Some(found) if found == version => (),
                Some(found) => return Ok(Some(format!("{name} is {found}, not {version}"))),
                None => return Ok(Some(format!("{name} {version} is not installed"))),
            }
        }
        if let Some(what) = record::difference(site_packages, &installed) {
            return Ok(Some(what));
        }
        for patched in &self.pins.patched_files {
            let name = patched.path.display();
            let found = match files::sha256_of_file(&site_packages.join(&patched.path)) {
                Ok((found, _)) => found,
                Err(error) => return Ok(Some(format!("{name} cannot be read ({error})"))),
            };
            if found == patched.before_sha256 {
                return Ok(Some(format!("{name} is not patched")));
            } else if found != patched.after_sha256 {
                return Ok(Some(format!("{name} was edited")));
            }
        }
        Ok(None)
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::Environment;
    use serde_json::json;

    pub(crate) const BEFORE: &str = "one\ntwo\nthree\n";
    pub(crate) const AFTER: &str = "one\n2\nthree\n";
    pub(crate) const DIFF: &str = "--- a.py\n+++ a.py\n@@ -1,3 +1,3 @@\n one\n-two\n+2\n three\n";

    /// A project small enough to make runtimes of in a test.
    pub(crate) fn project(root: &Path) -> Resources {
        let patches = root.join("runtime-patches");
        fs::create_dir_all(patches.join("patches")).unwrap();
        fs::create_dir_all(root.join("wheels")).unwrap();
        let name = crate::Platform::current().unwrap().requirements_name();
        fs::write(patches.join(name), "# lock\nmlx-vlm==0.7.10 \\\n    --hash=sha256:00\n").unwrap();
        fs::write(patches.join("patches/a.patch"), DIFF).unwrap();
        fs::write(root.join("wheels/hangar_worker-0.1.0-cp311-abi3-any.whl"), "wheel").unwrap();
        let pins = json!({
            "schema": 1,
            "python": {"min": "3.11", "max": "3.14"},
            "packages": {"mlx-vlm": "0.7.10"},
            "patched_files": [{
                "package": "mlx-vlm", "path": "mlx_vlm/a.py", "patch": "patches/a.patch", "why": "wrong rows",
                "before_sha256": files::sha256_of(BEFORE.as_bytes()),
                "after_sha256": files::sha256_of(AFTER.as_bytes()),
            }],
            "refused": [{"package": "mlx-vlm", "version": "0.6.3", "why": "cannot load"}]
        });
        fs::write(patches.join("pins.json"), pins.to_string()).unwrap();
        Resources::locate_from(&root.join("hangar"), &Environment::default()).unwrap()
    }

    /// A folder that is a whole runtime as far as a comparison without starting it can tell.
    fn whole(folder: &Path) -> (Expected, PathBuf) {
        let expected = Expected::read(&project(folder)).unwrap();
        let root = folder.join("runtime");
        let site_packages = root.join("lib/python3.12/site-packages");
        fs::create_dir_all(site_packages.join("mlx_vlm-0.7.10.dist-info")).unwrap();
        fs::create_dir_all(site_packages.join("mlx_vlm")).unwrap();
        fs::write(site_packages.join("mlx_vlm/a.py"), AFTER).unwrap();
        record::tests::install(&site_packages);
        crate::python::tests::script(&root.join("bin/python"), "exit 0");
        marker_for(&expected.key).write(&root).unwrap();
        (expected, root)
    }

    fn marker_for(key: &RuntimeKey) -> Marker {
        Marker {
            schema: marker::SCHEMA,
            key: key.to_string(),
            python: "3.12.1".into(),
            installer: "uv".into(),
            site_packages: "lib/python3.12/site-packages".into(),
            packages: [].into(),
            patched_files: [].into(),
            built_at: 1,
        }
    }

    fn refused(expected: &Expected, root: &Path) -> String {
        let error = expected.inspect(root).unwrap_err();
        assert!(matches!(error, ProvisionError::RuntimeUnverified { .. }), "{error}");
        assert_eq!(error.hint().unwrap(), "run `hangar runtime repair`");
        error.to_string()
    }

    #[test]
    fn a_whole_runtime_is_accepted_with_its_own_python() {
        let folder = tempfile::tempdir().unwrap();
        let (expected, root) = whole(folder.path());
        let runtime = expected.inspect(&root).unwrap();
        assert_eq!((runtime.python, runtime.pins_path), (root.join("bin/python"), expected.pins_path));
    }

    #[test]
    fn an_edited_patched_file_is_refused_with_the_cure() {
        let folder = tempfile::tempdir().unwrap();
        let (expected, root) = whole(folder.path());
        let file = root.join("lib/python3.12/site-packages/mlx_vlm/a.py");
        fs::write(&file, "edited\n").unwrap();
        assert!(refused(&expected, &root).ends_with("mlx_vlm/a.py was edited"));
        fs::write(&file, BEFORE).unwrap();
        assert!(refused(&expected, &root).ends_with("mlx_vlm/a.py is not patched"));
        fs::remove_file(&file).unwrap();
        assert!(refused(&expected, &root).contains("mlx_vlm/a.py cannot be read"));
    }

    #[test]
    fn a_missing_native_module_and_a_missing_worker_source_are_refused_with_the_cure() {
        let folder = tempfile::tempdir().unwrap();
        let (expected, root) = whole(folder.path());
        let package = root.join("lib/python3.12/site-packages/hangar_worker");
        for file in ["_native.abi3.so", "engine.py"] {
            let content = fs::read(package.join(file)).unwrap();
            fs::remove_file(package.join(file)).unwrap();
            assert!(refused(&expected, &root).contains(&format!("hangar_worker/{file} cannot be read")));
            fs::write(package.join(file), content).unwrap();
        }
        expected.inspect(&root).unwrap();
    }

    #[test]
    fn an_absent_truncated_garbled_or_other_marker_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let (expected, root) = whole(folder.path());
        let file = root.join(marker::MARKER);
        let written = fs::read(&file).unwrap();
        fs::write(&file, &written[..written.len() / 2]).unwrap();
        assert!(refused(&expected, &root).contains("cannot be read"));
        fs::write(&file, "\0\0\0").unwrap();
        assert!(refused(&expected, &root).contains("cannot be read"));
        fs::remove_file(&file).unwrap();
        assert!(refused(&expected, &root).contains("never finished"));
        let other = Marker { key: "0123456789abcdef".into(), ..marker_for(&expected.key) };
        other.write(&root).unwrap();
        assert!(refused(&expected, &root).contains("0123456789abcdef"));
        let outside = Marker { site_packages: "../elsewhere".into(), ..marker_for(&expected.key) };
        outside.write(&root).unwrap();
        assert!(refused(&expected, &root).contains("outside the runtime"));
    }

    #[test]
    fn a_python_that_is_gone_and_a_lost_package_are_named() {
        let folder = tempfile::tempdir().unwrap();
        let (expected, root) = whole(folder.path());
        let record = root.join("lib/python3.12/site-packages/mlx_vlm-0.7.10.dist-info");
        fs::rename(&record, record.with_file_name("mlx_vlm-0.7.9.dist-info")).unwrap();
        assert!(refused(&expected, &root).ends_with("mlx-vlm is 0.7.9, not 0.7.10"));
        fs::remove_dir(record.with_file_name("mlx_vlm-0.7.9.dist-info")).unwrap();
        assert!(refused(&expected, &root).ends_with("mlx-vlm 0.7.10 is not installed"));
        fs::remove_file(root.join("bin/python")).unwrap();
        std::os::unix::fs::symlink("/nowhere/python3", root.join("bin/python")).unwrap();
        assert!(refused(&expected, &root).ends_with("leads to a Python that is gone"));
    }

    #[test]
    fn no_folder_is_a_missing_runtime_and_not_a_damaged_one() {
        let folder = tempfile::tempdir().unwrap();
        let expected = Expected::read(&project(folder.path())).unwrap();
        let error = expected.inspect(&folder.path().join("nothing")).unwrap_err();
        assert!(matches!(error, ProvisionError::RuntimeMissing { .. }), "{error}");
        assert_eq!(error.hint().unwrap(), "run `hangar runtime ensure`");
    }
}
