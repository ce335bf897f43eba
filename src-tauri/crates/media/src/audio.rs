//! Audio to mono samples at the model's rate.

use base64::{Engine, engine::general_purpose::STANDARD};
use symphonia::core::audio::{Channels, SampleBuffer};
use symphonia::core::codecs::{
    CODEC_TYPE_PCM_ALAW, CODEC_TYPE_PCM_F32LE, CODEC_TYPE_PCM_F64LE, CODEC_TYPE_PCM_MULAW,
    CODEC_TYPE_PCM_S16LE, CODEC_TYPE_PCM_S24LE, CODEC_TYPE_PCM_S32LE, CODEC_TYPE_PCM_U8, CodecParameters,
    CodecType, Decoder, DecoderOptions,
};
use symphonia::core::formats::Packet;
use symphonia::default::codecs::PcmDecoder;

use crate::wav::{self, Wav};
use crate::{MediaError, check_size};

/// Samples a second, as the model hears them.
pub const SAMPLE_RATE_HZ: u32 = 16_000;
/// Shortest clip in milliseconds: below it the model's audio tower has no frame to work on.
pub const MIN_AUDIO_MS: u64 = 20;
/// Longest clip in milliseconds: the model's audio tower hears no further.
pub const MAX_AUDIO_MS: u64 = 30_000;
const MAX_FRAMES: usize = 480_000;
const MAX_CHANNELS: u16 = 8;
const FRAMES_PER_PACKET: usize = 4096;

/// A clip as a worker takes it: mono, 16 kHz, every sample in -1..1.
#[derive(Clone, PartialEq)]
pub struct Pcm16k {
    samples: Vec<f32>,
}

impl Pcm16k {
    /// The samples.
    pub fn samples(&self) -> &[f32] {
        &self.samples
    }

    /// Duration in milliseconds, rounded down.
    pub fn duration_ms(&self) -> u64 {
        duration_ms(self.samples.len())
    }

    /// The samples as little-endian 32-bit floats in base64.
    pub fn to_base64(&self) -> String {
        let bytes: Vec<u8> = self.samples.iter().flat_map(|sample| sample.to_le_bytes()).collect();
        STANDARD.encode(bytes)
    }
}

impl std::fmt::Debug for Pcm16k {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "Pcm16k({} ms)", self.duration_ms())
    }
}

/// Decodes a WAV; several channels are mixed to one.
///
/// # Errors
/// [`MediaError`] when the bytes are no WAV, are damaged or cut short, are coded in a way or have a rate that
/// is not taken, or last less than [`MIN_AUDIO_MS`] or more than [`MAX_AUDIO_MS`].
pub fn decode_audio(bytes: &[u8]) -> Result<Pcm16k, MediaError> {
    check_size(bytes)?;
    let wav = wav::read(bytes)?;
    let coding = coding(&wav)?;
    if wav.channels == 0 {
        return Err(MediaError::AudioDamaged { what: "its header says 0 channels" });
    }
    if wav.channels > MAX_CHANNELS {
        return Err(MediaError::AudioChannels { channels: wav.channels, limit: MAX_CHANNELS });
    }
    if wav.rate_hz == 0 {
        return Err(MediaError::AudioDamaged { what: "its header says 0 samples a second" });
    }
    if wav.rate_hz != SAMPLE_RATE_HZ {
        return Err(MediaError::AudioRate { rate_hz: wav.rate_hz, wanted_hz: SAMPLE_RATE_HZ });
    }
    let frame_bytes = usize::from(wav.channels) * usize::from(wav.bits / 8);
    let frames = wav.samples.len() / frame_bytes;
    let found_ms = duration_ms(frames);
    if found_ms < MIN_AUDIO_MS {
        return Err(MediaError::AudioTooShort { found_ms, least_ms: MIN_AUDIO_MS });
    }
    if frames > MAX_FRAMES {
        return Err(MediaError::AudioTooLong { found_ms, limit_ms: MAX_AUDIO_MS });
    }
    let samples = mono(&wav, coding, frame_bytes)?;
    if samples.iter().any(|sample| !sample.is_finite()) {
        return Err(MediaError::AudioDamaged { what: "some of its samples are not numbers" });
    }
    Ok(Pcm16k { samples: samples.into_iter().map(|sample| sample.clamp(-1.0, 1.0)).collect() })
}

fn coding(wav: &Wav<'_>) -> Result<CodecType, MediaError> {
    match (wav.tag, wav.bits) {
        (1, 8) => Ok(CODEC_TYPE_PCM_U8),
        (1, 16) => Ok(CODEC_TYPE_PCM_S16LE),
        (1, 24) => Ok(CODEC_TYPE_PCM_S24LE),
        (1, 32) => Ok(CODEC_TYPE_PCM_S32LE),
        (3, 32) => Ok(CODEC_TYPE_PCM_F32LE),
        (3, 64) => Ok(CODEC_TYPE_PCM_F64LE),
        (6, 8) => Ok(CODEC_TYPE_PCM_ALAW),
        (7, 8) => Ok(CODEC_TYPE_PCM_MULAW),
        (tag, bits) => Err(MediaError::AudioCoding { tag, bits }),
    }
}

fn mono(wav: &Wav<'_>, coding: CodecType, frame_bytes: usize) -> Result<Vec<f32>, MediaError> {
    let unreadable = |_| MediaError::AudioDamaged { what: "its samples cannot be decoded" };
    let channels = Channels::from_bits_truncate((1 << wav.channels) - 1);
    let mut parameters = CodecParameters::new();
    parameters
        .for_codec(coding)
        .with_sample_rate(wav.rate_hz)
        .with_channels(channels)
        .with_bits_per_sample(u32::from(wav.bits))
        .with_bits_per_coded_sample(u32::from(wav.bits))
        .with_max_frames_per_packet(FRAMES_PER_PACKET as u64);
    let mut decoder = PcmDecoder::try_new(&parameters, &DecoderOptions::default()).map_err(unreadable)?;
    let whole_frames = wav.samples.len() / frame_bytes;
    let mut mixed = Vec::with_capacity(whole_frames);
    let share = 1.0 / f32::from(wav.channels);
    let mut buffer = None;
    for bytes in wav.samples[..whole_frames * frame_bytes].chunks(FRAMES_PER_PACKET * frame_bytes) {
        let packet = Packet::new_from_slice(0, 0, (bytes.len() / frame_bytes) as u64, bytes);
        let decoded = decoder.decode(&packet).map_err(unreadable)?;
        let buffer =
            buffer.get_or_insert_with(|| SampleBuffer::<f32>::new(FRAMES_PER_PACKET as u64, *decoded.spec()));
        buffer.copy_interleaved_ref(decoded);
        let frames = buffer.samples().chunks_exact(usize::from(wav.channels));
        mixed.extend(frames.map(|frame| frame.iter().sum::<f32>() * share));
    }
    Ok(mixed)
}

fn duration_ms(frames: usize) -> u64 {
    frames as u64 * 1000 / u64::from(SAMPLE_RATE_HZ)
}
