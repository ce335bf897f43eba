//! The Python runtime: where it is, and how it is made.
//!
//! It is made in a folder beside its own, which is renamed once whole: a virtual environment started as
//! `bin/python -m` does not depend on the name of its folder.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use crate::expected::State;
use crate::files::{self, at};
use crate::installer::{self, Base, Installer};
use crate::lock::Lock;
use crate::marker::{self, Marker};
use crate::{
    Environment, Expected, Platform, ProvisionError, Resources, Step, leftovers, patch, python, verify,
};

/// A runtime that was found as pinned.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Runtime {
    /// Its folder.
    pub root: PathBuf,
    /// The interpreter to start a worker with.
    pub python: PathBuf,
    /// The file of pins to give the worker.
    pub pins_path: PathBuf,
    /// The OpenBLAS to preload, where one is installed.
    pub openblas: Option<PathBuf>,
}

/// What is needed to make a runtime.
#[derive(Clone, Debug)]
pub struct Request {
    /// The project's read-only data.
    pub resources: Resources,
    /// Where the runtime is, or is to be.
    pub root: PathBuf,
    /// The variables that may choose Python and installer.
    pub environment: Environment,
}

impl Request {
    /// A request with the variables of this process.
    pub fn new(resources: Resources, root: PathBuf) -> Self {
        Self { resources, root, environment: Environment::of_process() }
    }
}

/// Where the runtime is: `HANGAR_RUNTIME`, else a folder named by its key.
///
/// # Errors
/// [`ProvisionError`] when the key cannot be computed.
pub fn locate(runtimes_dir: &Path, resources: &Resources) -> Result<PathBuf, ProvisionError> {
    locate_from(runtimes_dir, resources, &Environment::of_process())
}

/// Where the runtime is, as [`locate`] says, with these variables.
///
/// # Errors
/// [`ProvisionError`] when the key cannot be computed.
pub fn locate_from(
    runtimes_dir: &Path,
    resources: &Resources,
    environment: &Environment,
) -> Result<PathBuf, ProvisionError> {
    match environment.path("HANGAR_RUNTIME") {
        Some(named) => Ok(named),
        None => Ok(runtimes_dir.join(Expected::read(resources)?.key.as_str())),
    }
}

/// Makes the runtime where there is none; one that is whole is left as it is.
///
/// # Errors
/// [`ProvisionError::RuntimeUnverified`] for one that was changed since it was made, or why it cannot be made.
pub fn ensure(request: &Request, progress: &mut dyn FnMut(Step)) -> Result<Runtime, ProvisionError> {
    let expected = Expected::read(&request.resources)?;
    let root = real(&request.root);
    if let Some(runtime) = usable(&expected, &root)? {
        // The runtime is whole whether or not its neighbourhood can be tidied.
        leftovers::sweep_abandoned(parent(&root), progress).ok();
        return Ok(runtime);
    }
    let _lock = lock(&root, progress)?;
    match usable(&expected, &root)? {
        Some(runtime) => Ok(runtime),
        None => make(request, &expected, &root, progress),
    }
}

/// Makes the runtime anew, whatever is there. The old one stays until the new one is whole.
///
/// # Errors
/// [`ProvisionError`] saying why it cannot be made.
pub fn repair(request: &Request, progress: &mut dyn FnMut(Step)) -> Result<Runtime, ProvisionError> {
    let expected = Expected::read(&request.resources)?;
    let root = real(&request.root);
    let _lock = lock(&root, progress)?;
    make(request, &expected, &root, progress)
}

/// A runtime that is whole, or nothing when one must be made.
fn usable(expected: &Expected, root: &Path) -> Result<Option<Runtime>, ProvisionError> {
    match expected.state(root) {
        State::Whole(runtime) => Ok(Some(runtime)),
        State::Missing | State::Unfinished(_) => Ok(None),
        State::Damaged(what) => Err(ProvisionError::RuntimeUnverified { root: root.to_owned(), what }),
    }
}

/// The folder itself where a link leads to it, so that the link outlives the folder's replacement; absolute,
/// because installers are started in another folder.
fn real(root: &Path) -> PathBuf {
    let whole = root.canonicalize().or_else(|_| std::path::absolute(root));
    whole.unwrap_or_else(|_| root.to_owned())
}

fn lock(root: &Path, progress: &mut dyn FnMut(Step)) -> Result<Lock, ProvisionError> {
    let folder = parent(root);
    fs::create_dir_all(folder).map_err(at("make", folder))?;
    Lock::take(&leftovers::lock_file(folder, &name(root)), progress)
}

