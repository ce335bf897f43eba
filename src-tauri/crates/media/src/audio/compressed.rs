//! MP3, AAC, FLAC and Vorbis to samples, packet by packet.

use std::io::{Cursor, ErrorKind};
use std::panic::{AssertUnwindSafe, catch_unwind};

use symphonia::core::codecs::audio::AudioDecoderOptions;
use symphonia::core::errors::Error;
use symphonia::core::formats::probe::Hint;
use symphonia::core::formats::{FormatOptions, FormatReader, TrackType};
use symphonia::core::io::{MediaSourceStream, MediaSourceStreamOptions};
use symphonia::core::meta::MetadataOptions;
use symphonia::core::units::TimeBase;

use super::duration_ms;
use super::intake::{Intake, Room};
use crate::MediaError;

/// Packets whose length is still added up beyond the limit, for the figure in the refusal: hours of sound.
const COUNTED_PACKETS: u32 = 1_000_000;
/// Of so many packets one may be broken; recordings that were cut out of a stream begin with one.
const WHOLE_FOR_A_BROKEN_PACKET: u32 = 16;

/// Decodes a whole file.
pub(super) fn decode(bytes: &[u8], intake: Intake) -> Result<Vec<f32>, MediaError> {
    // Damaged headers make some of the library's readers panic.
    catch_unwind(AssertUnwindSafe(|| decode_or_panic(bytes, intake)))
        .unwrap_or(Err(MediaError::AudioDamaged { what: "its structure contradicts itself" }))
}

fn decode_or_panic(bytes: &[u8], mut intake: Intake) -> Result<Vec<f32>, MediaError> {
    let stream = MediaSourceStream::new(Box::new(Cursor::new(bytes)), MediaSourceStreamOptions::default());
    let probe = symphonia::default::get_probe();
    let mut reader = probe
        .probe(&Hint::new(), stream, FormatOptions::default(), MetadataOptions::default())
        .map_err(|error| damage(&error, "it holds no sound that can be read"))?;
    let track = reader
        .default_track(TrackType::Audio)
        .ok_or(MediaError::AudioDamaged { what: "it holds no sound track" })?;
    let (track_id, time_base) = (track.id, track.time_base);
    let parameters = track.codec_params.as_ref().and_then(|parameters| parameters.audio());
    let parameters = parameters.ok_or(MediaError::AudioCodec)?;
    let mut decoder = symphonia::default::get_codecs()
        .make_audio_decoder(parameters, &AudioDecoderOptions::default())
        .map_err(|error| {
            let unread = matches!(error, Error::Unsupported(_));
            if unread { MediaError::AudioCodec } else { damage(&error, "its coding is described wrongly") }
        })?;
    let mut samples: Vec<f32> = Vec::new();
    let (mut whole, mut broken) = (0_u32, 0_u32);
    while let Some(packet) =
        reader.next_packet().map_err(|error| damage(&error, "its packets cannot be told apart"))?
    {
        if packet.track_id != track_id {
            continue;
        }
        let decoded = match decoder.decode(&packet) {
            Ok(decoded) => decoded,
            Err(Error::DecodeError(_) | Error::IoError(_)) => {
                broken += 1;
                continue;
            }
            Err(error) => return Err(damage(&error, "it cannot be decoded")),
        };
        whole += 1;
        let (channels, rate_hz) = (decoded.spec().channels().count(), decoded.spec().rate());
        decoded.copy_to_vec_interleaved(&mut samples);
        if intake.take(&samples, channels, rate_hz)? == Room::Full {
            let heard_ms = duration_ms(intake.frames(), rate_hz);
            let found_ms = heard_ms.saturating_add(rest_ms(reader.as_mut(), track_id, time_base));
            return Err(MediaError::AudioTooLong { found_ms, limit_ms: intake.limit_ms() });
        }
    }
    if broken > 1 + whole / WHOLE_FOR_A_BROKEN_PACKET || whole == 0 {
        return Err(MediaError::AudioDamaged { what: "its packets cannot be decoded" });
    }
    intake.finish()
}

/// How long the rest lasts, told by its packets without decoding them.
fn rest_ms(reader: &mut dyn FormatReader, track_id: u32, time_base: Option<TimeBase>) -> u64 {
    let Some(time_base) = time_base else { return 0 };
    let mut ticks = 0_u64;
    for _ in 0..COUNTED_PACKETS {
        let Ok(Some(packet)) = reader.next_packet() else { break };
        if packet.track_id == track_id {
            ticks = ticks.saturating_add(packet.dur.get());
        }
    }
    let ms = u128::from(ticks) * 1000 * u128::from(time_base.numer.get()) / u128::from(time_base.denom.get());
    u64::try_from(ms).unwrap_or(u64::MAX)
}

fn damage(error: &Error, otherwise: &'static str) -> MediaError {
    let what = if let Error::DecodeError(what) | Error::Unsupported(what) | Error::LimitError(what) = error {
        what
    } else if matches!(error, Error::IoError(error) if error.kind() == ErrorKind::UnexpectedEof) {
        "its data ends early"
    } else {
        otherwise
    };
    MediaError::AudioDamaged { what }
}
