//! How many tokens pictures and sound take in a prompt: as many as the worker's processors make of them.

use std::path::Path;

use hangar_protocol::Media;
use serde_json::Value;

/// One at each end.
const MARKERS: u64 = 2;
/// Sound is sent in whole tokens of so many samples.
const SAMPLES_PER_TOKEN: u64 = 640;

/// How a model's processor cuts pictures up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Sight {
    most_tokens: u64,
    /// Pixels along a side of what one token stands for.
    token_side: u64,
}

impl Sight {
    /// As the model's files say; what they leave out has the value of the worker's own processor.
    pub(super) fn read(model_dir: &Path) -> Self {
        let read = |name: &str| -> Value {
            let text = std::fs::read(model_dir.join(name)).ok();
            text.and_then(|text| serde_json::from_slice(&text).ok()).unwrap_or_default()
        };
        let (processor, config) = (read("processor_config.json"), read("config.json"));
        let image = processor.get("image_processor").unwrap_or(&processor);
        let vision = config.get("vision_config").unwrap_or(&Value::Null);
        let number = |key: &str, whose: &Value, otherwise: u64| {
            let set = image.get(key).and_then(Value::as_u64);
            set.or_else(|| whose.get(key).and_then(Value::as_u64)).unwrap_or(otherwise).max(1)
        };
        let most = image.get("max_soft_tokens").and_then(Value::as_u64);
        let most = most.or_else(|| config.get("vision_soft_tokens_per_image")?.as_u64());
        let patch = number("patch_size", vision, 16);
        let pool = number("pooling_kernel_size", vision, 3);
        Self { most_tokens: most.unwrap_or(280).max(1), token_side: patch.saturating_mul(pool) }
    }

    /// Tokens of a picture of that size, without its markers: it is scaled in its shape until it fills what there
    /// is, in whole tokens along each side.
    fn tokens(self, width: u32, height: u32) -> u64 {
        let side = as_float(self.token_side);
        let (width, height) = (f64::from(width.max(1)), f64::from(height.max(1)));
        let scale = (as_float(self.most_tokens) * side * side / (height * width)).sqrt();
        let fitting = |length: f64| whole(scale * length / side);
        // A picture that is far longer than wide gets one row of tokens.
        let along = |long: f64, short: f64| whole(long / short).min(self.most_tokens);
        match (fitting(width), fitting(height)) {
            (0, 0) => 1,
            (wide, 0) if wide > 0 => along(width, height),
            (0, _) => along(height, width),
            (wide, high) => wide.saturating_mul(high),
        }
    }
}

/// Tokens of a medium with its markers.
pub(super) fn tokens(media: Option<&Media>, sight: Option<Sight>) -> u64 {
    match (media, sight) {
        (Some(Media::Rgb8 { width, height, .. }), Some(sight)) => sight.tokens(*width, *height) + MARKERS,
        (Some(Media::Pcm16k { data_base64 }), _) => {
            let padding = data_base64.bytes().rev().take_while(|sign| *sign == b'=').count();
            let bytes = data_base64.len() / 4 * 3 - padding.min(2);
            let samples = u64::try_from(bytes / 4).unwrap_or(u64::MAX);
            samples.div_ceil(SAMPLES_PER_TOKEN) + MARKERS
        }
        // The worker says what is wrong.
        (Some(Media::Rgb8 { .. }), None) | (None, _) => 1,
    }
}

#[expect(clippy::cast_precision_loss, reason = "small counts")]
fn as_float(count: u64) -> f64 {
    count as f64
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a small count, never negative")]
fn whole(count: f64) -> u64 {
    count.floor() as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_picture_fills_what_there_is_in_its_shape() {
        let sight = Sight { most_tokens: 280, token_side: 48 };
        for (width, height, tokens) in [
            (48, 48, 256),
            (1000, 1000, 256),
            (1920, 1080, 264),
            (1080, 1920, 264),
            (3000, 100, 273),
            (100_000, 10, 280),
            (10, 100_000, 280),
            (1, 1, 256),
        ] {
            assert_eq!(sight.tokens(width, height), tokens, "{width} x {height}");
        }
    }
}
