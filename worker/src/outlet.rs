//! The one place that writes frames: whole lines, one writer at a time.

use std::io::Write;
use std::sync::{Mutex, PoisonError};

use hangar_protocol::{FrameError, FromWorker, MAX_FROM_WORKER_BYTES, encode};

/// Why a frame was not written.
#[derive(Debug, thiserror::Error)]
pub enum OutletError {
    /// The frame has no line form, or is over the limit.
    #[error(transparent)]
    Frame(#[from] FrameError),
    /// The server is gone.
    #[error("pipe to the server is closed: {0}")]
    Closed(#[from] std::io::Error),
}

/// Writer of frames shared by the engine, the reader and the heartbeat.
pub struct Outlet {
    writer: Mutex<Box<dyn Write + Send>>,
}

impl std::fmt::Debug for Outlet {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("Outlet")
    }
}

impl Outlet {
    /// An outlet onto the real standard output, or a buffer in tests.
    pub fn new(writer: Box<dyn Write + Send>) -> Self {
        Self { writer: Mutex::new(writer) }
    }

    /// Writes one frame and flushes it.
    ///
    /// # Errors
    /// [`OutletError`] when the frame is too large or the server is gone.
    pub fn send(&self, frame: &FromWorker) -> Result<(), OutletError> {
        let line = encode(frame)?;
        if line.len() > MAX_FROM_WORKER_BYTES {
            return Err(FrameError::TooLarge { limit_bytes: MAX_FROM_WORKER_BYTES }.into());
        }
        Ok(self.write_raw(&line)?)
    }

    /// Writes bytes as they are; the scripted engine makes broken lines with it.
    ///
    /// # Errors
    /// What the system said when the server is gone.
    pub fn write_raw(&self, line: &[u8]) -> std::io::Result<()> {
        let mut writer = self.writer.lock().unwrap_or_else(PoisonError::into_inner);
        writer.write_all(line)?;
        writer.flush()
    }
}
