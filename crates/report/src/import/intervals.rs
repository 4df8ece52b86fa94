//! Intervals of a run, as small as a run of the largest size needs.

use serde::ser::SerializeSeq;
use serde::{Serialize, Serializer};
use serde_json::value::RawValue;
use tapeline_base::WallTime;

use crate::document::figures::time;
use crate::document::{CountedBy, DelaySummary, End, Interval};
use crate::model::FlowDirection;

/// Intervals that a run can have.
pub(crate) const MAX_INTERVALS: usize = 1 << 19;

/// The intervals of a run. They serialise to the array of its document.
#[derive(Debug)]
pub struct ImportedIntervals<'a>(Kept<'a>);

#[derive(Debug)]
enum Kept<'a> {
    /// Of a document of tapeline, as they stand there, and how many they are.
    Raw(&'a RawValue, usize),
    /// Of tapeline, a line each.
    Lines(Vec<&'a RawValue>),
    /// Of another program.
    Samples(Vec<Sample>),
}

impl<'a> ImportedIntervals<'a> {
    pub(crate) const fn raw(array: &'a RawValue, count: usize) -> Self {
        Self(Kept::Raw(array, count))
    }

    pub(crate) const fn lines(lines: Vec<&'a RawValue>) -> Self {
        Self(Kept::Lines(lines))
    }

    pub(crate) const fn samples(samples: Vec<Sample>) -> Self {
        Self(Kept::Samples(samples))
    }

    /// How many they are.
    #[must_use]
    pub fn len(&self) -> usize {
        match &self.0 {
            Kept::Raw(_, count) => *count,
            Kept::Lines(lines) => lines.len(),
            Kept::Samples(samples) => samples.len(),
        }
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl Serialize for ImportedIntervals<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match &self.0 {
            Kept::Raw(array, _) => array.serialize(serializer),
            Kept::Lines(lines) => lines.serialize(serializer),
            Kept::Samples(samples) => {
                let mut array = serializer.serialize_seq(Some(samples.len()))?;
                for sample in samples {
                    array.serialize_element(&sample.interval())?;
                }
                array.end()
            }
        }
    }
}

/// An interval of one stream: what other programs tell of it.
#[derive(Clone, Debug)]
pub(crate) struct Sample {
    pub(crate) stream: u32,
    pub(crate) direction: FlowDirection,
    pub(crate) counted_by: CountedBy,
    pub(crate) omitted: bool,
    /// When it ended.
    pub(crate) ended: Option<WallTime>,
    /// Seconds after the stream's start.
    pub(crate) start: f64,
    pub(crate) end: f64,
    pub(crate) seconds: f64,
    pub(crate) bytes: u64,
    pub(crate) bits_per_second: Option<f64>,
    pub(crate) detail: Detail,
    /// Delays that were measured in it.
    pub(crate) delays: Option<Box<Delays>>,
}

/// Delays of an interval: one-way ones of data, or round trips of requests.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Delays {
    pub(crate) samples: Option<u64>,
    pub(crate) min_ms: Option<f64>,
    pub(crate) mean_ms: Option<f64>,
    pub(crate) max_ms: Option<f64>,
}

/// What only some streams have.
#[derive(Clone, Debug, Default)]
pub(crate) enum Detail {
    /// Nothing.
    #[default]
    None,
    /// A sender over TCP.
    TcpSend {
        retransmits: Option<u64>,
        cwnd_bytes: Option<u64>,
        in_flight_bytes: Option<u64>,
        rtt_ms: Option<f64>,
        rtt_variance_ms: Option<f64>,
    },
    /// A sender of datagrams.
    UdpSend { packets: Option<u64> },
    /// A receiver of datagrams.
    UdpReceive {
        packets: Option<u64>,
        lost: Option<u64>,
        jitter_ms: Option<f64>,
    },
}

impl Sample {
    /// What it counted.
    pub(crate) fn end(&self) -> End {
        End {
            bytes: Some(self.bytes),
            seconds: Some(self.seconds),
            bits_per_second: self.bits_per_second,
            ..End::default()
        }
    }

    /// The delays of a total.
    pub(crate) fn delays(&self) -> Option<DelaySummary> {
        self.delays.as_ref().map(|delays| DelaySummary {
            samples: delays.samples,
            min_ms: delays.min_ms,
            mean_ms: delays.mean_ms,
            max_ms: delays.max_ms,
            ..DelaySummary::default()
        })
    }

    /// A receiver's row of datagrams that turns out to be a sender's.
    pub(crate) fn turn_to_sender(&mut self) {
        self.counted_by = CountedBy::Sender;
        if let Detail::UdpReceive { packets, .. } = self.detail {
            self.detail = Detail::UdpSend { packets };
        }
    }

    pub(crate) fn interval(&self) -> Interval {
        let mut interval = Interval {
            time: self.ended.map(time),
            start_seconds: self.start,
            end_seconds: self.end,
            seconds: self.seconds,
            omitted: self.omitted,
            bytes: self.bytes,
            bits_per_second: self.bits_per_second,
            ..Interval::new(self.stream, self.direction, self.counted_by)
        };
        if let Some(delays) = &self.delays {
            interval.delay_samples = delays.samples;
            interval.delay_min_ms = delays.min_ms;
            interval.delay_mean_ms = delays.mean_ms;
            interval.delay_max_ms = delays.max_ms;
        }
        match self.detail {
            Detail::None => {}
            Detail::TcpSend {
                retransmits,
                cwnd_bytes,
                in_flight_bytes,
                rtt_ms,
                rtt_variance_ms,
            } => {
                interval.retransmits = retransmits;
                interval.cwnd_bytes = cwnd_bytes;
                interval.in_flight_bytes = in_flight_bytes;
                interval.rtt_ms = rtt_ms;
                interval.rtt_variance_ms = rtt_variance_ms;
            }
            Detail::UdpSend { packets } => interval.packets = packets,
            Detail::UdpReceive {
                packets,
                lost,
                jitter_ms,
            } => {
                interval.packets = packets;
                interval.lost = lost;
                interval.jitter_ms = jitter_ms;
            }
        }
        interval
    }
}
