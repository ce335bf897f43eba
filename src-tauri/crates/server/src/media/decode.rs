//! Decoding on threads that may take their time, a few requests at once, so that memory stays bounded.

use std::sync::Arc;

use hangar_gemma::{Message, Part};
use hangar_media::{MediaError, Sense, decode_audio, decode_image};
use hangar_protocol::Media;
use serde::Serialize;
use tokio::sync::Semaphore;

use super::Found;
use crate::error::ApiError;

/// Requests whose media are decoded at once: a photo of 48 megapixels takes some 300 MB for a moment.
const AT_ONCE: usize = 2;

/// Decodes the media of requests; clones share their turns.
#[derive(Clone, Debug)]
pub(crate) struct Decoder {
    turns: Arc<Semaphore>,
}

/// Media as a worker takes them.
#[derive(Debug, Default)]
pub(crate) struct Decoded {
    /// All of them, in order.
    pub(crate) media: Vec<Media>,
    /// Tokens that sound takes, without its markers.
    pub(crate) audio_tokens: u32,
    /// How long the sound lasts, in milliseconds.
    pub(crate) audio_ms: u64,
    /// The clips that sound became, in order.
    pub(crate) clips: Vec<Clip>,
    /// For each medium found the places of what became of it: long sound becomes several clips.
    places: Vec<std::ops::Range<u32>>,
}

/// A stretch of sound as the model hears it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Clip {
    /// How long it lasts, what it was padded with included.
    pub(crate) duration_ms: u64,
    /// Tokens it takes, without its markers.
    pub(crate) tokens: u32,
}

impl Default for Decoder {
    fn default() -> Self {
        Self { turns: Arc::new(Semaphore::new(AT_ONCE)) }
    }
}

impl Decoder {
    /// Decodes everything; sound of all clips together may last `audio_limit_ms`.
    ///
    /// # Errors
    /// [`ApiError`] names the field.
    pub(crate) async fn decode(&self, found: Vec<Found>, audio_limit_ms: u64) -> Result<Decoded, ApiError> {
        if found.is_empty() {
            return Ok(Decoded::default());
        }
        let turn = Arc::clone(&self.turns).acquire_owned().await.map_err(|_| ApiError::Internal)?;
        let decoding = tokio::task::spawn_blocking(move || {
            let decoded = decode_all(found, audio_limit_ms);
            drop(turn);
            decoded
        });
        decoding.await.map_err(|_| ApiError::Internal)?
    }
}

fn decode_all(found: Vec<Found>, audio_limit_ms: u64) -> Result<Decoded, ApiError> {
    let mut all = Decoded::default();
    for Found { param, kind, bytes } in found {
        let first = all.next_place();
        match kind.sense() {
            Sense::Sight => {
                let image = decode_image(&bytes).map_err(|error| ApiError::Media { param, error })?;
                drop(bytes);
                let (width, height) = (image.width(), image.height());
                all.media.push(Media::Rgb8 { width, height, data_base64: image.to_base64() });
            }
            Sense::Hearing => {
                let left_ms = audio_limit_ms.saturating_sub(all.audio_ms);
                let sound =
                    decode_audio(&bytes, left_ms).map_err(|error| too_long(param, error, audio_limit_ms))?;
                drop(bytes);
                all.audio_ms += sound.duration_ms();
                for segment in sound.segments() {
                    let tokens = segment.tokens();
                    all.audio_tokens = all.audio_tokens.saturating_add(tokens);
                    all.clips.push(Clip { duration_ms: segment.duration_ms(), tokens });
                    all.media.push(Media::Pcm16k { data_base64: segment.to_base64() });
                }
            }
        }
        let places = first..all.next_place();
        all.places.push(places);
    }
    Ok(all)
}

/// What was heard before counts for the figures.
fn too_long(param: String, error: MediaError, audio_limit_ms: u64) -> ApiError {
    if let MediaError::AudioTooLong { found_ms, limit_ms } = error {
        let before_ms = audio_limit_ms.saturating_sub(limit_ms);
        let found_ms = found_ms.saturating_add(before_ms);
        return ApiError::Media {
            param,
            error: MediaError::AudioTooLong { found_ms, limit_ms: audio_limit_ms },
        };
    }
    ApiError::Media { param, error }
}

impl Decoded {
    /// Lets the parts of messages point at what became of their media.
    pub(crate) fn place(&self, messages: &mut [Message]) {
        if self.places.is_empty() {
            return;
        }
        for message in messages {
            let parts = message.parts_mut();
            *parts = std::mem::take(parts).into_iter().flat_map(|part| self.placed(part)).collect();
        }
    }

    fn placed(&self, part: Part) -> Vec<Part> {
        let places = |found: u32| {
            usize::try_from(found).ok().and_then(|found| self.places.get(found)).cloned().unwrap_or_default()
        };
        match part {
            Part::Text(_) => vec![part],
            Part::Image(found) => places(found).map(Part::Image).collect(),
            Part::Audio(found) => places(found).map(Part::Audio).collect(),
        }
    }

    fn next_place(&self) -> u32 {
        u32::try_from(self.media.len()).unwrap_or(u32::MAX)
    }
}

#[cfg(test)]
mod tests {
    use hangar_gemma::Role;

    use super::*;

    #[test]
    fn every_clip_of_long_sound_stands_where_the_sound_stood() {
        let decoded = Decoded { places: vec![0..1, 1..4, 4..5], ..Decoded::default() };
        let parts = vec![Part::Audio(1), Part::Text("a".into()), Part::Image(0), Part::Audio(2)];
        let mut messages = [Message::new(Role::User, parts), Message::text(Role::User, "b")];
        decoded.place(&mut messages);
        let expected = [
            Part::Audio(1),
            Part::Audio(2),
            Part::Audio(3),
            Part::Text("a".into()),
            Part::Image(0),
            Part::Audio(4),
        ];
        assert_eq!(messages[0].parts(), expected);
        assert_eq!(messages[1].parts(), [Part::Text("b".into())]);
    }
}
