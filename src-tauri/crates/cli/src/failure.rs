//! Why a command was not carried out.

use std::io;
use std::path::PathBuf;

use hangar_config::{ConfigError, HomeError};
use hangar_provision::ProvisionError;
use hangar_server::{HostError, InstanceError, JournalError, NoModel, StartError};

/// One failure with its cure.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Failure {
    /// No state folder, or one that cannot be written.
    #[error(transparent)]
    Home(#[from] HomeError),
    /// The configuration cannot be used.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// Nothing can be logged as asked.
    #[error(transparent)]
    Journal(#[from] JournalError),
    /// There is no such profile.
    #[error("there is no profile {asked:?}: there are {}", known.join(", "))]
    NoProfile {
        /// What was asked for.
        asked: String,
        /// The profiles there are.
        known: Vec<String>,
    },
    /// Resources or runtime are not as they must be.
    #[error(transparent)]
    Provision(#[from] ProvisionError),
    /// The model of the profile is not there.
    #[error("{}", .0.what)]
    NoModel(NoModel),
    /// The server did not come up.
    #[error(transparent)]
    Start(#[from] StartError),
    /// The server did not end as it should.
    #[error(transparent)]
    Host(#[from] HostError),
    /// The instance lock cannot be looked at.
    #[error(transparent)]
    Instance(#[from] InstanceError),
    /// No threads or timers.
    #[error("the program's own runtime did not start: {0}")]
    NoRuntime(io::Error),
    /// A file cannot be used.
    #[error("{} cannot be {action}: {source}", path.display())]
    File {
        /// What was attempted, as in "read".
        action: &'static str,
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The background server ended before it answered.
    #[error("the server ended before it answered ({status}){}", said(last_words))]
    StartFailed {
        /// How it ended.
        status: String,
        /// What it said last.
        last_words: String,
        /// Its log.
        log: PathBuf,
    },
    /// The background server does not answer.
    #[error("the server did not answer within {limit_s} s")]
    StartTimedOut {
        /// The limit.
        limit_s: u64,
        /// Its log.
        log: PathBuf,
    },
    /// The server does not end.
    #[error("the server (process {pid}) did not end within {limit_s} s")]
    StopTimedOut {
        /// Its process.
        pid: u32,
        /// The limit.
        limit_s: u64,
    },
    /// A server has the lock but does not say who it is.
    #[error("a server has this HANGAR_HOME, but does not say who it is")]
    Nameless,
    /// No server runs.
    #[error("no server runs in this HANGAR_HOME")]
    NotRunning,
    /// The server refuses with a status.
    #[error("{url} answered {status}: {what}")]
    Refused {
        /// The address.
        url: String,
        /// HTTP status.
        status: u16,
        /// What the answer said.
        what: String,
    },
    /// There is no worker process to do something to.
    #[error("there is no worker process: its state is {state}")]
    NoWorker {
        /// Word of its state.
        state: String,
    },
    /// The worker's process takes no signal from us.
    #[error("process {pid} takes no signal: {source}")]
    NotSignalled {
        /// The process.
        pid: i32,
        /// What the system said.
        source: io::Error,
    },
    /// The server cannot be told to end.
    #[error("process {pid} cannot be told to end: {source}")]
    NotTold {
        /// Its process.
        pid: u32,
        /// What the system said.
        source: io::Error,
    },
    /// The server does not answer a question.
    #[error("{url} does not answer: {what}")]
    NoAnswer {
        /// The address.
        url: String,
        /// What happened.
        what: String,
    },
    /// A bench could not be carried out.
    #[error(transparent)]
    Bench(#[from] crate::bench::BenchError),
    /// A canary's file is not as it must be.
    #[error("{} is wrong: {what}", file.display())]
    Canary {
        /// The file.
        file: PathBuf,
        /// What is wrong.
        what: String,
    },
}

impl From<NoModel> for Failure {
    fn from(missing: NoModel) -> Self {
        Self::NoModel(missing)
    }
}

impl Failure {
    /// What a person can do, where the message does not say so itself.
    pub(crate) fn cure(&self) -> Option<String> {
        match self {
            Self::Home(_) | Self::NoProfile { .. } => None,
            Self::Config(error) => error.cure(),
            Self::NoModel(missing) => Some(missing.cure.clone()),
            Self::Journal(error) => Some(error.cure().to_owned()),
            Self::Provision(error) => error.hint(),
            Self::Start(error) => error.cure(),
            Self::Host(error) => error.cure(),
            Self::Instance(_) => Some("set HANGAR_HOME to a folder that can be written".to_owned()),
            Self::NoRuntime(_) => Some("free some memory or raise the limits of this session".to_owned()),
            Self::File { .. } => Some("make the file's folder readable and writable".to_owned()),
            Self::StartFailed { log, .. } | Self::StartTimedOut { log, .. } => {
                Some(format!("read {}", log.display()))
            }
            Self::StopTimedOut { pid, .. } => {
                Some(format!("end it with `kill -9 {pid}`: its worker ends by itself"))
            }
            Self::Nameless => Some("wait a moment and try again".to_owned()),
            Self::NotRunning => Some("start one with `hangar start`, or name one with --url".to_owned()),
            Self::Refused { .. } | Self::NoWorker { .. } => None,
            Self::NotSignalled { .. } => {
                Some("run the check on the server's machine, as the user who started it".to_owned())
            }
            Self::NotTold { .. } => Some("stop it as the user who started it".to_owned()),
            Self::NoAnswer { .. } => Some("try `hangar restart`".to_owned()),
            Self::Bench(_) => Some("run it from a checkout, after `npm start` worked there".to_owned()),
            Self::Canary { .. } => Some("restore the worker/pocket folder from the repository".to_owned()),
        }
    }
}

fn said(last_words: &str) -> String {
    if last_words.is_empty() { String::new() } else { format!(":\n{last_words}") }
}
