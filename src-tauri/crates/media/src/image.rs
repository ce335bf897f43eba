//! Images to interleaved 8-bit RGB.

use std::io::Cursor;

use base64::{Engine, engine::general_purpose::STANDARD};
use image::{DynamicImage, ImageDecoder, ImageError, Limits, codecs::png::PngDecoder};

use crate::{MediaError, check_size};

/// Most pixels of one image: room for a phone's 48-megapixel photo.
pub const MAX_PIXELS: u64 = 50_000_000;
/// A PNG of that many pixels takes 8 bytes a pixel at most; the rest is for the decoder itself.
const MAX_DECODER_BYTES: u64 = 8 * MAX_PIXELS + 16 * 1024 * 1024;
const PNG_SIGNATURE: &[u8] = b"\x89PNG\r\n\x1a\n";

/// An image as a worker takes it.
#[derive(Clone, PartialEq, Eq)]
pub struct Rgb8 {
    width: u32,
    height: u32,
    pixels: Vec<u8>,
}

impl Rgb8 {
    /// Width in pixels, at least 1.
    pub fn width(&self) -> u32 {
        self.width
    }

    /// Height in pixels, at least 1.
    pub fn height(&self) -> u32 {
        self.height
    }

    /// Rows from top to bottom, three bytes a pixel.
    pub fn pixels(&self) -> &[u8] {
        &self.pixels
    }

    /// The pixels in base64.
    pub fn to_base64(&self) -> String {
        STANDARD.encode(&self.pixels)
    }
}

impl std::fmt::Debug for Rgb8 {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "Rgb8({} x {})", self.width, self.height)
    }
}

/// Decodes a PNG; what is transparent shows white behind it.
///
/// # Errors
/// [`MediaError`] when the bytes are no PNG, are damaged, or promise more than [`MAX_PIXELS`].
pub fn decode_image(bytes: &[u8]) -> Result<Rgb8, MediaError> {
    check_size(bytes)?;
    if !bytes.starts_with(PNG_SIGNATURE) {
        return Err(MediaError::ImageNotPng);
    }
    let mut limits = Limits::no_limits();
    limits.max_alloc = Some(MAX_DECODER_BYTES);
    let decoder = PngDecoder::with_limits(Cursor::new(bytes), limits).map_err(damaged)?;
    let (width, height) = decoder.dimensions();
    if u64::from(width) * u64::from(height) > MAX_PIXELS {
        return Err(MediaError::ImageTooLarge { width, height, limit_pixels: MAX_PIXELS });
    }
    let decoded = DynamicImage::from_decoder(decoder).map_err(damaged)?;
    let pixels = if decoded.color().has_alpha() { on_white(decoded) } else { decoded.into_rgb8().into_raw() };
    Ok(Rgb8 { width, height, pixels })
}

fn on_white(decoded: DynamicImage) -> Vec<u8> {
    let pixels = decoded.into_rgba8().into_raw();
    let mut flat = Vec::with_capacity(pixels.len() / 4 * 3);
    for pixel in pixels.chunks_exact(4) {
        let alpha = u32::from(pixel[3]);
        for channel in &pixel[..3] {
            let mixed = (u32::from(*channel) * alpha + 255 * (255 - alpha) + 127) / 255;
            flat.push(u8::try_from(mixed).unwrap_or(u8::MAX));
        }
    }
    flat
}

fn damaged(error: ImageError) -> MediaError {
    let what = match error {
        ImageError::Decoding(error) => error.to_string(),
        ImageError::Limits(error) => error.to_string(),
        ImageError::Unsupported(error) => error.to_string(),
        ImageError::Encoding(_) | ImageError::Parameter(_) | ImageError::IoError(_) => {
            "its data ends early".to_owned()
        }
    };
    MediaError::ImageDamaged { what: what.chars().take(160).collect() }
}
