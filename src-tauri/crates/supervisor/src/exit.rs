//! How a worker process ended, and what is kept of its last end.

use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;

use nix::sys::signal::Signal;

/// How a process ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// By itself, with this status.
    Code(i32),
    /// By a signal with this number.
    Signal(i32),
    /// The system could not say.
    Unknown,
}

impl Exit {
    /// The exit status, where the process ended by itself.
    pub fn code(self) -> Option<i32> {
        match self {
            Self::Code(code) => Some(code),
            Self::Signal(_) | Self::Unknown => None,
        }
    }

    /// Name of the signal, such as `SIGKILL`, or its number where it has no name.
    pub fn signal(self) -> Option<String> {
        match self {
            Self::Signal(number) => Some(
                Signal::try_from(number)
                    .map_or_else(|_| number.to_string(), |signal| signal.as_str().to_owned()),
            ),
            Self::Code(_) | Self::Unknown => None,
        }
    }
}

impl From<ExitStatus> for Exit {
    fn from(status: ExitStatus) -> Self {
        match (status.code(), status.signal()) {
            (Some(code), _) => Self::Code(code),
            (None, Some(number)) => Self::Signal(number),
            (None, None) => Self::Unknown,
        }
    }
}

impl std::fmt::Display for Exit {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Code(code) => write!(formatter, "exit code {code}"),
            Self::Signal(number) => {
                write!(formatter, "signal {}", self.signal().unwrap_or_else(|| number.to_string()))
            }
            Self::Unknown => formatter.write_str("unknown status"),
        }
    }
}

/// The last end of a worker process.
#[derive(Clone, Debug, PartialEq)]
pub struct LastExit {
    /// Which process it was: numbers rise with every start.
    pub generation: u64,
    /// Its process id.
    pub pid: Option<u32>,
    /// `ended` where it was asked to end, else the word of the failure.
    pub kind: &'static str,
    /// How it ended.
    pub exit: Exit,
    /// Last lines of its log.
    pub stderr_tail: Vec<String>,
    /// When, on the clock that stands still while the machine sleeps.
    pub at: tokio::time::Instant,
}
