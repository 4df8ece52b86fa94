//! What a UDP receiver counts.

use tapeline_base::MonoTime;
use tapeline_stats::Moments;

use super::exchange::SERIES;
use super::{DelaySeries, Extremes, FlowCell, Publisher, Words};

/// Words of the published counters.
const WORDS: usize = OWN + SERIES;
/// Words before the series of frame latencies.
const OWN: usize = 34;

/// Frames of which datagrams arrived.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct FrameArrivals {
    /// Frames complete.
    pub received: u64,
    /// Frames of which something is missing.
    pub lost: u64,
    /// Arrival of a frame's last byte minus the time it was due, seconds.
    pub latency: DelaySeries,
}

/// What was wrong with packets of a flow below UDP, where somebody looked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LinkFaults {
    /// Lengths that do not fit together.
    pub length: u64,
    /// Wrong checksums.
    pub checksum: u64,
    /// Parts of datagrams.
    pub unknown: u64,
}

/// How losses and late datagrams lie in a flow. Its longest run and silence are known at its end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ArrivalPattern {
    /// Largest reordering extent (RFC 4737): distinct datagrams that came between the first later one and a
    /// late one.
    pub longest_extent: u64,
    /// The same of datagrams that came in the running interval.
    pub interval_extent: u64,
    /// Runs of consecutive losses so far.
    pub loss_runs: u64,
    /// Datagrams of the longest one.
    pub longest_loss_run: u64,
    /// Longest time without an arrival, nanoseconds.
    pub silence_ns: u64,
    /// When it began, nanoseconds after the first arrival.
    pub silence_start_ns: u64,
}

/// A UDP receiver's counters.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct DatagramCounters {
    /// Payload bytes, duplicates included, as iperf counts.
    pub bytes: u64,
    /// Distinct datagrams.
    pub received: u64,
    /// One more than the highest sequence number, counted from the first possible one.
    pub total: u64,
    /// Missing so far, late arrivals taken back.
    pub lost: u64,
    /// Arrived after a later one.
    pub reordered: u64,
    /// Arrived again.
    pub duplicates: u64,
    /// Sequence numbers skipped upward (iperf 2's lost counter, before correction).
    pub skipped: u64,
    /// Arrivals not above the highest number (iperf 2's out of order).
    pub out_of_order: u64,
    /// Datagrams longer than the receive buffer.
    pub truncated: u64,
    /// Running jitter, nanoseconds.
    pub jitter_ns: f64,
    /// Count and mean of all running jitter values, nanoseconds.
    pub jitter_count: u64,
    /// See `jitter_count`.
    pub jitter_mean_ns: f64,
    /// Transit times, seconds.
    pub transit: Moments,
    /// Frames, where the traffic has any.
    pub frames: FrameArrivals,
    /// Datagrams marked with congestion experienced (ECN).
    pub marked: u64,
    /// Datagrams that came joined with others and share their arrival.
    pub joined: u64,
    /// Faults below UDP.
    pub link: LinkFaults,
    /// How losses lie in the flow.
    pub pattern: ArrivalPattern,
    /// Time of the last datagram.
    pub last: MonoTime,
}

/// Cell of a UDP receiver.
pub type DatagramCell = FlowCell<DatagramCounters, WORDS>;
/// The one writer of a [`DatagramCell`]; its extremes are transit times.
pub type DatagramPublisher = Publisher<DatagramCounters, WORDS>;

impl Words<WORDS> for DatagramCounters {
    #[inline]
    fn to_words(&self, extremes: &Extremes) -> [u64; WORDS] {
        let [interval, low, high] = extremes.to_words();
        let own: [u64; OWN] = [
            self.bytes,
            self.received,
            self.total,
            self.lost,
            self.reordered,
            self.duplicates,
            self.skipped,
            self.out_of_order,
            self.truncated,
            self.jitter_ns.to_bits(),
            self.jitter_count,
            self.jitter_mean_ns.to_bits(),
            self.transit.count,
            self.transit.mean.to_bits(),
            self.transit.m2.to_bits(),
            self.transit.min.to_bits(),
            self.transit.max.to_bits(),
            self.last.as_nanos(),
            interval,
            low,
            high,
            self.frames.received,
            self.frames.lost,
            self.marked,
            self.link.length,
            self.link.checksum,
            self.link.unknown,
            self.joined,
            self.pattern.longest_extent,
            self.pattern.loss_runs,
            self.pattern.longest_loss_run,
            self.pattern.silence_ns,
            self.pattern.silence_start_ns,
            self.pattern.interval_extent,
        ];
        let mut words = [0; WORDS];
        let (front, series) = words.split_at_mut(OWN);
        front.copy_from_slice(&own);
        series.copy_from_slice(&self.frames.latency.to_words());
        words
    }

    fn from_words(w: [u64; WORDS]) -> (Self, Extremes) {
        let f = |i: usize| f64::from_bits(w[i]);
        let counters = Self {
            bytes: w[0],
            received: w[1],
            total: w[2],
            lost: w[3],
            reordered: w[4],
            duplicates: w[5],
            skipped: w[6],
            out_of_order: w[7],
            truncated: w[8],
            jitter_ns: f(9),
            jitter_count: w[10],
            jitter_mean_ns: f(11),
            transit: Moments {
                count: w[12],
                mean: f(13),
                m2: f(14),
                min: f(15),
                max: f(16),
            },
            last: MonoTime::from_nanos(w[17]),
            frames: FrameArrivals {
                received: w[21],
                lost: w[22],
                latency: DelaySeries::from_words(&w[OWN..]),
            },
            marked: w[23],
            joined: w[27],
            pattern: ArrivalPattern {
                longest_extent: w[28],
                loss_runs: w[29],
                longest_loss_run: w[30],
                silence_ns: w[31],
                silence_start_ns: w[32],
                interval_extent: w[33],
            },
            link: LinkFaults {
                length: w[24],
                checksum: w[25],
                unknown: w[26],
            },
        };
        (counters, Extremes::from_words([w[18], w[19], w[20]]))
    }
}
