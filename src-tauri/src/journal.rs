//! Where the app's log goes: to the terminal it was started from, or to a file when the desktop starts it.

use std::fs::File;
use std::path::Path;
use std::sync::Mutex;

use tracing_subscriber::EnvFilter;
use tracing_subscriber::fmt::writer::BoxMakeWriter;

/// Name of the file in the log folder.
const FILE: &str = "app.log";
/// A log over this size is put aside.
const LARGEST_BYTES: u64 = 10 * 1024 * 1024;
/// What is logged when the settings cannot be read.
const USUAL_LEVEL: &str = "info";

/// Begins to log; `folder` gets a file. An unreadable level counts as the usual one, and is named.
pub(crate) fn begin(level: Option<&str>, folder: Option<&Path>) {
    let wanted = level.unwrap_or(USUAL_LEVEL);
    let parsed = EnvFilter::try_new(wanted);
    let unreadable = parsed.is_err();
    let file = folder.and_then(|folder| open(folder).ok());
    let writer = match file {
        Some(file) => BoxMakeWriter::new(Mutex::new(file)),
        None => BoxMakeWriter::new(std::io::stderr),
    };
    tracing_subscriber::fmt()
        .with_env_filter(parsed.unwrap_or_else(|_| EnvFilter::new(USUAL_LEVEL)))
        // Colours need a feature that is not built in; asking for them would end the process.
        .with_ansi(false)
        .with_writer(writer)
        .init();
    if unreadable {
        tracing::warn!(
            level = wanted,
            "logging.level is no log filter; use error, warn, info, debug or trace"
        );
    }
}

fn open(folder: &Path) -> std::io::Result<File> {
    std::fs::create_dir_all(folder)?;
    let path = folder.join(FILE);
    if std::fs::metadata(&path).is_ok_and(|known| known.len() > LARGEST_BYTES) {
        std::fs::rename(&path, folder.join(format!("{FILE}.old")))?;
    }
    File::options().create(true).append(true).open(path)
}
