//! Where sound is cut. Nothing is lost, nothing comes twice, and the order stays.

use std::ops::Range;

/// Samples that one token stands for: 40 ms.
pub(super) const SAMPLES_PER_TOKEN: usize = 640;
/// Most tokens that the tower hears at once: 30 s.
const MOST_TOKENS: usize = 750;
/// A cut is looked for in the last so many tokens before that: 5 s.
const SEARCHED_TOKENS: usize = 125;
/// The tower has nothing to work on in less: 20 ms.
const LEAST_SAMPLES: usize = 320;
/// Lengths in tokens for which the tower gives another number of rows than there are tokens; they come from the
/// rounding of its two strided convolutions.
const MISCOUNTED_TOKENS: [usize; 2] = [403, 407];

/// The stretches of at most 30 s, each cut at the quietest place of its last 5 s, the latest of equally quiet ones.
pub(super) fn cuts(samples: &[f32]) -> Vec<Range<usize>> {
    let mut ranges = Vec::new();
    let mut start = 0;
    while samples.len() - start > MOST_TOKENS * SAMPLES_PER_TOKEN {
        let rest = &samples[start..];
        // What is left over must be long enough to be heard.
        let most = MOST_TOKENS.min((rest.len() - LEAST_SAMPLES) / SAMPLES_PER_TOKEN);
        let end = start + quietest(rest, MOST_TOKENS - SEARCHED_TOKENS, most) * SAMPLES_PER_TOKEN;
        ranges.push(start..end);
        start = end;
    }
    ranges.push(start..samples.len());
    ranges
}

/// A stretch with silence behind it, up to a number of whole tokens that the tower counts as we do.
pub(super) fn padded(samples: &[f32]) -> Vec<f32> {
    let mut tokens = samples.len().div_ceil(SAMPLES_PER_TOKEN);
    if MISCOUNTED_TOKENS.contains(&tokens) {
        tokens += 1;
    }
    let mut padded = Vec::with_capacity(tokens * SAMPLES_PER_TOKEN);
    padded.extend_from_slice(samples);
    padded.resize(tokens * SAMPLES_PER_TOKEN, 0.0);
    padded
}

/// The border between two tokens, counted from the start, around which there is the least energy.
fn quietest(samples: &[f32], from: usize, to: usize) -> usize {
    let energy = |token: usize| -> f64 {
        let of_one = &samples[token * SAMPLES_PER_TOKEN..(token + 1) * SAMPLES_PER_TOKEN];
        of_one.iter().map(|sample| f64::from(*sample) * f64::from(*sample)).sum()
    };
    let mut before = energy(from - 1);
    let mut best = (f64::INFINITY, to);
    for border in from..=to {
        // The last one may be cut off by the end.
        let after = if (border + 1) * SAMPLES_PER_TOKEN <= samples.len() { energy(border) } else { 0.0 };
        if before + after <= best.0 {
            best = (before + after, border);
        }
        before = after;
    }
    best.1
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const SECOND: usize = 16_000;
    const LONGEST: usize = 30 * SECOND;

    fn whole(ranges: &[Range<usize>], length: usize) -> bool {
        let ends = ranges.iter().map(|range| range.end);
        let starts = ranges.iter().map(|range| range.start);
        starts.eq(std::iter::once(0).chain(ends.take(ranges.len() - 1)))
            && ranges.last().map(|range| range.end) == Some(length)
    }

    #[test]
    fn thirty_seconds_are_one_and_a_sample_more_are_two() {
        let ranges = cuts(&vec![0.0; LONGEST]);
        assert_eq!((ranges.len(), ranges[0].clone()), (1, 0..LONGEST));
        let ranges = cuts(&vec![0.0; LONGEST + 1]);
        assert_eq!(ranges.len(), 2);
        assert!(whole(&ranges, LONGEST + 1) && ranges[1].len() >= LEAST_SAMPLES, "{ranges:?}");
    }

    #[test]
    fn a_pause_is_where_it_is_cut() {
        let mut samples = vec![0.5; 45 * SECOND];
        samples[27 * SECOND..27 * SECOND + SECOND / 4].fill(0.0);
        let ranges = cuts(&samples);
        assert_eq!(ranges.len(), 2);
        let cut = ranges[0].end;
        assert!((27 * SECOND..27 * SECOND + SECOND / 4).contains(&cut), "{cut}");
    }

    #[test]
    fn sound_as_loud_everywhere_is_cut_as_late_as_can_be() {
        let lengths: Vec<usize> = cuts(&vec![0.25; 100 * SECOND]).iter().map(Range::len).collect();
        assert_eq!(lengths, [LONGEST, LONGEST, LONGEST, 10 * SECOND]);
    }

    #[test]
    fn lengths_that_the_tower_counts_otherwise_are_avoided() {
        for (tokens, expected) in [(402, 402), (403, 404), (404, 404), (406, 406), (407, 408), (750, 750)] {
            let samples = vec![0.5; tokens * SAMPLES_PER_TOKEN];
            assert_eq!(padded(&samples).len(), expected * SAMPLES_PER_TOKEN);
            assert_eq!(padded(&samples[1..]).len(), expected * SAMPLES_PER_TOKEN);
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn nothing_is_lost_or_twice_whatever_the_sound(
            length in LEAST_SAMPLES..150 * SECOND,
            pauses in prop::collection::vec((0usize..150 * SECOND, 1usize..SECOND), 0..8),
        ) {
            let mut samples = vec![0.5; length];
            for (at, pause) in pauses {
                let range = at.min(length)..(at + pause).min(length);
                samples[range].fill(0.0);
            }
            let ranges = cuts(&samples);
            prop_assert!(whole(&ranges, length), "{:?}", ranges);
            for (index, range) in ranges.iter().enumerate() {
                let is_last = index + 1 == ranges.len();
                prop_assert!((LEAST_SAMPLES..=LONGEST).contains(&range.len()), "{:?}", range);
                prop_assert!(is_last || range.len() >= 25 * SECOND, "{:?}", range);
                let padded = padded(&samples[range.clone()]);
                prop_assert_eq!(padded.len() % SAMPLES_PER_TOKEN, 0);
                prop_assert!(padded.len() <= LONGEST);
                prop_assert!(!MISCOUNTED_TOKENS.contains(&(padded.len() / SAMPLES_PER_TOKEN)));
                prop_assert_eq!(&padded[..range.len()], &samples[range.clone()]);
                prop_assert!(padded[range.len()..].iter().all(|sample| *sample == 0.0));
            }
        }
    }
}
