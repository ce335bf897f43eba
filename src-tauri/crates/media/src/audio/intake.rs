//! What takes decoded samples: mixes channels, resamples, and stops at the limit.

use rubato::audioadapter_buffers::direct::InterleavedSlice;
use rubato::{Fft, FixedSync, Indexing, Resampler};

use super::{SAMPLE_RATE_HZ, duration_ms};
use crate::MediaError;

/// Rates that recordings have; beyond them a header is wrong.
const RATES_HZ: std::ops::RangeInclusive<u32> = 4_000..=384_000;
const MOST_CHANNELS: usize = 8;
/// Frames that are resampled at once.
const CHUNK_FRAMES: usize = 4096;

/// Samples on their way to 16 kHz mono.
pub(super) struct Intake {
    limit_ms: u64,
    rate_hz: Option<u32>,
    frames: u64,
    resampling: Option<Resampling>,
    mono: Vec<f32>,
    kept: Vec<f32>,
}

/// Whether more may come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Room {
    /// It may.
    More,
    /// The limit is passed: nothing more is kept.
    Full,
}

struct Resampling {
    resampler: Fft<f32>,
    waiting: Vec<f32>,
    output: Vec<f32>,
    /// Samples at the beginning that are only the resampler's delay.
    delay: usize,
}

impl Intake {
    pub(super) fn new(limit_ms: u64) -> Self {
        Self { limit_ms, rate_hz: None, frames: 0, resampling: None, mono: Vec::new(), kept: Vec::new() }
    }

    /// Most that may be kept, in milliseconds.
    pub(super) fn limit_ms(&self) -> u64 {
        self.limit_ms
    }

    /// Frames taken so far.
    pub(super) fn frames(&self) -> u64 {
        self.frames
    }

    /// Takes interleaved samples; the rate stays what it was at first.
    pub(super) fn take(
        &mut self,
        samples: &[f32],
        channels: usize,
        rate_hz: u32,
    ) -> Result<Room, MediaError> {
        self.check(channels, rate_hz)?;
        self.mono.clear();
        if channels == 1 {
            self.mono.extend_from_slice(samples);
        } else {
            #[expect(clippy::cast_precision_loss, reason = "at most eight")]
            let share = 1.0 / channels as f32;
            self.mono.extend(samples.chunks_exact(channels).map(|frame| frame.iter().sum::<f32>() * share));
        }
        if self.mono.iter().any(|sample| !sample.is_finite()) {
            return Err(MediaError::AudioDamaged { what: "some of its samples are not numbers" });
        }
        // Before resampling: sums of numbers near the largest there are would be none.
        self.mono.iter_mut().for_each(|sample| *sample = sample.clamp(-1.0, 1.0));
        self.frames += self.mono.len() as u64;
        if duration_ms(self.frames, rate_hz) > self.limit_ms {
            return Ok(Room::Full);
        }
        match &mut self.resampling {
            None => self.kept.extend_from_slice(&self.mono),
            Some(resampling) => {
                resampling.waiting.extend_from_slice(&self.mono);
                resampling.run(&mut self.kept)?;
            }
        }
        Ok(Room::More)
    }

    /// All samples, once there are no more.
    pub(super) fn finish(mut self) -> Result<Vec<f32>, MediaError> {
        let Some(resampling) = &mut self.resampling else { return Ok(self.kept) };
        let rate_hz = self.rate_hz.unwrap_or(SAMPLE_RATE_HZ);
        let wanted = (u128::from(self.frames) * u128::from(SAMPLE_RATE_HZ) + u128::from(rate_hz) / 2)
            / u128::from(rate_hz);
        let wanted = usize::try_from(wanted).unwrap_or(usize::MAX);
        while self.kept.len() < wanted {
            let silence = resampling.waiting.len() + CHUNK_FRAMES;
            resampling.waiting.resize(silence, 0.0);
            resampling.run(&mut self.kept)?;
        }
        self.kept.truncate(wanted);
        Ok(self.kept)
    }

    fn check(&mut self, channels: usize, rate_hz: u32) -> Result<(), MediaError> {
        if channels == 0 {
            return Err(MediaError::AudioDamaged { what: "its header says 0 channels" });
        }
        if channels > MOST_CHANNELS {
            return Err(MediaError::AudioChannels { channels, limit: MOST_CHANNELS });
        }
        match self.rate_hz {
            Some(first) if first == rate_hz => Ok(()),
            Some(_) => Err(MediaError::AudioDamaged { what: "its sample rate changes" }),
            None if rate_hz == 0 => {
                Err(MediaError::AudioDamaged { what: "its header says 0 samples a second" })
            }
            None if !RATES_HZ.contains(&rate_hz) => {
                let (least_hz, most_hz) = (*RATES_HZ.start(), *RATES_HZ.end());
                Err(MediaError::AudioRate { rate_hz, least_hz, most_hz })
            }
            None => {
                self.rate_hz = Some(rate_hz);
                if rate_hz != SAMPLE_RATE_HZ {
                    self.resampling = Some(Resampling::new(rate_hz)?);
                }
                Ok(())
            }
        }
    }
}

impl Resampling {
    fn new(rate_hz: u32) -> Result<Self, MediaError> {
        let resampler =
            Fft::new(rate_hz as usize, SAMPLE_RATE_HZ as usize, CHUNK_FRAMES, 1, FixedSync::Input)
                .map_err(|_| UNRESAMPLED)?;
        let output = vec![0.0; resampler.output_frames_max()];
        let delay = resampler.output_delay();
        Ok(Self { resampler, waiting: Vec::with_capacity(2 * CHUNK_FRAMES), output, delay })
    }

    /// Resamples what is there, in whole chunks.
    fn run(&mut self, kept: &mut Vec<f32>) -> Result<(), MediaError> {
        let mut done = 0;
        while self.waiting.len() - done >= self.resampler.input_frames_next() {
            let frames = self.waiting.len() - done;
            let input = InterleavedSlice::new(&self.waiting[done..], 1, frames).map_err(|_| UNRESAMPLED)?;
            let room = self.output.len();
            let mut output = InterleavedSlice::new_mut(&mut self.output, 1, room).map_err(|_| UNRESAMPLED)?;
            let (taken, made) = self
                .resampler
                .process_into_buffer(&input, &mut output, Some(&Indexing::new()))
                .map_err(|_| UNRESAMPLED)?;
            done += taken;
            let skipped = self.delay.min(made);
            self.delay -= skipped;
            kept.extend(self.output[skipped..made].iter().map(|sample| sample.clamp(-1.0, 1.0)));
        }
        self.waiting.drain(..done);
        Ok(())
    }
}

const UNRESAMPLED: MediaError = MediaError::AudioDamaged { what: "its rate cannot be converted" };
