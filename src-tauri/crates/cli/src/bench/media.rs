//! `hangar bench media`: how fast sound and photos are made ready for a model, and how much memory that takes.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use hangar_media::{MediaError, decode_audio, decode_image};
use tokio::time::Instant;

use super::BenchError;
use super::report::{Bar, Report, Row};
use super::served::resident_bytes;
use super::spread::Spread;
use crate::arguments::Media;
use crate::failure::Failure;

const SOUND: &str = "words_45s.m4a";
const PHOTO: &str = "photo_12mp.jpg";
const LIMIT_MS: u64 = 600_000;
/// Bytes of the photo's pixels.
const PHOTO_BYTES: f64 = 4032.0 * 3024.0 * 3.0;
const LOOK_EVERY: Duration = Duration::from_millis(1);

/// Measures everything in one run; memory grows during a bench, so that it is looked at in the first round.
pub(crate) fn measure(options: &Media) -> Result<Report, Failure> {
    let (sound, photo) = (read(&options.files.join(SOUND))?, read(&options.files.join(PHOTO))?);
    let grown = growth(|| decode_image(&photo).map(|image| image.to_base64().len()))?;
    let (mut speeds, mut photo_ms) = (Vec::new(), Vec::new());
    for _ in 0..options.rounds {
        let began = Instant::now();
        let heard = decode_audio(&sound, LIMIT_MS).map_err(unusable)?;
        let encoded: usize = heard.segments().iter().map(|segment| segment.to_base64().len()).sum();
        std::hint::black_box(encoded);
        let took = began.elapsed().as_secs_f64();
        speeds.push(Duration::from_millis(heard.duration_ms()).as_secs_f64() / took);
        let began = Instant::now();
        std::hint::black_box(decode_image(&photo).map_err(unusable)?.to_base64());
        photo_ms.push(began.elapsed().as_secs_f64() * 1000.0);
    }
    let row = |what: &str, unit, readings: &[f64], bar| {
        Spread::of(readings).map(|found| Row::new(what, unit, found, None, Some(bar)))
    };
    let rows = [
        row("45 s of M4A made ready, times as fast as it lasts", "", &speeds, Bar::AtLeast(100.0)),
        row("photo of 12 megapixels made ready", "ms", &photo_ms, Bar::AtMost(150.0)),
        row("peak memory for it, of its pixels' size", "", &[grown / PHOTO_BYTES], Bar::AtMost(3.0)),
    ];
    Ok(Report { rounds: options.rounds, rows: rows.into_iter().flatten().collect(), left_out: Vec::new() })
}

/// How many bytes the process grew by at most while this ran.
fn growth<T>(work: impl FnOnce() -> Result<T, MediaError>) -> Result<f64, BenchError> {
    let pid = std::process::id();
    let before = resident_bytes(pid).unwrap_or_default();
    let over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let watching = scope.spawn(|| {
            let mut most = before;
            while !over.load(Ordering::Relaxed) {
                most = most.max(resident_bytes(pid).unwrap_or_default());
                std::thread::park_timeout(LOOK_EVERY);
            }
            most
        });
        let done = work();
        over.store(true, Ordering::Relaxed);
        done.map_err(unusable)?;
        Ok(watching.join().unwrap_or(before) - before)
    })
}

fn read(path: &Path) -> Result<Vec<u8>, BenchError> {
    std::fs::read(path).map_err(|source| BenchError::File { path: path.to_owned(), source })
}

fn unusable(error: MediaError) -> BenchError {
    BenchError::Answer { who: "the decoder", what: error.to_string() }
}
