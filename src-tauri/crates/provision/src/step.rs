//! Steps of making a runtime, as they are told to a person.

use std::fmt;
use std::path::PathBuf;

/// Something that making a runtime has begun or found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// Another process makes the same runtime; waiting for it.
    WaitingForOtherBuilder {
        /// The lock it holds.
        lock: PathBuf,
    },
    /// What an interrupted attempt left is removed.
    RemovingUnfinished {
        /// The folder.
        path: PathBuf,
    },
    /// This Python will carry the runtime.
    FoundPython {
        /// The executable.
        executable: PathBuf,
        /// Its version.
        version: String,
    },
    /// No Python is installed; the installer brings one.
    FetchingPython {
        /// Its version.
        version: String,
    },
    /// The installer is fetched from its wheel.
    FetchingInstaller {
        /// Its version.
        version: String,
    },
    /// The installer cannot be had; pip does its work.
    FallingBackToPip {
        /// Why.
        why: String,
    },
    /// The virtual environment is made.
    MakingEnvironment,
    /// The locked packages are installed.
    InstallingPackages {
        /// How many.
        count: usize,
        /// By which program.
        installer: String,
    },
    /// The worker is installed.
    InstallingWorker {
        /// Its wheel.
        wheel: PathBuf,
    },
    /// A file is patched.
    Patching {
        /// The file below site-packages.
        file: PathBuf,
        /// The defect it mends.
        why: String,
    },
    /// A line that the installer wrote.
    Said {
        /// The line.
        line: String,
    },
    /// The runtime is whole.
    Finished {
        /// Its folder.
        root: PathBuf,
    },
}

impl fmt::Display for Step {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::WaitingForOtherBuilder { lock } => {
                write!(formatter, "waiting for another process that makes this runtime ({})", lock.display())
            }
            Self::RemovingUnfinished { path } => {
                write!(formatter, "removing what an interrupted attempt left ({})", path.display())
            }
            Self::FoundPython { executable, version } => {
                write!(formatter, "found Python {version} ({})", executable.display())
            }
            Self::FetchingPython { version } => write!(formatter, "no Python found: fetching {version}"),
            Self::FetchingInstaller { version } => write!(formatter, "fetching uv {version}"),
            Self::FallingBackToPip { why } => write!(formatter, "uv cannot be had ({why}): using pip"),
            Self::MakingEnvironment => write!(formatter, "making a virtual environment"),
            Self::InstallingPackages { count, installer } => {
                write!(formatter, "installing {count} locked packages with {installer}")
            }
            Self::InstallingWorker { wheel } => {
                let name = wheel.file_name().unwrap_or(wheel.as_os_str());
                write!(formatter, "installing the worker ({})", name.display())
            }
            Self::Patching { file, why } => write!(formatter, "patching {}: {why}", file.display()),
            Self::Said { line } => write!(formatter, "  {line}"),
            Self::Finished { root } => write!(formatter, "the runtime is ready ({})", root.display()),
        }
    }
}
