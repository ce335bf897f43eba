//! Scaling photos down to what a model looks at.

use fast_image_resize::images::{Image, ImageRef};
use fast_image_resize::{FilterType, PixelType, ResizeAlg, ResizeOptions, Resizer};
use image::RgbImage;

use super::KEPT_PIXELS;
use crate::MediaError;

/// The same picture with at most about [`KEPT_PIXELS`].
pub(super) fn shrunk(image: RgbImage) -> Result<RgbImage, MediaError> {
    let (width, height) = image.dimensions();
    let pixels = u64::from(width) * u64::from(height);
    if pixels <= KEPT_PIXELS {
        return Ok(image);
    }
    let (to_width, to_height) = fitting(width, height);
    let failed = || MediaError::ImageDamaged { what: "it cannot be scaled down".to_owned() };
    let source = ImageRef::new(width, height, &image, PixelType::U8x3).map_err(|_| failed())?;
    let mut target = Image::new(to_width, to_height, PixelType::U8x3);
    // The same kernel that the model's own processor scales with, so that two steps are as one.
    let options = ResizeOptions::new().resize_alg(ResizeAlg::Convolution(FilterType::CatmullRom));
    Resizer::new().resize(&source, &mut target, &options).map_err(|_| failed())?;
    RgbImage::from_raw(to_width, to_height, target.into_vec()).ok_or_else(failed)
}

/// Sides of the same shape with at most [`KEPT_PIXELS`], each at least 1.
fn fitting(width: u32, height: u32) -> (u32, u32) {
    #[expect(clippy::cast_precision_loss, reason = "far below what a double holds exactly")]
    let scale = (KEPT_PIXELS as f64 / (f64::from(width) * f64::from(height))).sqrt();
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "smaller than it was")]
    let side = |side: u32| ((f64::from(side) * scale).floor() as u32).max(1);
    (side(width), side(height))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_large_picture_keeps_its_shape_and_a_small_one_its_pixels() {
        assert_eq!(fitting(8064, 6048), (2309, 1732));
        assert_eq!(fitting(50_000_000, 1), (14_142_135, 1));
        let small = RgbImage::from_fn(3, 2, |x, y| image::Rgb([x as u8, y as u8, 7]));
        assert_eq!(shrunk(small.clone()).unwrap(), small);
    }

    #[test]
    fn colours_stay_where_they_are() {
        let wide = RgbImage::from_fn(4000, 2000, |x, _| {
            image::Rgb(if x < 2000 { [250, 0, 0] } else { [0, 0, 250] })
        });
        let small = shrunk(wide).unwrap();
        assert_eq!(small.dimensions(), (2828, 1414));
        assert_eq!(small.get_pixel(0, 0).0, [250, 0, 0]);
        assert_eq!(small.get_pixel(2827, 1413).0, [0, 0, 250]);
    }
}
