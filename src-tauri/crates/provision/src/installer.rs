//! The program that fills a virtual environment: uv where it can be had, else pip.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use crate::files::{self, at};
use crate::lock::Lock;
use crate::python::{MISLEADING, Python};
use crate::{Environment, ProvisionError, Step, program, python};

/// The uv fetched where the machine has none; `data/uv.txt` has its hashes.
const UV_VERSION: &str = "0.13.9";
const UV_REQUIREMENT: &str = include_str!("../data/uv.txt");
/// The Python that uv brings where macOS has none.
pub(crate) const MANAGED_PYTHON: &str = "3.12";
const ANSWER_LIMIT: Duration = Duration::from_secs(20);

type Progress<'a> = &'a mut dyn FnMut(Step);

/// What carries a virtual environment.
pub(crate) enum Base {
    /// A Python of this machine.
    Found(Python),
    /// One that uv brings.
    Managed,
}

/// The program that installs.
pub(crate) enum Installer {
    Uv(PathBuf),
    Pip,
}

impl Installer {
    /// A uv that is already here: `HANGAR_UV`, else on the search path.
    pub(crate) fn present(environment: &Environment) -> Result<Option<Self>, ProvisionError> {
        if let Some(named) = environment.path("HANGAR_UV") {
            answers(&named)?;
            return Ok(Some(Self::Uv(named)));
        }
        let mut found = environment.search_path().into_iter().map(|folder| folder.join("uv"));
        let found = found.find(|path| files::is_executable(path) && answers(path).is_ok());
        Ok(found.map(Self::Uv))
    }

    /// Whether pip was asked for by `HANGAR_INSTALLER`.
    pub(crate) fn pip_is_asked_for(environment: &Environment) -> Result<bool, ProvisionError> {
        match environment.get("HANGAR_INSTALLER") {
            None => Ok(false),
            Some(name) if name == "uv" => Ok(false),
            Some(name) if name == "pip" => Ok(true),
            Some(name) => Err(ProvisionError::VariableInvalid {
                variable: "HANGAR_INSTALLER",
                found: name.to_string_lossy().into_owned(),
                expected: "uv or pip",
            }),
        }
    }

    /// A uv fetched from its wheel into a folder of its own, or pip where that fails.
    pub(crate) fn fetched(
        python: &Python,
        tools_dir: &Path,
        progress: Progress,
    ) -> Result<Self, ProvisionError> {
        let folder = tools_dir.join(format!("uv-{UV_VERSION}"));
        let uv = folder.join("bin/uv");
        fs::create_dir_all(tools_dir).map_err(at("make", tools_dir))?;
        let lock = Lock::take(&tools_dir.join(format!("uv-{UV_VERSION}.lock")), progress)?;
        if answers(&uv).is_err() {
            progress(Step::FetchingInstaller { version: UV_VERSION.into() });
            if let Err(error) = fetch(python, tools_dir, &folder, progress) {
                progress(Step::FallingBackToPip { why: python::first_line(&error) });
                return Ok(Self::Pip);
            }
        }
        drop(lock);
        Ok(Self::Uv(uv))
    }

    /// Its name, as the marker keeps it.
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Self::Uv(_) => "uv",
            Self::Pip => "pip",
        }
    }

    /// Makes a virtual environment.
    pub(crate) fn make_environment(
        &self,
        base: &Base,
        folder: &Path,
        progress: Progress,
    ) -> Result<(), ProvisionError> {
        const TASK: &str = "making the virtual environment";
        match (self, base) {
            (Self::Uv(uv), Base::Found(python)) => {
                let arguments =
                    ["venv", "--quiet", "--no-project", "--relocatable", "--python"].map(OsStr::new);
                let python = python.executable.as_os_str();
                install(uv, arguments.into_iter().chain([python, folder.as_os_str()]), folder, TASK, progress)
            }
            (Self::Uv(uv), Base::Managed) => {
                let arguments =
                    ["venv", "--no-project", "--relocatable", "--managed-python", "--python", MANAGED_PYTHON];
                let arguments = arguments.map(OsStr::new).into_iter().chain([folder.as_os_str()]);
                install(uv, arguments, folder, TASK, progress)
            }
            (Self::Pip, Base::Found(python)) => venv(python, folder, TASK, progress),
            (Self::Pip, Base::Managed) => {
                Err(ProvisionError::PythonMissing { wanted: MANAGED_PYTHON.into(), tried: Vec::new() })
            }
        }
    }

    /// Installs exactly what a lock lists, every file by its hash, running nobody's build script.
    pub(crate) fn install_locked(
        &self,
        python: &Path,
        lock: &Path,
        progress: Progress,
    ) -> Result<(), ProvisionError> {
        let arguments = ["--require-hashes", "--no-deps", "--only-binary", ":all:", "-r"].map(OsStr::new);
        self.install(
            python,
            arguments.into_iter().chain([lock.as_os_str()]),
            "installing the locked packages",
            progress,
        )
    }

    /// Installs one wheel under its own name, past any cache: a rebuilt wheel keeps name and version.
    pub(crate) fn install_wheel(
        &self,
        python: &Path,
        wheel: &Path,
        progress: Progress,
    ) -> Result<(), ProvisionError> {
        let no_cache = match self {
            Self::Uv(_) => "--no-cache",
            Self::Pip => "--no-cache-dir",
        };
        let arguments = [no_cache, "--no-deps", "--no-index"].map(OsStr::new);
        self.install(
            python,
            arguments.into_iter().chain([wheel.as_os_str()]),
            "installing the worker",
            progress,
        )
    }

    fn install<'a>(
        &'a self,
        python: &'a Path,
        arguments: impl Iterator<Item = &'a OsStr>,
        task: &'static str,
        progress: Progress,
    ) -> Result<(), ProvisionError> {
        match self {
            Self::Uv(uv) => {
                let before = ["pip", "install", "--python"].map(OsStr::new);
                let before = before.into_iter().chain([python.as_os_str()]);
                install(uv, before.chain(arguments), python, task, progress)
            }
            Self::Pip => {
                let before = ["-I", "-m", "pip", "install", "--no-input", "--disable-pip-version-check"];
                install(python, before.map(OsStr::new).into_iter().chain(arguments), python, task, progress)
            }
        }
    }
}

