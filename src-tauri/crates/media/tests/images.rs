//! PNGs of every kind, whole and broken.

use hangar_media::{MAX_PIXELS, MediaError, decode_image};
use proptest::prelude::*;

const GRAY: u8 = 0;
const RGB: u8 = 2;
const PALETTE: u8 = 3;
const RGBA: u8 = 6;

#[test]
fn rgb_pixels_come_out_as_they_went_in() {
    let rows: [&[u8]; 2] = [&[255, 0, 0, 0, 255, 0], &[0, 0, 255, 1, 2, 3]];
    let image = decode_image(&png(2, 2, 8, RGB, &[], &rows)).unwrap();
    assert_eq!((image.width(), image.height()), (2, 2));
    assert_eq!(image.pixels(), rows.concat());
    assert_eq!(image.to_base64(), "/wAAAP8AAAD/AQID");
}

#[test]
fn what_is_transparent_shows_white() {
    let row = [255, 0, 255, 0, 0, 128, 0, 255, 0, 0, 0, 127];
    let image = decode_image(&png(3, 1, 8, RGBA, &[], &[&row])).unwrap();
    assert_eq!(image.pixels(), [255, 255, 255, 0, 128, 0, 128, 128, 128]);
    let palette = [(*b"PLTE", vec![0, 0, 0, 10, 20, 30]), (*b"tRNS", vec![0])];
    let image = decode_image(&png(2, 1, 8, PALETTE, &palette, &[&[0, 1]])).unwrap();
    assert_eq!(image.pixels(), [255, 255, 255, 10, 20, 30]);
}

#[test]
fn sixteen_bit_pixels_keep_their_brightness() {
    let image = decode_image(&png(2, 1, 16, GRAY, &[], &[&[0x9C, 0x40, 0xFF, 0xFF]])).unwrap();
    assert_eq!(image.pixels(), [156, 156, 156, 255, 255, 255]);
    let row = [0xFF, 0xFF, 0, 0, 0x9C, 0x40, 0xFF, 0xFF, 0, 0, 0, 0, 0, 0, 0, 0];
    let image = decode_image(&png(2, 1, 16, RGBA, &[], &[&row])).unwrap();
    assert_eq!(image.pixels(), [255, 0, 156, 255, 255, 255]);
}

#[test]
fn one_bit_pixels_are_black_and_white() {
    let image = decode_image(&png(3, 1, 1, GRAY, &[], &[&[0b1010_0000]])).unwrap();
    assert_eq!(image.pixels(), [255, 255, 255, 0, 0, 0, 255, 255, 255]);
}

#[test]
fn bomb_is_refused_by_its_header() {
    for side in [13_000, 20_000, 1_000_000] {
        let error = decode_image(&png(side, side, 1, GRAY, &[], &[])).unwrap_err();
        assert_eq!(error, MediaError::ImageTooLarge { width: side, height: side, limit_pixels: MAX_PIXELS });
        assert!(error.to_string().contains(&format!("{side} x {side} pixels")));
    }
}

#[test]
fn photo_of_48_megapixels_is_under_the_limit() {
    let error = decode_image(&png(8064, 6048, 1, GRAY, &[], &[])).unwrap_err();
    assert!(matches!(error, MediaError::ImageDamaged { .. }), "{error:?}");
}

#[test]
fn bytes_of_another_kind_are_refused() {
    assert_eq!(decode_image(&[]), Err(MediaError::Empty));
    for bytes in [&b"<html>"[..], b"\x89PNG", b"RIFF\x04\0\0\0WAVE"] {
        assert_eq!(decode_image(bytes), Err(MediaError::ImageUnknown));
    }
}

#[test]
fn image_without_sides_is_refused() {
    for (width, height) in [(0, 1), (1, 0), (0, 0)] {
        let result = decode_image(&png(width, height, 8, GRAY, &[], &[&[0]]));
        assert!(matches!(result, Err(MediaError::ImageDamaged { .. })), "{result:?}");
    }
}

#[test]
fn image_cut_anywhere_in_its_pixels_is_refused() {
    let row: Vec<u8> = (0..=255).collect();
    let whole = png(256, 3, 8, GRAY, &[], &[&row, &row, &row]);
    let expected = decode_image(&whole).unwrap();
    let end_chunk_bytes = 12;
    for length in 8..whole.len() {
        match decode_image(&whole[..length]) {
            Ok(image) => {
                assert!(
                    length + end_chunk_bytes + 8 >= whole.len(),
                    "{length} of {} bytes decode",
                    whole.len()
                );
                assert_eq!(image, expected);
            }
            Err(error) => {
                assert!(matches!(error, MediaError::ImageDamaged { .. }), "{error:?}");
                assert!(error.to_string().len() < 300);
            }
        }
    }
}

proptest! {
    #[test]
    fn no_damage_makes_the_decoder_panic(at in 0usize..200, with in any::<u8>(), tail in prop::collection::vec(any::<u8>(), 0..64)) {
        let mut bytes = png(4, 4, 8, RGBA, &[], &[&[7u8; 16][..]; 4]);
        let length = bytes.len();
        bytes[at % length] = with;
        bytes.extend(&tail);
        let _ = decode_image(&bytes);
        let mut garbage = b"\x89PNG\r\n\x1a\n".to_vec();
        garbage.extend(tail);
        prop_assert!(decode_image(&garbage).is_err());
    }
}

fn png(
    width: u32,
    height: u32,
    depth: u8,
    color: u8,
    extra: &[([u8; 4], Vec<u8>)],
    rows: &[&[u8]],
) -> Vec<u8> {
    let mut bytes = b"\x89PNG\r\n\x1a\n".to_vec();
    let mut header = [width.to_be_bytes(), height.to_be_bytes()].concat();
    header.extend([depth, color, 0, 0, 0]);
    chunk(&mut bytes, *b"IHDR", &header);
    for (name, body) in extra {
        chunk(&mut bytes, *name, body);
    }
    let raw: Vec<u8> = rows.iter().flat_map(|row| [&[0], *row].concat()).collect();
    chunk(&mut bytes, *b"IDAT", &stored(&raw));
    chunk(&mut bytes, *b"IEND", &[]);
    bytes
}

fn chunk(bytes: &mut Vec<u8>, name: [u8; 4], body: &[u8]) {
    let named = [&name, body].concat();
    bytes.extend((body.len() as u32).to_be_bytes());
    bytes.extend(&named);
    let mut crc = u32::MAX;
    for byte in named {
        crc ^= u32::from(byte);
        for _ in 0..8 {
            crc = if crc & 1 == 1 { 0xEDB8_8320 ^ (crc >> 1) } else { crc >> 1 };
        }
    }
    bytes.extend((!crc).to_be_bytes());
}

/// A zlib stream of one block without compression.
fn stored(raw: &[u8]) -> Vec<u8> {
    let length = raw.len() as u16;
    let mut bytes = vec![0x78, 0x01, 1];
    bytes.extend(length.to_le_bytes());
    bytes.extend((!length).to_le_bytes());
    bytes.extend(raw);
    let (mut low, mut high) = (1u32, 0u32);
    for byte in raw {
        low = (low + u32::from(*byte)) % 65521;
        high = (high + low) % 65521;
    }
    bytes.extend((high << 16 | low).to_be_bytes());
    bytes
}
