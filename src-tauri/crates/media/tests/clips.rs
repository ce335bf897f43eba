//! WAVs of every kind, whole and broken.

mod build;

use build::{chunk, extensible, f32s, f64s, format, riff, s16, s32, tone, u8s, wav};
use hangar_media::{MAX_SEGMENT_MS, MediaError, Sound};
use proptest::prelude::*;

const PCM: u16 = 1;
const FLOAT: u16 = 3;
const STREAMED: u32 = u32::MAX;
const LIMIT_MS: u64 = 60_000;

fn decode_audio(bytes: &[u8]) -> Result<Sound, MediaError> {
    hangar_media::decode_audio(bytes, LIMIT_MS)
}

#[test]
fn every_width_of_sample_gives_the_same_tone() {
    let tone = tone(8000);
    let kinds: [(&str, Vec<u8>); 10] = [
        ("u8", wav(&format(PCM, 1, 8), &u8s(&tone))),
        ("s16", wav(&format(PCM, 1, 16), &s16(&tone))),
        ("s24", wav(&format(PCM, 1, 24), &s32(&tone, 3))),
        ("s32", wav(&format(PCM, 1, 32), &s32(&tone, 4))),
        ("f32", wav(&format(FLOAT, 1, 32), &f32s(&tone))),
        ("f32 with a long format", wav(&[format(FLOAT, 1, 32), vec![0, 0]].concat(), &f32s(&tone))),
        ("f64", wav(&format(FLOAT, 1, 64), &f64s(&tone))),
        ("extensible s16", wav(&extensible(1, 16, PCM, &[]), &s16(&tone))),
        ("extensible f32", wav(&extensible(1, 32, FLOAT, &[]), &f32s(&tone))),
        ("extensible with more", wav(&extensible(1, 16, PCM, &[0; 4]), &s16(&tone))),
    ];
    for (name, bytes) in kinds {
        let clip = decode_audio(&bytes).unwrap();
        assert_eq!(clip.samples().len(), 8000, "{name}");
        assert_eq!(clip.duration_ms(), 500, "{name}");
        for (found, expected) in clip.samples().iter().zip(&tone) {
            assert!((f64::from(*found) - expected).abs() < 0.009, "{name}: {found} is not {expected}");
        }
        assert!((rms(&clip) - 0.3535).abs() < 0.004, "{name}: {}", rms(&clip));
    }
}

#[test]
fn silence_of_unsigned_bytes_is_zero() {
    let clip = decode_audio(&wav(&format(PCM, 1, 8), &[0x80; 8001])).unwrap();
    assert_eq!(clip.samples(), [0.0; 8001]);
}

#[test]
fn companded_samples_are_decoded() {
    for (tag, loudest) in [(6, 0xAA), (7, 0x80)] {
        let clip = decode_audio(&wav(&format(tag, 1, 8), &[loudest; 400])).unwrap();
        assert!(clip.samples().iter().all(|sample| *sample > 0.95), "{tag}: {}", clip.samples()[0]);
    }
}

#[test]
fn channels_are_mixed_by_their_mean() {
    let tone = tone(8000);
    let left_only: Vec<f64> = tone.iter().flat_map(|sample| [*sample, 0.0]).collect();
    let clip = decode_audio(&wav(&format(PCM, 2, 16), &s16(&left_only))).unwrap();
    assert_eq!(clip.samples().len(), 8000);
    assert!((rms(&clip) - 0.1768).abs() < 0.001, "{}", rms(&clip));
    let six: Vec<f64> = tone.iter().flat_map(|sample| [*sample; 6]).collect();
    let clip = decode_audio(&wav(&extensible(6, 24, PCM, &[]), &s32(&six, 3))).unwrap();
    assert!((rms(&clip) - 0.3535).abs() < 0.001, "{}", rms(&clip));
}

#[test]
fn base64_holds_little_endian_floats() {
    let mut samples = vec![0.0; 320];
    samples[0] = 1.0;
    samples[1] = -0.5;
    let sound = decode_audio(&wav(&format(FLOAT, 1, 32), &f32s(&samples))).unwrap();
    let [segment] = sound.segments().try_into().unwrap();
    let text = segment.to_base64();
    assert!(text.starts_with("AACAPwAAAL8AAAAA"), "{}", &text[..16]);
    assert_eq!(segment.tokens(), 1, "320 samples and as much silence");
    assert_eq!(text.len(), (640 * 4usize).div_ceil(3) * 4);
}

