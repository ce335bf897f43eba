//! A user's own Python: compared with the pins, and never changed.

use std::path::Path;

use crate::record::WORKER_PACKAGE;
use crate::{Expected, Pins, ProvisionError, Runtime, python, verify, worker};

const SETTING: &str = "worker.pythonExecutable";

/// Compares a user's own Python with the pins: its version, its packages, then its files.
///
/// # Errors
/// [`ProvisionError`] naming the executable, what differs, and the cure.
pub fn inspect_foreign(executable: &Path, expected: &Expected) -> Result<Runtime, ProvisionError> {
    let pins = &expected.pins;
    let names: Vec<&str> = pins.packages.keys().map(String::as_str).chain([WORKER_PACKAGE]).collect();
    let python = python::ask_named(SETTING, executable, &names, &pins.python)?;
    python.check(executable, &pins.python)?;
    for (name, found) in &python.packages {
        check_package(executable, pins, name, found.as_deref())?;
    }
    // Its packages are the user's: whatever is wrong with them, Hangar's own repair does not mend it.
    let report = verify(executable, &expected.pins_path, false).map_err(|error| {
        ProvisionError::ForeignUnverified {
            executable: executable.to_owned(),
            what: python::first_line(&error),
        }
    })?;
    if let Some(what) = report.differences() {
        return Err(ProvisionError::ForeignUnverified { executable: executable.to_owned(), what });
    }
    let bin = executable.parent().unwrap_or(executable);
    Ok(Runtime {
        root: bin.parent().unwrap_or(bin).to_owned(),
        python: executable.to_owned(),
        pins_path: expected.pins_path.clone(),
        openblas: worker::openblas(),
    })
}

fn check_package(
    executable: &Path,
    pins: &Pins,
    name: &str,
    found: Option<&str>,
) -> Result<(), ProvisionError> {
    let executable = executable.to_owned();
    let package = name.to_owned();
    let pinned = pins.packages.get(name);
    let Some(found) = found else {
        let expected = pinned.cloned().unwrap_or_else(|| "the wheel that `npm start` builds".into());
        return Err(ProvisionError::PackageMissing { executable, package, expected });
    };
    if let Some(refused) = pins.refusal(name, found) {
        let (version, why) = (found.to_owned(), refused.why.clone());
        return Err(ProvisionError::PackageRefused { executable, package, version, why });
    }
    match pinned {
        Some(expected) if expected != found => Err(ProvisionError::PackageWrongVersion {
            executable,
            package,
            found: found.to_owned(),
            expected: expected.clone(),
        }),
        Some(_) | None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::expected::tests::project;
    use crate::python::tests::{fake, script};

    fn inspected(version: &str, packages: &str) -> ProvisionError {
        let folder = tempfile::tempdir().unwrap();
        let expected = Expected::read(&project(folder.path())).unwrap();
        let executable = folder.path().join("own/bin/python");
        fake(&executable, version, packages);
        let error = inspect_foreign(&executable, &expected).unwrap_err();
        assert!(error.to_string().contains("own/bin/python"), "{error}");
        assert!(error.hint().is_some());
        error
    }

    #[test]
    fn another_python_version_is_refused_first() {
        let error = inspected("3.10.13", r#"{"mlx-vlm":null}"#);
        assert!(matches!(error, ProvisionError::PythonWrongVersion { .. }), "{error}");
    }

    #[test]
    fn a_program_that_is_no_python_names_itself_and_the_setting() {
        let folder = tempfile::tempdir().unwrap();
        let expected = Expected::read(&project(folder.path())).unwrap();
        for program in ["/bin/true", "/bin/sh", "/nowhere/python"] {
            let error = inspect_foreign(Path::new(program), &expected).unwrap_err();
            let (said, hint) = (error.to_string(), error.hint().unwrap());
            assert!(said.starts_with(&format!("worker.pythonExecutable names {program}, ")), "{said}");
            assert!(hint.contains("set worker.pythonExecutable to") && !hint.contains("repair"), "{hint}");
        }
    }

    #[test]
    fn a_users_own_python_that_cannot_compare_itself_is_not_repaired() {
        let folder = tempfile::tempdir().unwrap();
        let expected = Expected::read(&project(folder.path())).unwrap();
        let (executable, answer) = (folder.path().join("bin/python"), folder.path().join("answer"));
        fake(&answer, "3.12.1", r#"{"mlx-vlm":"0.7.10","hangar-worker":"0.1.0"}"#);
        script(&executable, &format!("[ \"$2\" = -m ] && exit 1\nexec '{}'", answer.display()));
        let error = inspect_foreign(&executable, &expected).unwrap_err();
        assert!(error.to_string().contains("bin/python ended with exit status 1"), "{error}");
        let hint = error.hint().unwrap();
        assert!(hint.contains("worker.pythonExecutable") && !hint.contains("repair"), "{hint}");
    }

    #[test]
    fn a_missing_package_is_named() {
        let error = inspected("3.12.1", r#"{"mlx-vlm":null,"hangar-worker":"0.1.0"}"#);
        assert!(
            matches!(&error, ProvisionError::PackageMissing { package, .. } if package == "mlx-vlm"),
            "{error}"
        );
        let error = inspected("3.12.1", r#"{"mlx-vlm":"0.7.10","hangar-worker":null}"#);
        assert!(error.to_string().contains("hangar-worker"), "{error}");
    }

    #[test]
    fn a_refused_version_is_refused_with_its_reason() {
        for version in ["0.6.3", "0.6.3+a0578772"] {
            let error = inspected("3.12.1", &format!(r#"{{"mlx-vlm":"{version}","hangar-worker":"0.1.0"}}"#));
            assert!(matches!(error, ProvisionError::PackageRefused { .. }), "{error}");
            assert!(error.to_string().ends_with("which is refused: cannot load"), "{error}");
        }
    }

    #[test]
    fn another_package_version_names_both() {
        let error = inspected("3.12.1", r#"{"mlx-vlm":"0.7.9","hangar-worker":"0.1.0"}"#);
        assert!(error.to_string().ends_with("has mlx-vlm 0.7.9, not 0.7.10"), "{error}");
    }

    #[test]
    fn an_edited_file_of_a_users_own_python_is_refused_and_not_repaired() {
        let folder = tempfile::tempdir().unwrap();
        let expected = Expected::read(&project(folder.path())).unwrap();
        let executable = folder.path().join("bin/python");
        let answer = folder.path().join("answer");
        fake(&answer, "3.12.1", r#"{"mlx-vlm":"0.7.10","hangar-worker":"0.1.0"}"#);
        let row = r#"{"name":"mlx_vlm/a.py","ok":false,"expected":"patched","found":"unpatched","cure":"x"}"#;
        let report = format!(r#"{{"ok":false,"rows":[{row}]}}"#);
        let body = format!("[ \"$2\" = -m ] && {{ echo '{report}'; exit; }}\nexec '{}'", answer.display());
        script(&executable, &body);
        let error = inspect_foreign(&executable, &expected).unwrap_err();
        assert!(matches!(error, ProvisionError::ForeignUnverified { .. }), "{error}");
        assert!(error.hint().unwrap().contains("worker.pythonExecutable"));
    }
}
