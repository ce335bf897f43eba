//! Pictures to interleaved 8-bit RGB, upright, on white, and no larger than any model looks at them.

mod shrink;

use std::io::Cursor;

use base64::{Engine, engine::general_purpose::STANDARD};
use image::codecs::{jpeg::JpegDecoder, png::PngDecoder, webp::WebPDecoder};
use image::metadata::Orientation;
use image::{DynamicImage, ImageDecoder, ImageError, Limits};

use crate::{MediaError, MediaKind};

/// Most pixels of one image: room for a phone's 48-megapixel photo.
pub const MAX_PIXELS: u64 = 50_000_000;
/// An image of more pixels is scaled down to about so many: more than any of the models' budgets for one picture
/// (1120 tokens of 48 x 48 pixels), so that the model's own scaling still has something to choose from.
pub const KEPT_PIXELS: u64 = 4_000_000;
/// An image of [`MAX_PIXELS`] takes 8 bytes a pixel at most; the rest is for the decoder itself.
const MAX_DECODER_BYTES: u64 = 8 * MAX_PIXELS + 16 * 1024 * 1024;

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

/// Decodes a PNG, JPEG or WebP, turned as its camera says; what is transparent shows white behind it, and more
/// than [`KEPT_PIXELS`] are scaled down to them.
///
/// # Errors
/// [`MediaError`] when the bytes are no such image, are damaged, or promise more than [`MAX_PIXELS`].
pub fn decode_image(bytes: &[u8]) -> Result<Rgb8, MediaError> {
    if bytes.is_empty() {
        return Err(MediaError::Empty);
    }
    let limits = || {
        let mut limits = Limits::no_limits();
        limits.max_alloc = Some(MAX_DECODER_BYTES);
        limits
    };
    let source = Cursor::new(bytes);
    match MediaKind::of(bytes) {
        Some(MediaKind::Png) => decode(PngDecoder::with_limits(source, limits()).map_err(damaged)?),
        Some(MediaKind::Webp) => decode(WebPDecoder::new(source).map_err(damaged)?),
        Some(MediaKind::Jpeg) => decode(JpegDecoder::new(source).map_err(damaged)?),
        Some(
            MediaKind::Wav
            | MediaKind::Mp3
            | MediaKind::Mp4
            | MediaKind::Aac
            | MediaKind::Flac
            | MediaKind::Ogg,
        )
        | None => Err(MediaError::ImageUnknown),
    }
}

fn decode(mut decoder: impl ImageDecoder) -> Result<Rgb8, MediaError> {
    let (width, height) = decoder.dimensions();
    if u64::from(width) * u64::from(height) > MAX_PIXELS {
        return Err(MediaError::ImageTooLarge { width, height, limit_pixels: MAX_PIXELS });
    }
    if width == 0 || height == 0 {
        return Err(MediaError::ImageDamaged { what: "it has no pixels".to_owned() });
    }
    // An orientation that cannot be read turns nothing.
    let orientation = decoder.orientation().unwrap_or(Orientation::NoTransforms);
    let decoded = DynamicImage::from_decoder(decoder).map_err(damaged)?;
    // Pixels that are already as they should be are not copied.
    let flat = if decoded.color().has_alpha() { on_white(decoded) } else { decoded.into_rgb8() };
    let mut upright = DynamicImage::ImageRgb8(shrink::shrunk(flat)?);
    upright.apply_orientation(orientation);
    Ok(Rgb8 { width: upright.width(), height: upright.height(), pixels: upright.into_rgb8().into_raw() })
}

fn on_white(decoded: DynamicImage) -> image::RgbImage {
    let pixels = decoded.into_rgba8();
    let (width, height) = pixels.dimensions();
    let mut bytes = pixels.into_raw();
    let mut kept = 0;
    for at in (0..bytes.len()).step_by(4) {
        let alpha = u32::from(bytes[at + 3]);
        for channel in 0..3 {
            let mixed = (u32::from(bytes[at + channel]) * alpha + 255 * (255 - alpha) + 127) / 255;
            bytes[kept] = u8::try_from(mixed).unwrap_or(u8::MAX);
            kept += 1;
        }
    }
    bytes.truncate(kept);
    image::RgbImage::from_raw(width, height, bytes).unwrap_or_default()
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
