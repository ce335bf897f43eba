//! `hangar runtime`: the Python runtime, made, found, compared and mended.

use std::path::PathBuf;
use std::process::ExitCode;

use hangar_provision::{
    Expected, ProvisionError, Request, Resources, Step, inspect_foreign, runtime as rooms, verify,
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
    let (python, pins) = match place::settings(&home)?.settings.worker.python_executable {
        Some(own) => {
            let found = inspect_foreign(&own, &Expected::read(&Resources::locate()?)?)?;
            (found.python, found.pins_path)
        }
        None => managed(&options.place)?,
    };
    let report = verify(&python, &pins, true)?;
    if options.json {
        let text = serde_json::to_string_pretty(&report).unwrap_or_default();
        say::line(&text);
    } else {
        say::line(report.table().trim_end());
    }
    Ok(if report.ok { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Interpreter and pins of the managed runtime. One that fails the quick comparison still gets its full
/// report, if it can give one.
fn managed(place: &Where) -> Result<(PathBuf, PathBuf), Failure> {
    let (resources, root) = locate(place)?;
    match Expected::read(&resources)?.inspect(&root) {
        Ok(runtime) => Ok((runtime.python, runtime.pins_path)),
        Err(ProvisionError::RuntimeUnverified { .. }) if root.join("bin/python").exists() => {
            Ok((root.join("bin/python"), resources.pins_path()))
        }
        Err(error) => Err(error.into()),
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
