//! Files of other encoders: sound in every format, pictures of every kind.
#![expect(clippy::unwrap_used, reason = "reading a file of ours may only fail the test")]
#![expect(clippy::disallowed_types, reason = "how long damage keeps a decoder busy is what is tested")]

use std::path::Path;
use std::time::{Duration, Instant};

use hangar_media::{KEPT_PIXELS, MediaError, MediaKind, Rgb8, Sound, decode_audio, decode_image};
use proptest::prelude::*;

const LIMIT_MS: u64 = 600_000;
const SOUNDS: [&str; 5] = ["tone.mp3", "tone.m4a", "tone.aac", "tone.flac", "tone.ogg"];

fn file(name: &str) -> Vec<u8> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../tests/fixtures/media");
    std::fs::read(folder.join(name)).unwrap()
}

fn sound(name: &str) -> Sound {
    decode_audio(&file(name), LIMIT_MS).unwrap_or_else(|error| panic!("{name}: {error}"))
}

fn rms(samples: &[f32]) -> f64 {
    (samples.iter().map(|sample| f64::from(*sample).powi(2)).sum::<f64>() / samples.len() as f64).sqrt()
}

#[test]
fn a_tone_is_the_same_in_every_format() {
    for name in SOUNDS {
        let tone = sound(name);
        let off_ms = tone.duration_ms().abs_diff(500);
        assert!(off_ms <= 60, "{name}: {} ms", tone.duration_ms());
        let middle = &tone.samples()[1600..6400];
        assert!((rms(middle) - 0.3535).abs() < 0.0354, "{name}: {}", rms(middle));
        let crossings = middle.windows(2).filter(|pair| pair[0] < 0.0 && pair[1] >= 0.0).count();
        assert!((131..=133).contains(&crossings), "{name}: {crossings} waves in 300 ms");
    }
}

#[test]
fn a_coding_that_is_not_read_is_told_with_those_that_are() {
    let refusal = decode_audio(&file("opus.ogg"), LIMIT_MS);
    assert_eq!(refusal, Err(MediaError::AudioCodec));
}

#[test]
fn words_at_40_seconds_of_45_are_in_the_second_segment() {
    let long = sound("words_45s.m4a");
    assert!(long.duration_ms().abs_diff(45_000) < 60, "{}", long.duration_ms());
    let segments = long.segments();
    let [first, second] = segments.as_slice() else { panic!("{segments:?}") };
    let loudest = |samples: &[f32]| samples.iter().fold(0.0_f32, |most, sample| most.max(sample.abs()));
    assert!(loudest(first.samples()) > 0.3 && loudest(second.samples()) > 0.3);
    assert!(first.tokens() + second.tokens() >= 1125, "{} and {}", first.tokens(), second.tokens());
}

#[test]
fn sound_over_the_limit_is_told_with_both_figures() {
    for (name, whole_ms) in [
        ("words_45s.m4a", 45_000),
        ("tone.mp3", 500),
        ("tone.flac", 500),
        ("tone.ogg", 500),
        ("tone.aac", 500),
    ] {
        let limit_ms = 400;
        let Err(MediaError::AudioTooLong { found_ms, limit_ms: told_ms }) =
            decode_audio(&file(name), limit_ms)
        else {
            panic!("{name} is not too long")
        };
        assert_eq!(told_ms, limit_ms);
        assert!(found_ms.abs_diff(whole_ms) < 130, "{name}: {found_ms} ms");
    }
}

#[test]
fn a_file_cut_anywhere_is_refused_or_heard_as_far_as_it_goes() {
    for name in SOUNDS {
        let whole = file(name);
        for share in 0..20 {
            let cut = &whole[..whole.len() * share / 20];
            match decode_audio(cut, LIMIT_MS) {
                Ok(tone) => assert!(tone.duration_ms() <= 560, "{name} at {share}/20: {tone:?}"),
                Err(error) => assert!(error.to_string().len() < 300, "{name}: {error}"),
            }
        }
        assert!(decode_audio(&whole[..40], LIMIT_MS).is_err(), "{name}");
    }
    let m4a = file("tone.m4a");
    let result = decode_audio(&m4a[..m4a.len() / 2], LIMIT_MS);
    assert!(matches!(result, Err(MediaError::AudioDamaged { .. })), "{result:?}");
}

#[test]
fn hours_of_silence_in_a_small_file_are_refused_before_they_are_made() {
    let small = silent_flac(0xFFFF, 2000);
    assert!(small.len() < 64 * 1024, "{}", small.len());
    let began = Instant::now();
    let result = decode_audio(&small, LIMIT_MS);
    let Err(MediaError::AudioTooLong { found_ms, .. }) = result else { panic!("{result:?}") };
    assert!(found_ms > 4 * 3_600_000, "{found_ms}");
    assert!(began.elapsed() < Duration::from_secs(5), "{:?}", began.elapsed());
}

