//! Histograms, start times, clock checks and connect times.

use std::time::Duration;

use tapeline_base::{FlowTag, Role, WallTime};
use tapeline_stats::{LinearHistogram, Moments};

use super::{Phase, Span};

/// What a histogram is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HistogramKind {
    /// `T8`: one-way delay of datagrams.
    Transit,
    /// `F8`: latency of TCP bursts and isochronous frames.
    Frame,
    /// `J8`: differences of transit times.
    Jitter,
    /// `W8`: durations of writes.
    Write,
    /// `BB8`: round trips.
    RoundTrip,
    /// `OWD-TX`: requests on their way to the server.
    Transmit,
    /// `OWD-RX`: responses on their way back.
    Receive,
}

/// A histogram of an interval or of a whole test.
#[derive(Clone, Debug)]
pub struct HistogramRow {
    /// The flow.
    pub tag: FlowTag,
    /// Interval or total.
    pub phase: Phase,
    /// Time covered.
    pub span: Span,
    /// What it is of.
    pub kind: HistogramKind,
    /// Bins are shown in microseconds rather than milliseconds.
    pub in_micros: bool,
    /// The counts.
    pub histogram: LinearHistogram,
}

/// Only counts and bins are compared.
impl PartialEq for HistogramRow {
    fn eq(&self, other: &Self) -> bool {
        (self.tag, self.phase, self.kind) == (other.tag, other.phase, other.kind)
            && self.histogram.bins().eq(other.histogram.bins())
    }
}

/// When traffic is to start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StartDelay {
    /// The flow.
    pub tag: FlowTag,
    /// Which end says so.
    pub role: Role,
    /// Time of day of the start.
    pub start: WallTime,
    /// Time of day now; a start before it takes place at once.
    pub now: WallTime,
}

/// One exchange of times with a server (`-X --trip-times`), seconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ClockCheck {
    /// The flow.
    pub tag: FlowTag,
    /// Round trip.
    pub round_trip: f64,
    /// Client to server by the two clocks; negative when they disagree.
    pub send: f64,
    /// Server to client.
    pub acknowledge: f64,
}

/// Connections without data (`--connect-only`), at the end.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ConnectTimes {
    /// Durations of connect(), seconds.
    pub times: Moments,
    /// Attempts that failed.
    pub errors: u64,
}

/// Lengths that a bra-ket chain chose.
#[derive(Clone, Debug, PartialEq)]
pub struct MarkovReport {
    /// The flow.
    pub tag: FlowTag,
    /// The chain as written.
    pub text: String,
    /// Lengths, bytes.
    pub lengths: Vec<u32>,
    /// Probabilities by row.
    pub probabilities: Vec<Vec<f64>>,
    /// How often each transition was taken, by row.
    pub counts: Vec<Vec<u64>>,
}

/// How late the frames of an isochronous sender were, seconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ScheduleErrors {
    /// The flow.
    pub tag: FlowTag,
    /// Start of a frame minus its tick.
    pub errors: Moments,
}

/// How a UDP sender's datagrams left, at its end.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SendTiming {
    /// The flow.
    pub tag: FlowTag,
    /// Most datagrams that left with one call; 1 where each had a call of its own.
    pub group: u64,
    /// How the gaps were kept, where they were to be equal.
    pub gaps: Option<GapErrors>,
}

/// How a paced sender kept its gaps, by its own clock.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GapErrors {
    /// The gap asked for.
    pub gap: Duration,
    /// Median distance of gaps from it.
    pub p50: Duration,
    /// 99th percentile.
    pub p99: Duration,
    /// Largest.
    pub max: Duration,
    /// Share of gaps below a fifth of it, 0 to 1.
    pub back_to_back: f64,
    /// Datagrams that left later than one gap, and 50 us, after their time.
    pub late: u64,
}
