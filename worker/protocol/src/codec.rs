//! Newline-delimited JSON with a hard size limit that is checked before anything is parsed.

use serde::{Serialize, de::DeserializeOwned};

/// Largest frame a worker accepts, in bytes: a long conversation with its decoded media.
pub const MAX_TO_WORKER_BYTES: usize = 512 * 1024 * 1024;
/// Largest frame a server accepts, in bytes: output pieces and counters are small.
pub const MAX_FROM_WORKER_BYTES: usize = 1024 * 1024;

/// Why a line is not a frame.
#[derive(Debug, thiserror::Error)]
pub enum FrameError {
    /// The line grew over the limit before its end was seen.
    #[error("frame exceeds {limit_bytes} bytes")]
    TooLarge {
        /// The limit in force.
        limit_bytes: usize,
    },
    /// The line is not a frame; the text stays out of the message, it may hold a prompt.
    #[error("line of {line_bytes} bytes is not a frame: {category:?} error at column {column}")]
    Malformed {
        /// Length of the line.
        line_bytes: usize,
        /// serde_json's kind of error.
        category: serde_json::error::Category,
        /// Column of the error.
        column: usize,
    },
    /// The value cannot be written as JSON (a float that is not finite).
    #[error("frame cannot be written as JSON")]
    Unwritable,
}

/// Writes one frame as a line, its newline included.
///
/// # Errors
/// [`FrameError::Unwritable`] when the value has no JSON form.
pub fn encode<T: Serialize>(frame: &T) -> Result<Vec<u8>, FrameError> {
    let mut line = serde_json::to_vec(frame).map_err(|_| FrameError::Unwritable)?;
    line.push(b'\n');
    Ok(line)
}

/// Reads one line, without its newline, as a frame.
///
/// # Errors
/// [`FrameError::Malformed`] when the line is not such a frame.
pub fn decode<T: DeserializeOwned>(line: &[u8]) -> Result<T, FrameError> {
    serde_json::from_slice(line).map_err(|error| FrameError::Malformed {
        line_bytes: line.len(),
        category: error.classify(),
        column: error.column(),
    })
}

/// Cuts a byte stream into lines, holding no more than the limit.
#[derive(Debug)]
pub struct Splitter {
    held: Vec<u8>,
    scanned: usize,
    limit_bytes: usize,
}

impl Splitter {
    /// A splitter that refuses lines over `limit_bytes`.
    pub fn new(limit_bytes: usize) -> Self {
        Self { held: Vec::new(), scanned: 0, limit_bytes }
    }

    /// Takes bytes as they arrive.
    pub fn push(&mut self, bytes: &[u8]) {
        self.held.extend_from_slice(bytes);
    }

    /// The next whole line without its newline, or nothing yet; empty lines are passed over.
    ///
    /// # Errors
    /// [`FrameError::TooLarge`] once an unfinished or finished line is over the limit; the stream cannot be
    /// trusted after that.
    pub fn next_line(&mut self) -> Result<Option<Vec<u8>>, FrameError> {
        loop {
            let Some(at) = self.held[self.scanned..].iter().position(|byte| *byte == b'\n') else {
                self.scanned = self.held.len();
                if self.held.len() > self.limit_bytes {
                    return Err(FrameError::TooLarge { limit_bytes: self.limit_bytes });
                }
                return Ok(None);
            };
            let end = self.scanned + at;
            if end > self.limit_bytes {
                return Err(FrameError::TooLarge { limit_bytes: self.limit_bytes });
            }
            let rest = self.held.split_off(end + 1);
            let mut line = std::mem::replace(&mut self.held, rest);
            self.scanned = 0;
            line.pop();
            if line.is_empty() {
                continue;
            }
            return Ok(Some(line));
        }
    }
}
