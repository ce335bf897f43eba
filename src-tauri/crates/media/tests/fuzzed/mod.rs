//! Claims about media that hold for any bytes; fuzzing makes bytes up, `corpus.rs` repeats those that were kept.

use hangar_media::{MediaError, decode_audio, read_data_url};

const LIMIT_BYTES: usize = 1 << 16;
const LIMIT_MS: u64 = 2_000;

/// A data URL is read or refused in a sentence that does not repeat it; what is read is no longer than its text, and
/// comes out the same when it is wrapped.
pub fn data_urls(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    match read_data_url(text, LIMIT_BYTES) {
        Err(error) => assert!(error.to_string().len() < 300, "{error}"),
        Ok(inline) => {
            assert!(!inline.bytes.is_empty() && inline.bytes.len() <= LIMIT_BYTES.min(text.len()));
            if let Some((head, payload)) = text.split_once(',') {
                let wrapped: Vec<String> = payload.chars().map(|sign| format!("{sign}\n")).collect();
                if !payload.contains('%') {
                    let again = read_data_url(&format!("{head},{}", wrapped.concat()), LIMIT_BYTES);
                    assert_eq!(again, Ok(inline));
                }
            }
        }
    }
}

/// A WAV is heard or refused; what is heard is in range, within the limit, and all of it in its segments.
pub fn waves(data: &[u8]) {
    let mut bytes = b"RIFF\0\0\0\0WAVE".to_vec();
    bytes.extend(data);
    match decode_audio(&bytes, LIMIT_MS) {
        Err(MediaError::AudioTooLong { found_ms, limit_ms }) => assert!(found_ms > limit_ms),
        Err(error) => assert!(error.to_string().len() < 300, "{error}"),
        Ok(sound) => {
            assert!(sound.duration_ms() <= LIMIT_MS);
            assert!(sound.samples().iter().all(|sample| (-1.0..=1.0).contains(sample)));
            let segments = sound.segments();
            let samples: usize = segments.iter().map(|segment| segment.samples().len()).sum();
            assert!(samples >= sound.samples().len() && samples < sound.samples().len() + 1280);
        }
    }
}