/// How many packages a lock lists.
pub(crate) fn locked_count(lock: &Path) -> Result<usize, ProvisionError> {
    let text = files::read(lock)?;
    let text = String::from_utf8_lossy(&text);
    Ok(text.lines().filter(|line| !line.starts_with(['#', ' ']) && line.contains("==")).count())
}

fn answers(uv: &Path) -> Result<(), ProvisionError> {
    let ended = program::run(Command::new(uv).arg("--version"), Some(ANSWER_LIMIT), &mut |_| ())?;
    if ended.status.success() {
        return Ok(());
    }
    Err(ProvisionError::ProgramFailed {
        program: uv.to_owned(),
        status: ended.status_text(),
        said: ended.said,
    })
}

fn fetch(python: &Python, tools_dir: &Path, folder: &Path, progress: Progress) -> Result<(), ProvisionError> {
    const TASK: &str = "fetching uv";
    let staging =
        tempfile::Builder::new().prefix(".uv-").tempdir_in(tools_dir).map_err(at("make", tools_dir))?;
    let requirement = staging.path().join("uv.txt");
    fs::write(&requirement, UV_REQUIREMENT).map_err(at("write", &requirement))?;
    let made = staging.path().join("uv");
    venv(python, &made, TASK, progress)?;
    Installer::Pip.install_locked(&made.join("bin/python"), &requirement, progress)?;
    answers(&made.join("bin/uv"))?;
    if folder.exists() {
        fs::remove_dir_all(folder).map_err(at("remove", folder))?;
    }
    fs::rename(&made, folder).map_err(at("write", folder))
}

fn venv(
    python: &Python,
    folder: &Path,
    task: &'static str,
    progress: Progress,
) -> Result<(), ProvisionError> {
    let arguments = ["-I", "-m", "venv"].map(OsStr::new).into_iter().chain([folder.as_os_str()]);
    install(&python.executable, arguments, folder, task, progress)
}

/// Runs an installer beside what it makes, so that no project file of the current folder reaches it.
fn install<'a>(
    program: &Path,
    arguments: impl Iterator<Item = &'a OsStr>,
    made: &Path,
    task: &'static str,
    progress: Progress,
) -> Result<(), ProvisionError> {
    let mut command = Command::new(program);
    command.args(arguments).current_dir(made.parent().unwrap_or(made));
    for name in MISLEADING {
        command.env_remove(name);
    }
    let ended = program::run(&mut command, None, &mut |line| {
        // uv ends with a list of every package that it installed.
        if !line.trim_start().starts_with("+ ") {
            progress(Step::Said { line: line.trim().to_owned() });
        }
    })?;
    if ended.status.success() {
        return Ok(());
    }
    Err(ProvisionError::InstallerFailed { task, status: ended.status_text(), said: ended.said_anywhere() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_fetched_uv_is_the_one_with_hashes() {
        assert!(UV_REQUIREMENT.contains(&format!("uv=={UV_VERSION} ")));
        assert_eq!(UV_REQUIREMENT.matches("--hash=sha256:").count(), 3);
    }

    #[test]
    fn an_unknown_installer_is_refused_by_name() {
        let environment = Environment::from_pairs([("HANGAR_INSTALLER", "conda")]);
        let error = Installer::pip_is_asked_for(&environment).unwrap_err();
        assert_eq!(error.to_string(), r#"HANGAR_INSTALLER is "conda", not uv or pip"#);
    }

    #[test]
    fn a_named_uv_that_is_not_there_is_an_error_and_not_a_search() {
        let environment = Environment::from_pairs([("HANGAR_UV", "/nowhere/uv")]);
        assert!(matches!(Installer::present(&environment), Err(ProvisionError::ProgramMissing { .. })));
    }

    #[test]
    fn the_locks_of_this_project_list_packages_with_hashes() {
        let patches = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../runtime-patches");
        for (system, processor) in [("linux", "x86_64"), ("linux", "aarch64"), ("macos", "aarch64")] {
            let name = crate::Platform::named(system, processor).unwrap().requirements_name();
            assert!(locked_count(&patches.join(name)).unwrap() > 10, "{name}");
        }
    }
}
