//! Offset between two clocks from exchanged time stamps.

use tapeline_base::WallTime;

/// Exchanges kept for the estimate: those with the smallest delay.
const KEPT: usize = 256;
/// Fewest exchanges that are averaged.
const FEWEST_AVERAGED: usize = 5;

/// One exchange of time stamps between a client and a server (RFC 5905, section 8).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClockExchange {
    /// T1: the client sends, its clock.
    pub client_send: WallTime,
    /// T2: the server receives, its clock.
    pub server_receive: WallTime,
    /// T3: the server sends, its clock.
    pub server_send: WallTime,
    /// T4: the client receives, its clock.
    pub client_receive: WallTime,
}

impl ClockExchange {
    /// T2 − T1 in nanoseconds: one-way delay to the server plus the offset.
    #[must_use]
    pub fn forward_ns(&self) -> i64 {
        self.server_receive.nanos_since(self.client_send)
    }

    /// T4 − T3 in nanoseconds: one-way delay to the client minus the offset.
    #[must_use]
    pub fn backward_ns(&self) -> i64 {
        self.client_receive.nanos_since(self.server_send)
    }

    /// Round trip without the server's hold, nanoseconds; the offset cancels.
    #[must_use]
    pub fn delay_ns(&self) -> i64 {
        self.forward_ns().saturating_add(self.backward_ns())
    }

    /// Half of the round trip, nanoseconds: the best one-way delay without
    /// synchronised clocks.
    #[must_use]
    pub fn half_ns(&self) -> f64 {
        self.delay_ns() as f64 / 2.0
    }

    /// Forward minus backward, nanoseconds. Half of it is the offset if the path is
    /// symmetric.
    #[must_use]
    pub fn asymmetry_ns(&self) -> i64 {
        self.forward_ns().saturating_sub(self.backward_ns())
    }

    /// The NTP estimate of the offset (server minus client), nanoseconds; wrong by at
    /// most half the delay.
    #[must_use]
    pub fn offset_ns(&self) -> f64 {
        self.asymmetry_ns() as f64 / 2.0
    }

    /// The offsets that this exchange allows, nanoseconds: T3 − T4 to T2 − T1.
    #[must_use]
    pub fn bounds_ns(&self) -> (i64, i64) {
        (self.backward_ns().saturating_neg(), self.forward_ns())
    }

    /// iperf 2's check of declared common clocks: neither direction took negative
    /// time. Passing it proves nothing; failing it proves a clock error.
    #[must_use]
    pub fn is_plausible_when_synced(&self) -> bool {
        self.forward_ns() >= 0 && self.backward_ns() >= 0
    }
}

/// Collects exchanges over a test (methodology 14.2). Feed them with skew removed.
#[derive(Clone, Debug)]
pub struct OffsetEstimator {
    /// Delay and offset of the exchanges with the smallest delays, ascending.
    best: Vec<(i64, f64)>,
    exchanges: u64,
    implausible: u64,
    lower_ns: i64,
    upper_ns: i64,
}

/// How far the server's clock is ahead of the client's.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct OffsetEstimate {
    /// Server minus client, nanoseconds: mean over the exchanges with the smallest
    /// delays.
    pub offset_ns: f64,
    /// No offset below this is possible, nanoseconds.
    pub lower_ns: i64,
    /// No offset above this is possible, nanoseconds.
    pub upper_ns: i64,
    /// Smallest delay of an exchange, nanoseconds.
    pub min_delay_ns: i64,
    /// Exchanges seen.
    pub exchanges: u64,
    /// Exchanges in which a direction took negative time: iperf 2's
    /// `Clock sync error count`.
    pub implausible: u64,
}

/// What is known about the two clocks (methodology 14.3). Decides whether a one-way
/// delay is shown and how.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClockState {
    /// Declared common and not contradicted: delays as measured.
    Synced,
    /// Delays corrected by the estimate, sure within half of the smallest delay.
    Estimated,
    /// No echo stamps: no one-way delay, only its variation.
    Unsynced,
    /// Declared common, but the exchanges prove otherwise.
    Conflict,
}

impl OffsetEstimator {
    /// No exchange yet.
    #[must_use]
    pub fn new() -> Self {
        Self {
            best: Vec::new(),
            exchanges: 0,
            implausible: 0,
            lower_ns: i64::MIN,
            upper_ns: i64::MAX,
        }
    }

    /// Counts an exchange.
    pub fn observe(&mut self, exchange: &ClockExchange) {
        let (lower, upper) = exchange.bounds_ns();
        self.exchanges += 1;
        self.implausible += u64::from(!exchange.is_plausible_when_synced());
        self.lower_ns = self.lower_ns.max(lower);
        self.upper_ns = self.upper_ns.min(upper);
        let delay = exchange.delay_ns();
        let place = self.best.partition_point(|(kept, _)| *kept <= delay);
        if place < KEPT {
            self.best.truncate(KEPT - 1);
            self.best.insert(place, (delay, exchange.offset_ns()));
        }
    }

    /// The estimate; nothing before the first exchange.
    #[must_use]
    pub fn estimate(&self) -> Option<OffsetEstimate> {
        let (min_delay_ns, _) = *self.best.first()?;
        let averaged = (self.best.len() / 3).max(FEWEST_AVERAGED);
        let averaged = &self.best[..averaged.min(self.best.len())];
        let sum: f64 = averaged.iter().map(|(_, offset)| offset).sum();
        Some(OffsetEstimate {
            offset_ns: sum / averaged.len() as f64,
            lower_ns: self.lower_ns,
            upper_ns: self.upper_ns,
            min_delay_ns,
            exchanges: self.exchanges,
            implausible: self.implausible,
        })
    }

