//! Everything that can go wrong with what Hangar runs on.

use std::io;
use std::path::PathBuf;

/// A failure to find, build or trust something; [`ProvisionError::hint`] says the cure.
#[derive(Debug, thiserror::Error)]
pub enum ProvisionError {
    /// The project's read-only data is nowhere.
    #[error("no folder with runtime-patches/pins.json; looked at {}", listed(tried))]
    ResourcesMissing {
        /// Folders looked at.
        tried: Vec<PathBuf>,
    },
    /// A file or folder cannot be used.
    #[error("cannot {action} {}: {source}", path.display())]
    File {
        /// What was attempted, as in "read".
        action: &'static str,
        /// The file or folder.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// A data file does not say what it should.
    #[error("{} is wrong at {json_path}: {what}", file.display())]
    DataInvalid {
        /// The file.
        file: PathBuf,
        /// Path of the value inside it.
        json_path: String,
        /// What is wrong.
        what: String,
    },
    /// An environment variable does not say what it should.
    #[error("{variable} is {found:?}, not {expected}")]
    VariableInvalid {
        /// The variable.
        variable: &'static str,
        /// Its value.
        found: String,
        /// The values it may have.
        expected: &'static str,
    },
    /// No runtime is locked for this machine.
    #[error("no runtime is locked for {platform}")]
    PlatformUnsupported {
        /// Operating system and processor.
        platform: String,
    },
    /// No worker wheel was built.
    #[error("no worker wheel; looked at {}", listed(tried))]
    WorkerWheelMissing {
        /// Files and folders looked at.
        tried: Vec<PathBuf>,
    },
    /// No usable Python.
    #[error("no Python {wanted} found{}", tried_because(tried))]
    PythonMissing {
        /// Versions that serve.
        wanted: String,
        /// Every candidate and why it was not taken.
        tried: Vec<String>,
    },
    /// A Python of another version.
    #[error("{} is Python {found}, not {wanted}", executable.display())]
    PythonWrongVersion {
        /// The executable.
        executable: PathBuf,
        /// Its version.
        found: String,
        /// Versions that serve.
        wanted: String,
    },
    /// A Python that cannot carry the runtime.
    #[error("{} cannot be used: {what}", executable.display())]
    PythonUnusable {
        /// The executable.
        executable: PathBuf,
        /// Why.
        what: String,
    },
    /// What a setting or variable names is no Python that answers.
    #[error("{setting} names {}, which cannot be used: {what}", executable.display())]
    NamedPythonUnusable {
        /// The setting or variable.
        setting: &'static str,
        /// The executable it names.
        executable: PathBuf,
        /// Why.
        what: String,
        /// Versions that serve.
        wanted: String,
    },
    /// An installer ended with an error.
    #[error("{task} failed ({status}):\n{said}")]
    InstallerFailed {
        /// What was being done.
        task: &'static str,
        /// How the program ended.
        status: String,
        /// The last lines it wrote.
        said: String,
    },
    /// An installed file is not the one its patch was made for.
    #[error("{} cannot be patched: {what}", file.display())]
    PatchRefused {
        /// The installed file.
        file: PathBuf,
        /// What differs.
        what: String,
    },
    /// No runtime is there.
    #[error("no Python runtime at {}", root.display())]
    RuntimeMissing {
        /// Where it should be.
        root: PathBuf,
    },
    /// The runtime is not as pinned.
    #[error("runtime {} differs from its pins: {what}", root.display())]
    RuntimeUnverified {
        /// The runtime's folder.
        root: PathBuf,
        /// What differs.
        what: String,
    },
    /// The folder holds something that is not ours to replace.
    #[error("{} holds something that is no Hangar runtime", path.display())]
    RuntimeForeign {
        /// The folder.
        path: PathBuf,
    },
    /// A user's own Python lacks a package.
    #[error("{} has no package {package} (needed: {expected})", executable.display())]
    PackageMissing {
        /// The executable.
        executable: PathBuf,
        /// The package.
        package: String,
        /// The pinned version.
        expected: String,
    },
    /// A user's own Python has another version of a package.
    #[error("{} has {package} {found}, not {expected}", executable.display())]
    PackageWrongVersion {
        /// The executable.
        executable: PathBuf,
        /// The package.
        package: String,
        /// The version found.
        found: String,
        /// The pinned version.
        expected: String,
    },
    /// A user's own Python has a version that is known to be broken.
    #[error("{} has {package} {version}, which is refused: {why}", executable.display())]
    PackageRefused {
        /// The executable.
        executable: PathBuf,
        /// The package.
        package: String,
        /// The version found.
        version: String,
        /// Why it is refused.
        why: String,
    },
    /// A user's own Python has the packages, but they are not as pinned.
    #[error("{} differs from the pins: {what}", executable.display())]
    ForeignUnverified {
        /// The executable.
        executable: PathBuf,
        /// What differs.
        what: String,
    },
    /// A program is not there.
    #[error("{} does not exist", program.display())]
    ProgramMissing {
        /// The program.
        program: PathBuf,
    },
    /// A program may not be run.
    #[error("{} may not be run", program.display())]
    ProgramForbidden {
        /// The program.
        program: PathBuf,
    },
    /// A program could not be started or waited for.
    #[error("cannot start {}: {source}", program.display())]
    ProgramNotStarted {
        /// The program.
        program: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// A program ended with an error.
    #[error("{} ended with {status}:\n{said}", program.display())]
    ProgramFailed {
        /// The program.
        program: PathBuf,
        /// How it ended.
        status: String,
        /// The last lines it wrote.
        said: String,
    },
    /// A program answered something that cannot be read.
    #[error("the answer of {} cannot be read: {what}", program.display())]
    AnswerUnreadable {
        /// The program.
        program: PathBuf,
        /// Why.
        what: String,
    },
    /// A program took too long and was ended.
    #[error("{} did not end within {limit_ms} ms", program.display())]
    ProgramTimedOut {
        /// The program.
        program: PathBuf,
        /// The limit.
        limit_ms: u128,
    },
    /// A file of the built-in model is not as listed.
    #[error("model file {} is not as listed: expected {expected}, found {found}", file.display())]
    ModelFileWrong {
        /// The file.
        file: PathBuf,
        /// What the list says.
        expected: String,
        /// What is there.
        found: String,
    },
}

impl ProvisionError {
    /// The cure, where there is one to name.
    pub fn hint(&self) -> Option<String> {
        let text = match self {
            Self::ResourcesMissing { .. } => "start Hangar from its clone or app, or set HANGAR_RESOURCES".into(),
            Self::File { source, path, .. } => return file_hint(source, path),
            Self::DataInvalid { file, .. } => format!("restore {} from the repository", file.display()),
            Self::VariableInvalid { variable, expected, .. } => format!("unset {variable}, or set it to {expected}"),
            Self::PlatformUnsupported { .. } => {
                "Hangar runs on macOS on Apple silicon, and on 64-bit Linux".into()
            }
            Self::WorkerWheelMissing { .. } => "run `npm start`, or set HANGAR_WORKER_WHEEL to a built wheel".into(),
            Self::PythonMissing { .. } => python_hint(cfg!(target_os = "macos")),
            Self::PythonWrongVersion { .. } | Self::PythonUnusable { .. } => {
                format!("{}, and point HANGAR_PYTHON or worker.pythonExecutable at it", python_hint(cfg!(target_os = "macos")))
            }
            Self::NamedPythonUnusable { setting, wanted, .. } => {
                format!("set {setting} to the executable of a CPython {wanted}, or remove it to leave the choice to Hangar")
            }
            Self::InstallerFailed { said, .. } => installer_hint(said),
            Self::PatchRefused { .. } => {
                "the download is not the pinned one: run `hangar runtime repair`, and if that does not help, \
                 restore runtime-patches/ from the repository"
                    .into()
            }
            Self::RuntimeMissing { .. } => "run `hangar runtime ensure`".into(),
            Self::RuntimeUnverified { .. } => "run `hangar runtime repair`".into(),
            Self::RuntimeForeign { .. } => "empty the folder, or set HANGAR_RUNTIME to another one".into(),
            Self::PackageMissing { executable, package, expected } => format!(
                "install {package} ({expected}) for {}, or remove worker.pythonExecutable to use Hangar's own runtime",
                executable.display()
            ),
            Self::PackageWrongVersion { executable, package, expected, .. } => format!(
                "install {package}=={expected} for {}, or remove worker.pythonExecutable to use Hangar's own runtime",
                executable.display()
            ),
            Self::PackageRefused { .. } | Self::ForeignUnverified { .. } => {
                "remove worker.pythonExecutable to use Hangar's own runtime, which has the pinned and patched packages"
                    .into()
            }
            Self::ProgramMissing { program } => format!("check the path {}", program.display()),
            Self::ProgramForbidden { program } => format!("make it executable: chmod +x '{}'", program.display()),
            Self::ProgramNotStarted { .. }
            | Self::ProgramFailed { .. }
            | Self::AnswerUnreadable { .. }
            | Self::ProgramTimedOut { .. } => "run `hangar runtime repair`".into(),
            Self::ModelFileWrong { .. } => "restore the worker/pocket folder from the repository".into(),
        };
        Some(text)
    }
}

fn listed(paths: &[PathBuf]) -> String {
    paths.iter().map(|path| path.display().to_string()).collect::<Vec<_>>().join(", ")
}

fn tried_because(tried: &[String]) -> String {
    if tried.is_empty() { String::new() } else { format!("; tried {}", tried.join("; ")) }
}

fn python_hint(macos: bool) -> String {
    if macos {
        "install one with `brew install python@3.12` (or `xcode-select --install` and a python.org installer)"
            .into()
    } else {
        "install one with `apt-get install python3 python3-venv`, or your distribution's equivalent".into()
    }
}

fn file_hint(source: &io::Error, path: &std::path::Path) -> Option<String> {
    if source.kind() == io::ErrorKind::PermissionDenied || source.kind() == io::ErrorKind::ReadOnlyFilesystem
    {
        Some(format!("make {} writable, or set HANGAR_HOME to a folder that is", path.display()))
    } else if source.kind() == io::ErrorKind::StorageFull {
        Some("free some disk space: a runtime takes about 500 MB".into())
    } else {
        None
    }
}

fn installer_hint(said: &str) -> String {
    let said = said.to_lowercase();
    let says = |words: &[&str]| words.iter().any(|word| said.contains(word));
    if says(&["no space left"]) {
        "free some disk space (a runtime takes about 500 MB) and run the same again".into()
    } else if says(&["ensurepip", "no module named venv", "no module named pip"]) {
        "install Python's venv module: `apt-get install python3-venv`, then run the same again".into()
    } else if says(&["hash mismatch", "do not match the hashes", "hashes are required"]) {
        "a download differs from the lock: clear the installer's cache (`uv cache clean`) and run the same again".into()
    } else if says(&[
        "dns",
        "resolve",
        "connect",
        "timed out",
        "timeout",
        "failed to fetch",
        "proxy",
        "network",
    ]) {
        "check the network and proxy settings, then run the same again: what was downloaded is kept".into()
    } else {
        "run the same again; if it fails again, set HANGAR_INSTALLER=pip or HANGAR_PYTHON to another Python"
            .into()
    }
}
