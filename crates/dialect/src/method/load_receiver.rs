//! What arrives of a load, counted for its sender and for the result.

use tapeline_base::{MonoTime, WallTime};
use tapeline_stats::SequenceTracker;
use tapeline_wire::native::{LoadEcho, MethodDatagram, Status};

use crate::native::clock_sync::nanos;

/// Numbers that are remembered: two seconds of a fast load.
const WINDOW: u64 = 1 << 20;

/// Counts the datagrams of a load. Reads no clock.
#[derive(Clone, Debug)]
pub struct LoadReceiver {
    sequence: SequenceTracker,
    bytes: u64,
    datagrams: u64,
    began: Option<MonoTime>,
    newest: MonoTime,
    /// First and last arrival by the time of day: a report's counts end with the last one, however late
    /// they were read.
    arrivals: (u64, u64),
    /// Smallest difference of arrival and departure, whose clocks differ: nanoseconds.
    smallest_transit: i64,
    /// Differences above the smallest since the last Status: sum and count. The smallest is that of the
    /// moment.
    variation: (f64, u64),
    /// The newest round trip since the last Status.
    round_trip: Option<u64>,
    /// Payload since the last Status that was sent.
    unreported: u64,
}

impl Default for LoadReceiver {
    fn default() -> Self {
        Self::new()
    }
}

impl LoadReceiver {
    /// Nothing has arrived.
    #[must_use]
    pub fn new() -> Self {
        Self {
            sequence: SequenceTracker::with_window(0, WINDOW),
            bytes: 0,
            datagrams: 0,
            began: None,
            newest: MonoTime::ZERO,
            arrivals: (u64::MAX, 0),
            smallest_transit: i64::MAX,
            variation: (0.0, 0),
            round_trip: None,
            unreported: 0,
        }
    }

    /// A datagram of the load with this payload arrived, by the time of day, and was read at `now`.
    pub fn take(
        &mut self,
        datagram: &MethodDatagram,
        payload: &[u8],
        arrival: WallTime,
        now: MonoTime,
    ) {
        self.began.get_or_insert(now);
        self.newest = now;
        let before = self.sequence.counts().received;
        self.sequence.observe(datagram.number.into());
        self.unreported = self.unreported.saturating_add(payload.len() as u64);
        if self.sequence.counts().received > before {
            self.datagrams += 1;
            self.bytes += payload.len() as u64;
        }
        let arrival = nanos(arrival);
        self.arrivals = (self.arrivals.0.min(arrival), self.arrivals.1.max(arrival));
        let transit = arrival.wrapping_sub(datagram.sent).cast_signed();
        self.smallest_transit = self.smallest_transit.min(transit);
        let above = transit.saturating_sub(self.smallest_transit);
        self.variation = (self.variation.0 + above as f64, self.variation.1 + 1);
        let echo = LoadEcho::parse(payload);
        if let Some(round_trip) = echo.and_then(|echo| echo.round_trip(arrival)) {
            self.round_trip = Some(round_trip);
        }
    }

    /// When the last datagram arrived; `None` before the first.
    #[must_use]
    pub fn newest(&self) -> Option<MonoTime> {
        self.began.map(|_| self.newest)
    }

    /// Payload of what has arrived once, bytes.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Payload that has arrived since the last [`status`](Self::status), bytes.
    #[must_use]
    pub fn unreported(&self) -> u64 {
        self.unreported
    }

    /// What there is to report, and the delays begin anew; nothing before the first datagram.
    /// `socket_drops` are those of this end so far, where they are known.
    pub fn status(&mut self, socket_drops: Option<u64>) -> Option<Status> {
        let status = self.so_far(socket_drops)?;
        self.variation = (0.0, 0);
        self.round_trip = None;
        self.unreported = 0;
        Some(status)
    }

    /// The same, and the delays go on.
    #[must_use]
    pub fn so_far(&self, socket_drops: Option<u64>) -> Option<Status> {
        self.began?;
        let (first, last) = self.arrivals;
        let counts = self.sequence.counts();
        let (sum, count) = self.variation;
        let mean = if count > 0 { sum / count as f64 } else { 0.0 };
        let highest = self.sequence.highest().unwrap_or(0);
        Some(Status {
            elapsed: last.saturating_sub(first),
            datagrams: self.datagrams,
            bytes: self.bytes,
            lost: counts.lost(),
            reordered: counts.reordered,
            duplicates: counts.duplicates,
            highest,
            round_trip: self.round_trip.unwrap_or(0),
            delay_variation: mean as u64,
            socket_drops: socket_drops.unwrap_or(u64::MAX),
        })
    }
}