fn make(
    request: &Request,
    expected: &Expected,
    root: &Path,
    progress: &mut dyn FnMut(Step),
) -> Result<Runtime, ProvisionError> {
    if !marker::may_remove(root)? {
        return Err(ProvisionError::RuntimeForeign { path: root.to_owned() });
    }
    leftovers::sweep(parent(root), &name(root), progress)?;
    let staging = tempfile::Builder::new().prefix(&leftovers::prefix(&name(root))).tempdir_in(parent(root));
    let staging = staging.map_err(at("make a folder in", parent(root)))?;
    let made = staging.path().join("runtime");
    fill(request, expected, &made, progress)?;
    if root.exists() {
        let previous = staging.path().join("previous");
        fs::rename(root, &previous).map_err(at("move away", root))?;
    }
    fs::rename(&made, root).map_err(at("write", root))?;
    files::sync_folder(parent(root))?;
    drop(staging);
    leftovers::sweep(parent(root), &name(root), &mut |_| ())?;
    let runtime = expected.inspect(root)?;
    progress(Step::Finished { root: root.to_owned() });
    Ok(runtime)
}

/// Makes a whole runtime in a folder that is not there yet; its marker is the last thing written.
fn fill(
    request: &Request,
    expected: &Expected,
    root: &Path,
    progress: &mut dyn FnMut(Step),
) -> Result<(), ProvisionError> {
    let (base, installer) = tools(request, expected, &parent(&real(&request.root)).join(".tools"), progress)?;
    progress(Step::MakingEnvironment);
    installer.make_environment(&base, root, progress)?;
    marker::claim(root)?;
    let python = root.join("bin/python");
    let requirements = request.resources.requirements_for_this_platform()?;
    let count = installer::locked_count(&requirements)?;
    progress(Step::InstallingPackages { count, installer: installer.name().into() });
    installer.install_locked(&python, &requirements, progress)?;
    let wheel = request.resources.worker_wheel()?;
    progress(Step::InstallingWorker { wheel: wheel.clone() });
    installer.install_wheel(&python, &wheel, progress)?;

    let carried = python::ask(&python, &[])?;
    let site_packages = below(root, &carried.site_packages, &python)?;
    for patched in &expected.pins.patched_files {
        progress(Step::Patching { file: patched.path.clone(), why: patched.why.clone() });
        patch::apply(&root.join(&site_packages), &request.resources.patches_dir(), patched)?;
    }
    trust(expected, root, &root.join(&site_packages))?;
    let patched = expected.pins.patched_files.iter();
    let marker = Marker {
        schema: marker::SCHEMA,
        key: expected.key.to_string(),
        python: carried.version,
        installer: installer.name().into(),
        packages: marker::installed_packages(&root.join(&site_packages))?,
        patched_files: patched.map(|file| (file.path.clone(), file.after_sha256.clone())).collect(),
        site_packages,
        built_at: SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs(),
    };
    marker.write(root)
}

/// Chooses what carries the runtime and what fills it.
fn tools(
    request: &Request,
    expected: &Expected,
    tools_dir: &Path,
    progress: &mut dyn FnMut(Step),
) -> Result<(Base, Installer), ProvisionError> {
    let environment = &request.environment;
    let pip = Installer::pip_is_asked_for(environment)?;
    let present = if pip { Some(Installer::Pip) } else { Installer::present(environment)? };
    let python = match python::find(&expected.pins.python, environment) {
        Ok(python) => python,
        Err(error) => {
            return match (error, present) {
                (ProvisionError::PythonMissing { .. }, Some(uv @ Installer::Uv(_)))
                    if Platform::current()?.is_macos() =>
                {
                    progress(Step::FetchingPython { version: installer::MANAGED_PYTHON.into() });
                    Ok((Base::Managed, uv))
                }
                (error, _) => Err(error),
            };
        }
    };
    progress(Step::FoundPython { executable: python.executable.clone(), version: python.version.clone() });
    let installer = match present {
        Some(installer) => installer,
        None => Installer::fetched(&python, tools_dir, progress)?,
    };
    Ok((Base::Found(python), installer))
}

/// Compares what was made with the pins, from outside and by the worker's own code.
fn trust(expected: &Expected, root: &Path, site_packages: &Path) -> Result<(), ProvisionError> {
    let python = root.join("bin/python");
    let what = match expected.difference(&python, site_packages)? {
        Some(what) => Some(what),
        None => verify(&python, &expected.pins_path, false)?.differences(),
    };
    match what {
        None => Ok(()),
        Some(what) => Err(ProvisionError::RuntimeUnverified { root: root.to_owned(), what }),
    }
}

/// A path that a Python named, as a path below the runtime.
fn below(root: &Path, path: &Path, python: &Path) -> Result<PathBuf, ProvisionError> {
    match real(path).strip_prefix(real(root)) {
        Ok(path) if files::is_confined(path) => Ok(path.to_owned()),
        Ok(_) | Err(_) => Err(ProvisionError::AnswerUnreadable {
            program: python.to_owned(),
            what: format!("its packages lie outside the runtime, in {}", path.display()),
        }),
    }
}

fn parent(root: &Path) -> &Path {
    root.parent().unwrap_or(root)
}

fn name(root: &Path) -> String {
    root.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests;
