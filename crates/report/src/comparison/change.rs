//! On which scale two sets of numbers are compared.

use tapeline_stats::{Confidence, Shift, median};

use crate::quantity::{QuantityInfo, Scale};

/// The scale of a change: a ratio where the quantity has one and all numbers are positive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Change {
    /// Of logarithms, told in percent.
    Ratio,
    /// Of the numbers, told in their unit.
    Difference,
}

impl Change {
    pub(crate) fn of(info: &QuantityInfo, before: &[f64], after: &[f64]) -> Self {
        let positive = before.iter().chain(after).all(|value| *value > 0.0);
        if info.scale == Scale::Ratio && positive {
            Self::Ratio
        } else {
            Self::Difference
        }
    }

    /// How far `after` is from `before`, on this scale; `None` as for [`Shift::new`].
    pub(crate) fn shift(
        self,
        before: &[f64],
        after: &[f64],
        confidence: Confidence,
    ) -> Option<Shift> {
        match self {
            Self::Difference => Shift::new(before, after, confidence),
            Self::Ratio => {
                let logarithms = |values: &[f64]| -> Vec<f64> {
                    values.iter().map(|value| value.ln()).collect()
                };
                Shift::new(&logarithms(before), &logarithms(after), confidence)
            }
        }
    }

    /// A loss and a gain of a share, on this scale; of a difference the share is one of `about`.
    pub(crate) fn of_share(self, share: f64, about: f64) -> (f64, f64) {
        match self {
            Self::Ratio => ((1.0 - share).max(f64::MIN_POSITIVE).ln(), share.ln_1p()),
            Self::Difference => (-share * about.abs(), share * about.abs()),
        }
    }

    /// A shift as it is told: in percent of a ratio, else in the unit.
    pub(crate) fn told(self, shift: f64) -> f64 {
        match self {
            Self::Ratio => 100.0 * shift.exp_m1(),
            Self::Difference => shift,
        }
    }

    /// The change of the medians, as it is told.
    pub(crate) fn of_medians(self, before: &[f64], after: &[f64]) -> f64 {
        let (before, after) = (median(before), median(after));
        match self {
            Self::Ratio => 100.0 * (after / before - 1.0),
            Self::Difference => after - before,
        }
    }
}
