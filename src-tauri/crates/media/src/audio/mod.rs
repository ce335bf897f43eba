//! Sound to mono samples at the model's rate, cut into the clips that its tower hears.

mod compressed;
mod intake;
mod pcm;
mod segments;
mod wav;

use base64::{Engine, engine::general_purpose::STANDARD};

use crate::{MediaError, MediaKind};
use intake::Intake;

/// Samples a second, as the model hears them.
pub const SAMPLE_RATE_HZ: u32 = 16_000;
/// Shortest clip in milliseconds: below it the model's audio tower has no frame to work on.
pub const MIN_AUDIO_MS: u64 = 20;
/// Longest clip in milliseconds that the model's audio tower hears at once; longer sound is cut.
pub const MAX_SEGMENT_MS: u64 = 30_000;

/// Sound as the model hears it: mono, 16 kHz, every sample in -1..1, at least [`MIN_AUDIO_MS`] long.
#[derive(Clone, PartialEq)]
pub struct Sound {
    samples: Vec<f32>,
}

/// A stretch of sound as a worker takes it: at most [`MAX_SEGMENT_MS`] long, with silence behind it up to a whole
/// number of tokens.
#[derive(Clone, PartialEq)]
pub struct Segment {
    samples: Vec<f32>,
}

impl Sound {
    /// The samples.
    pub fn samples(&self) -> &[f32] {
        &self.samples
    }

    /// Duration in milliseconds, rounded down.
    pub fn duration_ms(&self) -> u64 {
        duration_ms(self.samples.len() as u64, SAMPLE_RATE_HZ)
    }

    /// All of it in order, cut where it is quiet.
    pub fn segments(&self) -> Vec<Segment> {
        let cuts = segments::cuts(&self.samples);
        cuts.into_iter().map(|range| Segment { samples: segments::padded(&self.samples[range]) }).collect()
    }
}

impl Segment {
    /// The samples with the silence behind them.
    pub fn samples(&self) -> &[f32] {
        &self.samples
    }

    /// Tokens that it takes in a prompt, without the marker at each end.
    pub fn tokens(&self) -> u32 {
        u32::try_from(self.samples.len() / segments::SAMPLES_PER_TOKEN).unwrap_or(u32::MAX)
    }

    /// Duration in milliseconds, the silence behind it included, rounded down.
    pub fn duration_ms(&self) -> u64 {
        self.samples.len() as u64 * 1000 / u64::from(SAMPLE_RATE_HZ)
    }

    /// The samples as little-endian 32-bit floats in base64.
    pub fn to_base64(&self) -> String {
        // Whole groups of three bytes at a time, so that no second copy of everything is made.
        const SAMPLES_AT_ONCE: usize = 3 * 1024;
        let mut text = String::with_capacity(self.samples.len() * 16 / 3 + 4);
        let mut bytes = Vec::with_capacity(SAMPLES_AT_ONCE * 4);
        for samples in self.samples.chunks(SAMPLES_AT_ONCE) {
            bytes.clear();
            bytes.extend(samples.iter().flat_map(|sample| sample.to_le_bytes()));
            STANDARD.encode_string(&bytes, &mut text);
        }
        text
    }
}

impl std::fmt::Debug for Sound {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "Sound({} ms)", self.duration_ms())
    }
}

impl std::fmt::Debug for Segment {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "Segment({} tokens)", self.tokens())
    }
}

/// Decodes sound of any kind that is heard; several channels are mixed to one, other rates are resampled.
///
/// Memory grows with what is kept, at most `limit_ms` of sound, never with what a header promises.
///
/// # Errors
/// [`MediaError`] when the bytes are no sound, are damaged or cut short, are coded in a way that is not read, or
/// last less than [`MIN_AUDIO_MS`] or more than `limit_ms`.
pub fn decode_audio(bytes: &[u8], limit_ms: u64) -> Result<Sound, MediaError> {
    if bytes.is_empty() {
        return Err(MediaError::Empty);
    }
    let intake = Intake::new(limit_ms);
    let samples = match MediaKind::of(bytes) {
        Some(MediaKind::Wav) => pcm::decode(bytes, intake)?,
        Some(MediaKind::Mp3 | MediaKind::Mp4 | MediaKind::Aac | MediaKind::Flac | MediaKind::Ogg) => {
            compressed::decode(bytes, intake)?
        }
        Some(MediaKind::Png | MediaKind::Jpeg | MediaKind::Webp) | None => {
            return Err(MediaError::AudioUnknown);
        }
    };
    let found_ms = duration_ms(samples.len() as u64, SAMPLE_RATE_HZ);
    if found_ms < MIN_AUDIO_MS {
        return Err(MediaError::AudioTooShort { found_ms, least_ms: MIN_AUDIO_MS });
    }
    Ok(Sound { samples })
}

fn duration_ms(frames: u64, rate_hz: u32) -> u64 {
    let ms = u128::from(frames) * 1000 / u128::from(rate_hz.max(1));
    u64::try_from(ms).unwrap_or(u64::MAX)
}
