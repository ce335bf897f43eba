//! Images and audio of a request, decoded and checked before a worker sees them. No IO: bytes in, pixels or
//! samples out.
//!
//! What media is, its bytes decide, not its name. Limits are applied to what a header promises, before anything of
//! that size is made.

mod audio;
mod data_url;
mod error;
mod image;
mod kind;

pub use audio::{MAX_SEGMENT_MS, MIN_AUDIO_MS, SAMPLE_RATE_HZ, Segment, Sound, decode_audio};
pub use data_url::{Inline, read_base64, read_data_url};
pub use error::MediaError;
pub use image::{KEPT_PIXELS, MAX_PIXELS, Rgb8, decode_image};
pub use kind::{MediaKind, Sense};
