//! `hangar runtime`: the Python runtime, made, found, compared and mended.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use hangar_provision::{
    Expected, ProvisionError, Request, Resources, Row, Step, inspect_foreign, runtime as rooms, verify,
};

use crate::arguments::{Making, Runtime, Verify, Where};
use crate::failure::Failure;
use crate::{place, say};

/// Carries out one of the runtime commands.
pub(crate) fn runtime(command: &Runtime) -> Result<ExitCode, Failure> {
    match command {
        Runtime::Ensure(making) => make(making, rooms::ensure),
        Runtime::Repair(making) => make(making, rooms::repair),
        Runtime::Path(place) => {
            let (_, root) = locate(place)?;
            say::line(&root.display().to_string());
            Ok(ExitCode::SUCCESS)
        }
        Runtime::Verify(options) => compare(options),
    }
}

type Make = fn(&Request, &mut dyn FnMut(Step)) -> Result<rooms::Runtime, ProvisionError>;

fn make(making: &Making, make: Make) -> Result<ExitCode, Failure> {
    let (resources, root) = locate(&making.place)?;
    let runtime = make(&Request::new(resources, root), &mut |step| say::note(&step.to_string()))?;
    if making.print_path {
        say::line(&runtime.root.display().to_string());
    }
    Ok(ExitCode::SUCCESS)
}

fn compare(options: &Verify) -> Result<ExitCode, Failure> {
    let home = place::home()?;
    let (python, pins, looked_at) =
        match place::settings(&home)?.settings.profiles.default_profile().worker.python_executable.clone() {
            Some(own) => {
                let found = inspect_foreign(&own, &Expected::read(&Resources::locate()?)?)?;
                (found.python, found.pins_path, None)
            }
            None => managed(&options.place)?,
        };
    let mut report = verify(&python, &pins, true)?;
    if let Some(row) = looked_at {
        report.ok &= row.ok;
        report.rows.insert(0, row);
    }
    if options.json {
        let text = serde_json::to_string_pretty(&report).unwrap_or_default();
        say::line(&text);
    } else {
        say::line(report.table().trim_end());
    }
    Ok(if report.ok { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Interpreter and pins of the managed runtime, and what a look at it from outside says.
fn managed(place: &Where) -> Result<(PathBuf, PathBuf, Option<Row>), Failure> {
    let (resources, root) = locate(place)?;
    let (python, row) = looked_at(&Expected::read(&resources)?, &root)?;
    Ok((python, resources.pins_path(), Some(row)))
}

/// A runtime that fails the look from outside still gets its full report, if it can give one.
fn looked_at(expected: &Expected, root: &Path) -> Result<(PathBuf, Row), ProvisionError> {
    let key = expected.key.as_str();
    match expected.inspect(root) {
        Ok(runtime) => Ok((runtime.python, row(key, None))),
        Err(ProvisionError::RuntimeUnverified { what, .. }) if root.join("bin/python").exists() => {
            Ok((root.join("bin/python"), row(key, Some(what))))
        }
        Err(error) => Err(error),
    }
}

/// The marker and what every start compares, as one row of the report.
fn row(key: &str, differs: Option<String>) -> Row {
    let expected = format!("whole, made for key {key}");
    let cure = if differs.is_some() { "run `hangar runtime repair`" } else { "" };
    Row {
        name: "runtime".into(),
        ok: differs.is_none(),
        found: differs.unwrap_or_else(|| expected.clone()),
        expected,
        cure: cure.into(),
    }
}

fn locate(place: &Where) -> Result<(Resources, PathBuf), Failure> {
    let resources = Resources::locate()?;
    let folder = match &place.runtimes_dir {
        Some(folder) => std::path::absolute(folder).map_err(|source| Failure::File {
            action: "found",
            path: folder.clone(),
            source,
        })?,
        None => place::home()?.runtimes_dir(),
    };
    let root = rooms::locate(&folder, &resources)?;
    Ok((resources, root))
}

#[cfg(test)]
mod tests {
    use super::*;
    use hangar_provision::{Environment, Platform};
    use std::fs;

    fn expected(folder: &Path) -> Expected {
        let patches = folder.join("runtime-patches");
        fs::create_dir_all(&patches).unwrap();
        fs::create_dir_all(folder.join("wheels")).unwrap();
        fs::write(folder.join("wheels/hangar_worker-0.1.0-cp311-abi3-any.whl"), "wheel").unwrap();
        fs::write(patches.join(Platform::current().unwrap().requirements_name()), "").unwrap();
        let pins = r#"{"schema":1,"python":{"min":"3.11","max":"3.14"},"packages":{},"patched_files":[],"refused":[]}"#;
        fs::write(patches.join("pins.json"), pins).unwrap();
        let resources = Resources::locate_from(&folder.join("hangar"), &Environment::default()).unwrap();
        Expected::read(&resources).unwrap()
    }

    #[test]
    fn a_truncated_marker_is_a_row_that_fails_and_names_the_cure() {
        let folder = tempfile::tempdir().unwrap();
        let (expected, root) = (expected(folder.path()), folder.path().join("runtime"));
        fs::create_dir_all(root.join("bin")).unwrap();
        fs::write(root.join("bin/python"), "").unwrap();
        fs::write(root.join("hangar-runtime.json"), r#"{"schema": 1, "ke"#).unwrap();
        let (python, row) = looked_at(&expected, &root).unwrap();
        assert_eq!((python, row.ok), (root.join("bin/python"), false));
        assert!(row.found.contains("hangar-runtime.json cannot be read"), "{}", row.found);
        assert!(row.expected.ends_with(expected.key.as_str()) && row.cure.contains("repair"));
    }

    #[test]
    fn a_runtime_that_is_not_there_has_no_report() {
        let folder = tempfile::tempdir().unwrap();
        let error = looked_at(&expected(folder.path()), &folder.path().join("runtime")).unwrap_err();
        assert!(matches!(error, ProvisionError::RuntimeMissing { .. }), "{error}");
    }
}
