//! WAV to samples.

use symphonia::core::audio::Channels;
use symphonia::core::codecs::audio::well_known::{
    CODEC_ID_PCM_ALAW, CODEC_ID_PCM_F32LE, CODEC_ID_PCM_F64LE, CODEC_ID_PCM_MULAW, CODEC_ID_PCM_S16LE,
    CODEC_ID_PCM_S24LE, CODEC_ID_PCM_S32LE, CODEC_ID_PCM_U8,
};
use symphonia::core::codecs::audio::{AudioCodecId, AudioCodecParameters, AudioDecoder, AudioDecoderOptions};
use symphonia::core::packet::PacketRef;
use symphonia::core::units::{Duration, Timestamp};
use symphonia::default::codecs::PcmDecoder;

use super::duration_ms;
use super::intake::{Intake, Room};
use super::wav::{self, Wav};
use crate::MediaError;

const FRAMES_AT_ONCE: usize = 4096;

/// Decodes a whole WAV.
pub(super) fn decode(bytes: &[u8], mut intake: Intake) -> Result<Vec<f32>, MediaError> {
    let wav = wav::read(bytes)?;
    let coding = coding(&wav)?;
    // Refuses what no recording has, before a decoder is made for it.
    intake.take(&[], usize::from(wav.channels), wav.rate_hz)?;
    let frame_bytes = usize::from(wav.channels) * usize::from(wav.bits / 8);
    let frames = wav.samples.len() / frame_bytes;
    let found_ms = duration_ms(frames as u64, wav.rate_hz);
    let limit_ms = intake.limit_ms();
    if found_ms > limit_ms {
        return Err(MediaError::AudioTooLong { found_ms, limit_ms });
    }
    let unreadable = |_| MediaError::AudioDamaged { what: "its samples cannot be decoded" };
    let mut decoder = PcmDecoder::try_new(&parameters(&wav, coding), &AudioDecoderOptions::default())
        .map_err(unreadable)?;
    let mut samples: Vec<f32> = Vec::new();
    for bytes in wav.samples[..frames * frame_bytes].chunks(FRAMES_AT_ONCE * frame_bytes) {
        let length = Duration::new((bytes.len() / frame_bytes) as u64);
        let packet = PacketRef::new(0, Timestamp::new(0), length, bytes);
        let decoded = decoder.decode_ref(&packet).map_err(unreadable)?;
        decoded.copy_to_vec_interleaved(&mut samples);
        if intake.take(&samples, usize::from(wav.channels), wav.rate_hz)? == Room::Full {
            return Err(MediaError::AudioTooLong { found_ms, limit_ms });
        }
    }
    intake.finish()
}

fn parameters(wav: &Wav<'_>, coding: AudioCodecId) -> AudioCodecParameters {
    let mut parameters = AudioCodecParameters::new();
    parameters
        .for_codec(coding)
        .with_sample_rate(wav.rate_hz)
        .with_channels(Channels::Discrete(wav.channels))
        .with_max_frames_per_packet(FRAMES_AT_ONCE as u64);
    parameters
}

fn coding(wav: &Wav<'_>) -> Result<AudioCodecId, MediaError> {
    match (wav.tag, wav.bits) {
        (1, 8) => Ok(CODEC_ID_PCM_U8),
        (1, 16) => Ok(CODEC_ID_PCM_S16LE),
        (1, 24) => Ok(CODEC_ID_PCM_S24LE),
        (1, 32) => Ok(CODEC_ID_PCM_S32LE),
        (3, 32) => Ok(CODEC_ID_PCM_F32LE),
        (3, 64) => Ok(CODEC_ID_PCM_F64LE),
        (6, 8) => Ok(CODEC_ID_PCM_ALAW),
        (7, 8) => Ok(CODEC_ID_PCM_MULAW),
        (tag, bits) => Err(MediaError::AudioCoding { tag, bits }),
    }
}