#[test]
fn floats_out_of_range_are_clamped_and_non_numbers_refused() {
    let mut samples = vec![0.0; 400];
    samples[3] = 7.5;
    samples[4] = -1.0001;
    let clip = decode_audio(&wav(&format(FLOAT, 1, 32), &f32s(&samples))).unwrap();
    assert_eq!(clip.samples()[3..5], [1.0, -1.0]);
    for strange in [f64::NAN, f64::INFINITY] {
        samples[5] = strange;
        let result = decode_audio(&wav(&format(FLOAT, 1, 32), &f32s(&samples)));
        assert!(matches!(result, Err(MediaError::AudioDamaged { .. })), "{result:?}");
    }
}

#[test]
fn length_that_a_pipe_writer_left_behind_is_not_believed() {
    let samples = s16(&tone(8000));
    for (riff, data) in [(STREAMED, STREAMED), (0x7FFF_F024, 0x7FFF_F000), (STREAMED, 0), (0, 0)] {
        let mut bytes = wav(&format(PCM, 1, 16), &samples);
        bytes[4..8].copy_from_slice(&riff.to_le_bytes());
        bytes[40..44].copy_from_slice(&data.to_le_bytes());
        assert_eq!(decode_audio(&bytes).unwrap().samples().len(), 8000, "{riff:x} {data:x}");
        bytes.push(1);
        assert_eq!(decode_audio(&bytes).unwrap().samples().len(), 8000, "half a sample more");
    }
}

#[test]
fn chunks_of_other_kinds_are_passed_over() {
    let body = [
        chunk(*b"JUNK", &[0; 27]),
        chunk(*b"fmt ", &format(PCM, 1, 16)),
        chunk(*b"bext", &[b'x'; 603]),
        chunk(*b"LIST", b"INFOISFT\x05\0\0\0abcde"),
        chunk(*b"data", &s16(&tone(8000))),
        chunk(*b"LIST", b"INFO"),
    ];
    assert_eq!(decode_audio(&riff(&body.concat())).unwrap().samples().len(), 8000);
}

#[test]
fn clip_cut_short_names_both_lengths() {
    let whole = wav(&format(PCM, 1, 16), &s16(&tone(8000)));
    for length in [44, 45, 1000, whole.len() - 1] {
        assert_eq!(
            decode_audio(&whole[..length]),
            Err(MediaError::AudioCutShort { promised_bytes: 16_000, found_bytes: length - 44 })
        );
    }
    for length in 1..44 {
        assert!(decode_audio(&whole[..length]).is_err(), "{length}");
    }
}

#[test]
fn other_rates_are_resampled_to_the_sample() {
    for (rate_hz, frames) in
        [(8000, 4000), (11_025, 5513), (22_050, 11_025), (44_100, 22_050), (48_000, 24_000), (96_000, 48_000)]
    {
        let tone: Vec<f64> = (0..frames)
            .map(|at| 0.5 * (std::f64::consts::TAU * 440.0 * f64::from(at) / f64::from(rate_hz)).sin())
            .collect();
        let mut bytes = wav(&format(PCM, 1, 16), &s16(&tone));
        bytes[24..28].copy_from_slice(&u32::to_le_bytes(rate_hz));
        let clip = decode_audio(&bytes).unwrap();
        let expected = (f64::from(frames) * 16_000.0 / f64::from(rate_hz)).round() as usize;
        assert_eq!(clip.samples().len(), expected, "{rate_hz}");
        assert!((rms(&clip) - 0.3535).abs() < 0.004, "{rate_hz}: {}", rms(&clip));
        // In the middle it is the same tone at the same moment, to a sample.
        for at in 2000..6000 {
            let found = f64::from(clip.samples()[at]);
            let wanted = 0.5 * (std::f64::consts::TAU * 440.0 * at as f64 / 16_000.0).sin();
            assert!((found - wanted).abs() < 0.09, "{rate_hz} at {at}: {found} is not {wanted}");
        }
    }
}

#[test]
fn what_is_too_high_to_hear_does_not_come_back_as_something_else() {
    let high: Vec<f64> = (0..48_000)
        .map(|at| 0.5 * (std::f64::consts::TAU * 15_000.0 * f64::from(at) / 48_000.0).sin())
        .collect();
    let mut bytes = wav(&format(PCM, 1, 16), &s16(&high));
    bytes[24..28].copy_from_slice(&48_000_u32.to_le_bytes());
    let clip = decode_audio(&bytes).unwrap();
    assert!(rms(&clip) < 0.02, "{}", rms(&clip));
}

