//! Offset between two clocks from exchanged time stamps.

use tapeline_base::WallTime;

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
        assert_eq!(exchange.asymmetry_ns(), 100_000_000);
    }

    #[test]
    fn absurd_stamps_do_not_overflow() {
        for stamps in [
            [i64::MIN, i64::MAX, i64::MIN, i64::MAX],
            [i64::MAX, i64::MIN, i64::MAX, i64::MIN],
        ] {
            assert!(exchange(stamps).offset_ns().is_finite());
        }
    }

    proptest! {
        #[test]
        fn the_offset_is_wrong_by_at_most_half_the_delay(
            offset in -1_000_000_000_i64..1_000_000_000,
            forward in 1_i64..1_000_000,
            hold in 0_i64..1_000,
            backward in 1_i64..1_000_000,
        ) {
            let received = forward + offset;
            let exchange = exchange([0, received, received + hold, forward + hold + backward]);
            prop_assert!((exchange.offset_ns() - offset as f64).abs() <= exchange.delay_ns() as f64 / 2.0);
        }
    }
}
