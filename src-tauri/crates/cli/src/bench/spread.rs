//! Several readings of one figure.

use serde::Serialize;

/// Median and extremes of readings.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub(crate) struct Spread {
    pub(crate) median: f64,
    pub(crate) least: f64,
    pub(crate) most: f64,
}

impl Spread {
    /// Of at least one reading.
    pub(crate) fn of(readings: &[f64]) -> Option<Self> {
        Some(Self {
            median: quantile(readings, 0.5)?,
            least: quantile(readings, 0.0)?,
            most: quantile(readings, 1.0)?,
        })
    }

    /// Of the pairwise quotients, so that a drift of the machine cancels out.
    pub(crate) fn of_ratios(above: &[f64], below: &[f64]) -> Option<Self> {
        Self::of(&above.iter().zip(below).map(|(above, below)| above / below).collect::<Vec<_>>())
    }

    /// Of the pairwise differences.
    pub(crate) fn of_differences(whole: &[f64], part: &[f64]) -> Option<Self> {
        Self::of(&whole.iter().zip(part).map(|(whole, part)| whole - part).collect::<Vec<_>>())
    }
}

/// The reading at a share of the sorted readings; between two readings, their mean.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_precision_loss,
    reason = "a share of a count of readings"
)]
pub(crate) fn quantile(readings: &[f64], share: f64) -> Option<f64> {
    let mut sorted = readings.to_vec();
    sorted.sort_by(f64::total_cmp);
    let at = share * (sorted.len().checked_sub(1)? as f64);
    Some((sorted[at.floor() as usize] + sorted[at.ceil() as usize]) / 2.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_median_of_even_readings_lies_between_the_middle_two() {
        assert_eq!(quantile(&[4.0, 1.0, 3.0, 2.0], 0.5), Some(2.5));
        assert_eq!(quantile(&[], 0.5), None);
    }

    #[test]
    fn ratios_are_taken_pair_by_pair() {
        let spread = Spread::of_ratios(&[2.0, 30.0], &[1.0, 10.0]).unwrap();
        assert_eq!((spread.least, spread.most), (2.0, 3.0));
    }
}