#[test]
fn rates_of_no_recording_are_refused_with_figures() {
    for rate_hz in [1, 3999, 384_001, u32::MAX] {
        let mut bytes = wav(&format(PCM, 1, 16), &s16(&tone(8000)));
        bytes[24..28].copy_from_slice(&rate_hz.to_le_bytes());
        let error = decode_audio(&bytes).unwrap_err();
        assert_eq!(error, MediaError::AudioRate { rate_hz, least_hz: 4000, most_hz: 384_000 });
        assert!(error.to_string().contains(&format!("{rate_hz} Hz")));
    }
}

#[test]
fn length_limits_are_met_to_the_sample() {
    let clip_of = |samples: usize| decode_audio(&wav(&format(PCM, 1, 16), &vec![0; samples * 2]));
    assert_eq!(clip_of(0), Err(MediaError::AudioTooShort { found_ms: 0, least_ms: 20 }));
    assert_eq!(clip_of(319), Err(MediaError::AudioTooShort { found_ms: 19, least_ms: 20 }));
    assert_eq!(clip_of(320).unwrap().duration_ms(), 20);
    assert_eq!(clip_of(480_000).unwrap().segments().len(), 1);
    assert_eq!(clip_of(480_001).unwrap().segments().len(), 2);
    assert_eq!(clip_of(480_000).unwrap().duration_ms(), MAX_SEGMENT_MS);
    assert_eq!(clip_of(960_000).unwrap().duration_ms(), LIMIT_MS);
    let refusal = MediaError::AudioTooLong { found_ms: 61_000, limit_ms: LIMIT_MS };
    assert_eq!(clip_of(976_000), Err(refusal));
}

#[test]
fn broken_headers_are_refused() {
    let samples = s16(&tone(8000));
    let damaged: [(&str, Vec<u8>); 6] = [
        ("no samples", riff(&chunk(*b"fmt ", &format(PCM, 1, 16)))),
        ("samples first", riff(&[chunk(*b"data", &samples), chunk(*b"fmt ", &format(PCM, 1, 16))].concat())),
        ("no channels", wav(&format(PCM, 0, 16), &samples)),
        ("short format", wav(&format(PCM, 1, 16)[..15], &samples)),
        ("short extension", wav(&extensible(1, 16, PCM, &[])[..39], &samples)),
        ("no rate", {
            let mut bytes = wav(&format(PCM, 1, 16), &samples);
            bytes[24..28].fill(0);
            bytes
        }),
    ];
    for (name, bytes) in damaged {
        let result = decode_audio(&bytes);
        assert!(matches!(result, Err(MediaError::AudioDamaged { .. })), "{name}: {result:?}");
    }
    for (tag, bits) in [(PCM, 0), (PCM, 12), (PCM, 64), (FLOAT, 16), (2, 4), (0x55, 16)] {
        let result = decode_audio(&wav(&format(tag, 1, bits), &samples));
        assert_eq!(result, Err(MediaError::AudioCoding { tag, bits }));
    }
    let result = decode_audio(&wav(&format(PCM, 9, 16), &samples));
    assert_eq!(result, Err(MediaError::AudioChannels { channels: 9, limit: 8 }));
    assert_eq!(decode_audio(&[]), Err(MediaError::Empty));
    for bytes in [&b"%PDF-1.4\n"[..], b"RIFF", b"RIFF\0\0\0\0AVI LIST", b"GIF89a"] {
        assert_eq!(decode_audio(bytes), Err(MediaError::AudioUnknown));
    }
}

proptest! {
    #[test]
    fn no_damage_makes_the_decoder_panic(
        changes in prop::collection::vec((0usize..70, any::<u8>()), 1..6),
        length in 0usize..1000,
    ) {
        for fmt in [format(PCM, 2, 16), extensible(1, 24, PCM, &[])] {
            let mut bytes = wav(&fmt, &[3; 1000]);
            for (at, with) in &changes {
                bytes[*at] = *with;
            }
            let _ = decode_audio(&bytes);
            let _ = decode_audio(&bytes[..length]);
        }
    }
}

fn rms(clip: &Sound) -> f64 {
    let sum: f64 = clip.samples().iter().map(|sample| f64::from(*sample).powi(2)).sum();
    (sum / clip.samples().len() as f64).sqrt()
}
