//! Packet delay variation against the fastest packet.

use super::histogram::DelayHistogram;

/// Room below the fastest packet when the first histogram is laid out, nanoseconds.
const FIRST_HEADROOM: u64 = 1_000;
/// Most room: 1 ms costs a precision of 1 µs.
const MAX_HEADROOM: u64 = 1_000_000;

/// PDV of RFC 5481 (section 4.2): how much longer packets were under way than the
/// fastest one. A constant clock offset cancels, so no common clock is needed.
///
/// The fastest packet is not known beforehand. Transit times are therefore recorded
/// against a reference some room below the fastest so far; the rare packet below it
/// moves the reference and leaves more room.
#[derive(Clone, Debug, Default)]
pub struct DelayVariation {
    reference: i64,
    fastest: Option<i64>,
    headroom: u64,
    above_reference: DelayHistogram,
}

impl DelayVariation {
    /// No packet yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Counts a packet whose receive time minus send stamp is `transit_ns`.
    #[inline]
    pub fn observe(&mut self, transit_ns: i64) {
        if self.fastest.is_none_or(|fastest| transit_ns < fastest) {
            self.lower_to(transit_ns);
        }
        let above = transit_ns.saturating_sub(self.reference);
        self.above_reference.record(above);
    }

    fn lower_to(&mut self, transit_ns: i64) {
        let first = self.fastest.replace(transit_ns).is_none();
        if !first && transit_ns >= self.reference {
            return;
        }
        self.headroom = (self.headroom * 2).clamp(FIRST_HEADROOM, MAX_HEADROOM);
        let reference = transit_ns.saturating_sub_unsigned(self.headroom);
        if !first {
            let lowered = self.reference.abs_diff(reference);
            self.above_reference = self.above_reference.shifted(lowered);
        }
        self.reference = reference;
    }

    /// Packets counted.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.above_reference.count()
    }

    /// Transit time of the fastest packet, nanoseconds; includes the clock offset.
    #[must_use]
    pub fn fastest_ns(&self) -> Option<i64> {
        self.fastest
    }

    /// The `percent` percentile of the variation in nanoseconds, within a thousandth
    /// of it plus 1 µs. Nothing when there are too few packets, as in
    /// [`DelayHistogram::percentile`].
    #[must_use]
    pub fn percentile(&self, percent: f64) -> Option<u64> {
        let floor = self.fastest?.abs_diff(self.reference);
        let above = self.above_reference.percentile(percent)?;
        Some(above.saturating_sub(floor))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn of(transits: &[i64]) -> DelayVariation {
        let mut variation = DelayVariation::new();
        transits
            .iter()
            .for_each(|transit| variation.observe(*transit));
        variation
    }

    #[test]
    fn a_clock_offset_cancels() {
        for offset in [0, -3_600_000_000_000, 3_600_000_000_000] {
            let variation = of(&[50_000, 40_000, 70_000, 40_000].map(|ns| ns + offset));
            assert_eq!(variation.fastest_ns(), Some(40_000 + offset));
            assert_eq!(variation.percentile(100.0), Some(30_000));
            assert_eq!(variation.percentile(50.0), Some(0));
        }
    }

    #[test]
    fn nothing_is_known_without_packets_and_absurd_stamps_do_no_harm() {
        assert_eq!(DelayVariation::new().percentile(50.0), None);
        let variation = of(&[i64::MAX, i64::MIN, 0]);
        assert_eq!(variation.count(), 3);
        assert!(variation.percentile(100.0).is_some());
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn percentiles_agree_with_the_definition(
            transits in prop::collection::vec(-2_000_000_000..2_000_000_000_i64, 20..300),
        ) {
            let variation = of(&transits);
            let mut sorted = transits;
            sorted.sort_unstable();
            let rank = (sorted.len() as f64 * 0.9).ceil() as usize;
            let exact = sorted[rank - 1].abs_diff(sorted[0]);
            let found = variation.percentile(90.0).unwrap();
            // Recorded, shifted up to a few dozen times, and read at the upper edge.
            prop_assert!(found.abs_diff(exact) <= exact / 500 + 5_000_000, "{} {}", found, exact);
        }

        #[test]
        fn a_settled_reference_is_precise(
            transits in prop::collection::vec(0..10_000_000_i64, 20..300),
        ) {
            let mut variation = of(&[0]);
            transits.iter().for_each(|transit| variation.observe(*transit));
            let mut sorted = transits;
            sorted.push(0);
            sorted.sort_unstable();
            let rank = (sorted.len() as f64 * 0.9).ceil() as usize;
            let exact = sorted[rank - 1] as u64;
            let found = variation.percentile(90.0).unwrap();
            prop_assert!(found.abs_diff(exact) <= exact / 1_000 + 1_000);
        }
    }
}
