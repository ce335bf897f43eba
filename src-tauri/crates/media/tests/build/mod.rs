//! WAVs put together by hand.

/// A RIFF file of these chunks.
pub fn riff(body: &[u8]) -> Vec<u8> {
    let length = (4 + body.len() as u32).to_le_bytes();
    [&b"RIFF"[..], &length, b"WAVE", body].concat()
}

/// One chunk, padded to an even length.
pub fn chunk(name: [u8; 4], body: &[u8]) -> Vec<u8> {
    let mut bytes = [&name[..], &(body.len() as u32).to_le_bytes(), body].concat();
    bytes.extend(vec![0; body.len() % 2]);
    bytes
}

/// A WAV with this format and these samples.
pub fn wav(format: &[u8], samples: &[u8]) -> Vec<u8> {
    riff(&[chunk(*b"fmt ", format), chunk(*b"data", samples)].concat())
}

/// A format chunk for 16 kHz.
pub fn format(tag: u16, channels: u16, bits: u16) -> Vec<u8> {
    let frame_bytes = channels * (bits / 8);
    let mut bytes = [tag.to_le_bytes(), channels.to_le_bytes()].concat();
    bytes.extend(16_000u32.to_le_bytes());
    bytes.extend((16_000 * u32::from(frame_bytes)).to_le_bytes());
    bytes.extend(frame_bytes.to_le_bytes());
    bytes.extend(bits.to_le_bytes());
    bytes
}

/// An extensible format chunk; `tag` is that of its sub-format.
pub fn extensible(channels: u16, bits: u16, tag: u16, more: &[u8]) -> Vec<u8> {
    let mut bytes = format(0xFFFE, channels, bits);
    bytes.extend((22 + more.len() as u16).to_le_bytes());
    bytes.extend(bits.to_le_bytes());
    bytes.extend(((1u32 << channels) - 1).to_le_bytes());
    bytes.extend(tag.to_le_bytes());
    bytes.extend([0, 0, 0, 0, 0x10, 0, 0x80, 0, 0, 0xAA, 0, 0x38, 0x9B, 0x71]);
    bytes.extend(more);
    bytes
}

/// A 440 Hz tone of half the full amplitude.
pub fn tone(samples: usize) -> Vec<f64> {
    (0..samples).map(|at| 0.5 * (std::f64::consts::TAU * 440.0 * at as f64 / 16_000.0).sin()).collect()
}

/// Samples as unsigned bytes.
pub fn u8s(samples: &[f64]) -> Vec<u8> {
    samples.iter().map(|sample| ((sample * 127.0).round() + 128.0) as u8).collect()
}

/// Samples as 16-bit integers.
pub fn s16(samples: &[f64]) -> Vec<u8> {
    samples.iter().flat_map(|sample| ((sample * 32_767.0).round() as i16).to_le_bytes()).collect()
}

/// Samples as integers of three or four bytes.
pub fn s32(samples: &[f64], width_bytes: usize) -> Vec<u8> {
    samples
        .iter()
        .flat_map(|sample| ((sample * 2_147_483_647.0) as i32).to_le_bytes()[4 - width_bytes..].to_vec())
        .collect()
}

/// Samples as 32-bit floats.
pub fn f32s(samples: &[f64]) -> Vec<u8> {
    samples.iter().flat_map(|sample| (*sample as f32).to_le_bytes()).collect()
}

/// Samples as 64-bit floats.
pub fn f64s(samples: &[f64]) -> Vec<u8> {
    samples.iter().flat_map(|sample| sample.to_le_bytes()).collect()
}
