//! The log of a process that serves: JSON lines in files by day, and plain lines on standard error.

use std::path::{Path, PathBuf};

use tracing_appender::non_blocking::WorkerGuard;
use tracing_appender::rolling::{InitError, RollingFileAppender, Rotation};
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;
use tracing_subscriber::{EnvFilter, Layer, Registry, fmt};

/// Days that are kept.
const KEPT_FILES: usize = 7;

/// The log while it is written; what is still on its way is written when it is dropped.
#[derive(Debug)]
pub struct Journal {
    _writer: Option<WorkerGuard>,
}

/// Where lines go besides the files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Echo {
    /// To standard error, for a person who looks.
    Terminal,
    /// Nowhere.
    Nowhere,
}

/// Why nothing can be logged as asked.
#[derive(Debug, thiserror::Error)]
pub enum JournalError {
    /// The filter cannot be read.
    #[error("logging.level {level:?} is no log filter")]
    Filter {
        /// The filter.
        level: String,
    },
    /// The folder cannot be written.
    #[error("no log can be written in {folder}: {source}")]
    Folder {
        /// The folder.
        folder: PathBuf,
        /// What the system said.
        source: InitError,
    },
}

impl JournalError {
    /// What a person can do.
    pub fn cure(&self) -> &'static str {
        match self {
            Self::Filter { .. } => "use error, warn, info, debug or trace",
            Self::Folder { .. } => "set HANGAR_HOME to a folder that can be written",
        }
    }
}

impl Journal {
    /// Begins to log for the whole process: JSON lines in `folder` (`hangar.<day>.jsonl`, the last seven days),
    /// and plain lines where the echo says. Without a folder there is the echo alone.
    ///
    /// # Errors
    /// [`JournalError`] names the filter or the folder.
    pub fn begin(level: &str, folder: Option<&Path>, echo: Echo) -> Result<Self, JournalError> {
        let unreadable = |_| JournalError::Filter { level: level.to_owned() };
        let filter = EnvFilter::try_new(level).map_err(unreadable)?;
        let mut layers = Vec::new();
        if echo == Echo::Terminal {
            // Colours need a feature that is not built in; asking for them would end the process.
            layers.push(fmt::layer().with_ansi(false).with_writer(std::io::stderr).boxed());
        }
        let mut writer = None;
        if let Some(folder) = folder {
            let failed = |source| JournalError::Folder { folder: folder.to_owned(), source };
            let (lines, kept) = tracing_appender::non_blocking(files(folder).map_err(failed)?);
            layers.push(json_lines(lines));
            writer = Some(kept);
        }
        tracing_subscriber::registry().with(layers).with(filter).init();
        Ok(Self { _writer: writer })
    }
}

fn files(folder: &Path) -> Result<RollingFileAppender, InitError> {
    RollingFileAppender::builder()
        .rotation(Rotation::DAILY)
        .filename_prefix("hangar")
        .filename_suffix("jsonl")
        .max_log_files(KEPT_FILES)
        .build(folder)
}

fn json_lines<W>(writer: W) -> Box<dyn Layer<Registry> + Send + Sync>
where
    W: for<'a> fmt::MakeWriter<'a> + Send + Sync + 'static,
{
    fmt::layer()
        .json()
        .flatten_event(true)
        .with_current_span(true)
        .with_span_list(false)
        .with_writer(writer)
        .boxed()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_one_json_object_that_carries_the_id_of_its_request() {
        let folder = tempfile::tempdir().unwrap();
        let (lines, writer) = tracing_appender::non_blocking(files(folder.path()).unwrap());
        let subscriber = tracing_subscriber::registry().with(json_lines(lines));
        tracing::subscriber::with_default(subscriber, || {
            let span = tracing::error_span!("request", id = "abc");
            let _entered = span.enter();
            tracing::warn!(status = 503, "two\nlines");
        });
        drop(writer);
        let mut kept: Vec<_> =
            std::fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap()).collect();
        let file = kept.pop().unwrap();
        assert!(kept.is_empty());
        let name = file.file_name().into_string().unwrap();
        assert!(name.starts_with("hangar.20") && name.ends_with(".jsonl"), "{name}");
        let text = std::fs::read_to_string(file.path()).unwrap();
        assert_eq!(text.lines().count(), 1);
        let line: serde_json::Value = serde_json::from_str(&text).unwrap();
        assert_eq!(line["span"]["id"], "abc");
        assert_eq!((&line["level"], &line["message"]), (&"WARN".into(), &"two\nlines".into()));
        assert_eq!(line["status"], 503);
    }

    #[test]
    fn older_files_than_the_last_seven_go() {
        let folder = tempfile::tempdir().unwrap();
        for day in 10..20 {
            std::fs::write(folder.path().join(format!("hangar.2020-01-{day}.jsonl")), "old").unwrap();
        }
        std::fs::write(folder.path().join("server.log"), "not ours to remove").unwrap();
        drop(files(folder.path()).unwrap());
        let names: Vec<_> = std::fs::read_dir(folder.path())
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        assert!(names.contains(&"server.log".to_owned()));
        assert!(names.iter().filter(|name| name.ends_with(".jsonl")).count() <= KEPT_FILES, "{names:?}");
    }
}