    /// The state of the clocks; `declared_common` when the user or the operating
    /// system says that they agree.
    #[must_use]
    pub fn state(&self, declared_common: bool) -> ClockState {
        match (declared_common, self.estimate()) {
            (true, None) => ClockState::Synced,
            (true, Some(estimate)) if estimate.allows(0) => ClockState::Synced,
            (true, Some(_)) => ClockState::Conflict,
            (false, Some(_)) => ClockState::Estimated,
            (false, None) => ClockState::Unsynced,
        }
    }
}

impl Default for OffsetEstimator {
    fn default() -> Self {
        Self::new()
    }
}

impl OffsetEstimate {
    /// Largest error of the offset, nanoseconds: half of the smallest delay.
    #[must_use]
    pub fn error_ns(&self) -> f64 {
        self.min_delay_ns as f64 / 2.0
    }

    /// Whether some offset fits all exchanges. If none does, a clock drifted or was
    /// stepped, or stamps are bad.
    #[must_use]
    pub fn is_consistent(&self) -> bool {
        self.lower_ns <= self.upper_ns
    }

    /// Whether the exchanges allow this offset.
    #[must_use]
    pub fn allows(&self, offset_ns: i64) -> bool {
        self.lower_ns <= offset_ns && offset_ns <= self.upper_ns
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn exchange(stamps: [i64; 4]) -> ClockExchange {
        let [t1, t2, t3, t4] = stamps.map(WallTime::from_nanos);
        ClockExchange {
            client_send: t1,
            server_receive: t2,
            server_send: t3,
            client_receive: t4,
        }
    }

    #[test]
    fn vector_of_the_methodology() {
        // T1 100.000, T2 100.062, T3 100.063, T4 100.025 s.
        let exchange = exchange([100_000, 100_062, 100_063, 100_025].map(|ms| ms * 1_000_000));
        assert_eq!(exchange.delay_ns(), 24_000_000);
        assert_eq!(exchange.offset_ns(), 50e6);
        assert_eq!(exchange.bounds_ns(), (38_000_000, 62_000_000));
        assert!(!exchange.is_plausible_when_synced());
        assert_eq!(exchange.half_ns(), 12e6);
        assert_eq!(exchange.asymmetry_ns(), 100_000_000);
    }

    #[test]
    fn queued_exchanges_do_not_disturb_the_estimate() {
        let mut estimator = OffsetEstimator::new();
        for index in 0..60 {
            // One in three meets an empty queue; the others wait on the way there.
            let wait = if index % 3 == 0 { 0 } else { 1_000 * index };
            estimator.observe(&exchange([0, 500 + 100 + wait, 600 + wait, 200 + wait]));
        }
        let estimate = estimator.estimate().unwrap();
        assert_eq!(estimate.offset_ns, 500.0);
        assert_eq!((estimate.lower_ns, estimate.upper_ns), (400, 600));
        assert_eq!(estimate.error_ns(), 100.0);
        assert!(estimate.is_consistent() && estimate.allows(500) && !estimate.allows(0));
        assert_eq!(estimator.state(true), ClockState::Conflict);
        assert_eq!(estimator.state(false), ClockState::Estimated);
    }

    #[test]
    fn without_exchanges_nothing_is_known() {
        let estimator = OffsetEstimator::new();
        assert_eq!(estimator.estimate(), None);
        assert_eq!(estimator.state(false), ClockState::Unsynced);
        assert_eq!(estimator.state(true), ClockState::Synced);
    }

    #[test]
    fn a_step_leaves_no_consistent_offset() {
        let mut estimator = OffsetEstimator::new();
        estimator.observe(&exchange([0, 100, 100, 200]));
        estimator.observe(&exchange([1_000, 6_100, 6_100, 1_200]));
        let estimate = estimator.estimate().unwrap();
        assert!(!estimate.is_consistent());
        assert_eq!(estimate.implausible, 1);
    }

    #[test]
    fn absurd_stamps_do_not_overflow() {
        let mut estimator = OffsetEstimator::new();
        estimator.observe(&exchange([i64::MIN, i64::MAX, i64::MIN, i64::MAX]));
        estimator.observe(&exchange([i64::MAX, i64::MIN, i64::MAX, i64::MIN]));
        assert!(estimator.estimate().unwrap().offset_ns.is_finite());
    }

    proptest! {
        #[test]
        fn the_true_offset_is_always_allowed(
            offset in -1_000_000_000_i64..1_000_000_000,
            delays in prop::collection::vec((1_i64..1_000_000, 0_i64..1_000, 1_i64..1_000_000), 1..400),
        ) {
            let mut estimator = OffsetEstimator::new();
            for (forward, hold, backward) in delays {
                let received = forward + offset;
                estimator.observe(&exchange([0, received, received + hold, forward + hold + backward]));
            }
            let estimate = estimator.estimate().unwrap();
            prop_assert!(estimate.allows(offset));
            prop_assert!(estimate.lower_ns as f64 <= estimate.upper_ns as f64);
        }
    }
}
