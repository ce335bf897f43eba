//! The chunks of a WAV file. Written here because the decoding library's own reader panics on some broken
//! headers and refuses lengths that writers to a pipe leave behind.

use crate::MediaError;

/// Writers that cannot go back to fill in a length leave one of this size or more.
const PLACEHOLDER_BYTES: usize = 0x7FFF_0000;
const EXTENSIBLE: u16 = 0xFFFE;
/// What follows the format tag in the sub-format identifier of PCM, float and the like.
const SUB_FORMAT_TAIL: &[u8] = &[0, 0, 0, 0, 0x10, 0, 0x80, 0, 0, 0xAA, 0, 0x38, 0x9B, 0x71];

/// What a WAV says about its samples, and their bytes.
#[derive(Debug, PartialEq)]
pub(crate) struct Wav<'a> {
    pub(crate) tag: u16,
    pub(crate) channels: u16,
    pub(crate) rate_hz: u32,
    pub(crate) bits: u16,
    pub(crate) samples: &'a [u8],
}

/// Finds format and samples; chunks of other kinds are passed over.
pub(crate) fn read(bytes: &[u8]) -> Result<Wav<'_>, MediaError> {
    let header = bytes.get(..12).ok_or(MediaError::AudioUnknown)?;
    if !header.starts_with(b"RIFF") || !header.ends_with(b"WAVE") {
        return Err(MediaError::AudioUnknown);
    }
    let riff_bytes = length(&header[4..8]);
    let mut format = None;
    let mut rest = &bytes[12..];
    while rest.len() >= 8 {
        let (head, body) = rest.split_at(8);
        let promised_bytes = length(&head[4..]);
        if head.starts_with(b"data") {
            let Some(format) = format else {
                return Err(MediaError::AudioDamaged { what: "samples come before their format" });
            };
            let samples = samples(body, promised_bytes, riff_bytes)?;
            return describe(format, samples);
        }
        let Some(chunk) = body.get(..promised_bytes) else {
            break;
        };
        if head.starts_with(b"fmt ") {
            format = Some(chunk);
        }
        rest = body.get(promised_bytes + promised_bytes % 2..).unwrap_or_default();
    }
    Err(MediaError::AudioDamaged { what: "no samples are there" })
}

fn samples(body: &[u8], promised_bytes: usize, riff_bytes: usize) -> Result<&[u8], MediaError> {
    let never_filled_in = promised_bytes == 0 && (riff_bytes == 0 || riff_bytes >= PLACEHOLDER_BYTES);
    if never_filled_in {
        return Ok(body);
    }
    match body.get(..promised_bytes) {
        Some(samples) => Ok(samples),
        None if promised_bytes >= PLACEHOLDER_BYTES => Ok(body),
        None => Err(MediaError::AudioCutShort { promised_bytes, found_bytes: body.len() }),
    }
}

fn describe<'a>(format: &[u8], samples: &'a [u8]) -> Result<Wav<'a>, MediaError> {
    let short = MediaError::AudioDamaged { what: "its format chunk is too short" };
    if format.len() < 16 {
        return Err(short);
    }
    let number = |at: usize| u16::from_le_bytes([format[at], format[at + 1]]);
    let mut tag = number(0);
    let bits = number(14);
    if tag == EXTENSIBLE {
        let sub_format = format.get(24..40).ok_or(short)?;
        if &sub_format[2..] != SUB_FORMAT_TAIL {
            return Err(MediaError::AudioCoding { tag, bits });
        }
        tag = u16::from_le_bytes([sub_format[0], sub_format[1]]);
    }
    let rate_hz = u32::from_le_bytes([format[4], format[5], format[6], format[7]]);
    Ok(Wav { tag, channels: number(2), rate_hz, bits, samples })
}

fn length(bytes: &[u8]) -> usize {
    bytes.iter().rev().fold(0, |sum, byte| sum << 8 | usize::from(*byte))
}