#[test]
fn pictures_stand_upright_whatever_way_the_camera_was_held() {
    let (red, blue) = ([255, 0, 0], [0, 0, 255]);
    for (name, size, first, last) in [
        ("turned_1.jpg", (64, 32), red, blue),
        ("turned_3.jpg", (64, 32), blue, red),
        ("turned_6.jpg", (32, 64), red, blue),
        ("turned_8.jpg", (32, 64), blue, red),
    ] {
        let picture = decode_image(&file(name)).unwrap();
        assert_eq!((picture.width(), picture.height()), size, "{name}");
        near(name, &picture, 0, first);
        near(name, &picture, picture.pixels().len() / 3 - 1, last);
    }
}

#[test]
fn odd_kinds_of_pixels_have_their_colours() {
    for (name, colour) in [
        ("cmyk.jpg", [255, 0, 0]),
        ("grey.jpg", [77, 77, 77]),
        ("green.webp", [10, 200, 30]),
        ("lossy.webp", [10, 200, 30]),
        ("clear.webp", [255, 255, 255]),
    ] {
        let picture = decode_image(&file(name)).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!((picture.width(), picture.height()), (8, 8), "{name}");
        near(name, &picture, 0, colour);
        near(name, &picture, 63, colour);
    }
}

#[test]
fn a_photo_is_scaled_down_in_its_shape() {
    let photo = decode_image(&file("photo_12mp.jpg")).unwrap();
    let pixels = u64::from(photo.width()) * u64::from(photo.height());
    assert!(pixels <= KEPT_PIXELS && pixels > KEPT_PIXELS * 9 / 10, "{photo:?}");
    let shape = f64::from(photo.width()) / f64::from(photo.height());
    assert!((shape - 4.0 / 3.0).abs() < 0.002, "{photo:?}");
    assert_eq!(photo.pixels().len() as u64, pixels * 3);
}

#[test]
fn a_picture_cut_short_is_refused() {
    for name in ["turned_1.jpg", "photo_12mp.jpg", "green.webp"] {
        let whole = file(name);
        let cut = &whole[..(whole.len() / 2).min(400)];
        let result = decode_image(cut);
        assert!(matches!(result, Err(MediaError::ImageDamaged { .. })), "{name}: {result:?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]
    #[test]
    fn no_damage_makes_a_decoder_panic_or_wait(
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..12),
        header in prop::collection::vec((0usize..160, any::<u8>()), 0..6),
    ) {
        for name in SOUNDS.into_iter().chain(["turned_6.jpg", "green.webp", "lossy.webp"]) {
            let mut bytes = file(name);
            for (at, with) in &changes {
                let at = at.index(bytes.len());
                bytes[at] = *with;
            }
            for (at, with) in &header {
                let at = at % bytes.len();
                bytes[at] = *with;
            }
            let began = Instant::now();
            match MediaKind::of(&bytes).map(MediaKind::sense) {
                Some(hangar_media::Sense::Hearing) => drop(decode_audio(&bytes, LIMIT_MS)),
                Some(hangar_media::Sense::Sight) | None => drop(decode_image(&bytes)),
            }
            prop_assert!(began.elapsed() < Duration::from_secs(10), "{}", name);
        }
    }
}

fn near(name: &str, picture: &Rgb8, pixel: usize, colour: [u8; 3]) {
    let found = &picture.pixels()[pixel * 3..pixel * 3 + 3];
    let is_near = found.iter().zip(colour).all(|(found, wanted)| found.abs_diff(wanted) <= 3);
    assert!(is_near, "{name}, pixel {pixel}: {found:?} is not {colour:?}");
}

/// FLAC frames of one constant sample value each, at 8 kHz.
fn silent_flac(block: u16, frames: u32) -> Vec<u8> {
    let mut bytes = b"fLaC".to_vec();
    bytes.extend([0x80, 0, 0, 34]);
    bytes.extend(block.to_be_bytes());
    bytes.extend(block.to_be_bytes());
    bytes.extend([0; 6]);
    // 20 bits of rate, 3 of channels less one, 5 of bits less one, 36 of samples.
    let packed = (8000_u64 << 44) | (15 << 36);
    bytes.extend(packed.to_be_bytes());
    bytes.extend([0; 16]);
    for number in 0..frames {
        let mut frame = vec![0xFF, 0xF8, 0x74, 0x08];
        frame.extend(char::from_u32(number).unwrap().to_string().as_bytes());
        frame.extend((block - 1).to_be_bytes());
        frame.push(crc(&frame, 0x07, 8) as u8);
        frame.extend([0, 0, 0]);
        let check = crc(&frame, 0x8005, 16) as u16;
        frame.extend(check.to_be_bytes());
        bytes.extend(frame);
    }
    bytes
}

fn crc(bytes: &[u8], polynomial: u32, bits: u32) -> u32 {
    let top = 1 << (bits - 1);
    let mask = (1_u32 << bits) - 1;
    bytes.iter().fold(0, |mut crc, byte| {
        crc ^= u32::from(*byte) << (bits - 8);
        for _ in 0..8 {
            crc = if crc & top == 0 { crc << 1 } else { (crc << 1) ^ polynomial };
        }
        crc & mask
    })
}
