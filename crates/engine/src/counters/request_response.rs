//! What a request/response client counts.

use tapeline_base::MonoTime;
use tapeline_stats::Moments;
use zerocopy::{FromBytes, Immutable, IntoBytes};

use super::cell::{Counters, FlowCell, words};
use super::delay::DelaySeries;
use super::publisher::Publisher;

/// One-way delays between two ends whose clocks agree.
#[derive(Clone, Copy, Debug, Default, PartialEq, FromBytes, IntoBytes, Immutable)]
#[repr(C)]
pub struct OneWayDelays {
    /// To the server.
    pub transmit: DelaySeries,
    /// From the server.
    pub receive: DelaySeries,
    /// Absolute difference of the two.
    pub asymmetry: DelaySeries,
    /// Exchanges in which a delay was negative: the clocks do not agree. They count in none of
    /// the series.
    pub clock_errors: u64,
}

impl OneWayDelays {
    /// Counts the two delays of an exchange, nanoseconds.
    #[inline]
    pub fn add(&mut self, transmit_ns: i64, receive_ns: i64) {
        if transmit_ns < 0 || receive_ns < 0 {
            self.clock_errors += 1;
            return;
        }
        let (transmit, receive) = (transmit_ns as f64 * 1e-9, receive_ns as f64 * 1e-9);
        self.transmit.add(transmit);
        self.receive.add(receive);
        self.asymmetry.add((receive - transmit).abs());
    }

    /// A new interval begins.
    pub fn restart(&mut self) {
        self.transmit.restart();
        self.receive.restart();
        self.asymmetry.restart();
    }
}

/// A request/response client's counters.
#[derive(Clone, Copy, Debug, Default, PartialEq, FromBytes, IntoBytes, Immutable)]
#[repr(C)]
pub struct RequestResponseCounters {
    /// Bytes sent.
    pub sent: u64,
    /// Bytes received: those of responses, and of one that broke off.
    pub received: u64,
    /// Round-trip times, seconds.
    pub round_trips: Moments,
    /// The published percentiles in seconds, known at the end; NaN before.
    pub percentiles: [f64; 5],
    /// One-way delays, where the clocks agree.
    pub one_way: OneWayDelays,
    /// Time of the last response.
    pub last: MonoTime,
}

/// Cell of a request/response client.
pub type RequestResponseCell =
    FlowCell<RequestResponseCounters, { words::<RequestResponseCounters>() }>;
/// The one writer of an [`RequestResponseCell`]; its extremes are round trips.
pub type RequestResponsePublisher =
    Publisher<RequestResponseCounters, { words::<RequestResponseCounters>() }>;

impl Counters for RequestResponseCounters {}
