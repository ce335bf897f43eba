//! Images and audio of a request, decoded and checked before a worker sees them. No IO: bytes in, pixels or
//! samples out.
//!
//! Limits are applied to what a header promises, before anything of that size is made.

mod audio;
mod error;
mod image;
mod wav;

pub use audio::{MAX_AUDIO_MS, MIN_AUDIO_MS, Pcm16k, SAMPLE_RATE_HZ, decode_audio};
pub use error::MediaError;
pub use image::{MAX_PIXELS, Rgb8, decode_image};

/// Most bytes of one encoded image or clip.
pub const MAX_ENCODED_BYTES: usize = 64 * 1024 * 1024;

fn check_size(bytes: &[u8]) -> Result<(), MediaError> {
    if bytes.is_empty() {
        return Err(MediaError::Empty);
    }
    if bytes.len() > MAX_ENCODED_BYTES {
        return Err(MediaError::TooManyBytes { found_bytes: bytes.len(), limit_bytes: MAX_ENCODED_BYTES });
    }
    Ok(())
}
