//! The streams that the view shows.

use std::collections::BTreeMap;
use std::time::Duration;

use tapeline_base::{BitRate, FlowTag};
use tapeline_report::{Measure, Phase, Row, Subject};
use tapeline_stats::Moments;

/// One direction of a stream.
#[derive(Clone, Debug)]
pub(crate) struct Stream {
    pub(crate) sends: bool,
    /// The peer's address, where it is known.
    pub(crate) peer: Option<String>,
    /// Over the latest row, of one that has ended over all of it; bits per second.
    pub(crate) rate: f64,
    /// So far.
    pub(crate) bytes: u64,
    /// From its start to the end of the latest row.
    pub(crate) elapsed: Duration,
    pub(crate) counts: Counts,
    pub(crate) ended: bool,
}

/// What only some streams count, since their start.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Counts {
    /// Retransmitted segments.
    pub(crate) retransmits: Option<u64>,
    /// The latest congestion window, bytes.
    pub(crate) window: Option<u64>,
    /// The latest smoothed round trip, seconds.
    pub(crate) round_trip: Option<f64>,
    /// Sent, or received once.
    pub(crate) datagrams: Option<u64>,
    /// Lost, and sent as far as the receiver knows.
    pub(crate) lost: Option<(u64, u64)>,
    /// The latest jitter, of several streams the worst; seconds.
    pub(crate) jitter: Option<f64>,
    /// Round trips of requests, seconds.
    pub(crate) requests: Option<Moments>,
}

/// All streams that are known, in the order of their numbers; what the client sends comes first.
#[derive(Clone, Debug, Default)]
pub(crate) struct Streams(BTreeMap<(FlowTag, bool), Stream>);

impl Streams {
    /// Takes a row.
    pub(crate) fn observe(&mut self, row: &Row) {
        let Subject::Flow(tag) = row.subject else {
            return;
        };
        let sends = row.measure.sends();
        let stream = self.0.entry((tag, !sends)).or_insert_with(|| Stream {
            sends,
            peer: row.endpoints.map(|ends| ends.peer.to_string()),
            rate: 0.0,
            bytes: 0,
            elapsed: Duration::ZERO,
            counts: Counts::default(),
            ended: false,
        });
        let new = Counts::of(&row.measure);
        stream.rate = BitRate::over(row.bytes, row.span.length());
        stream.elapsed = row.span.end;
        if row.phase == Phase::Total {
            // All of it, whatever was reported before; momentary values are none of a whole test.
            stream.bytes = row.bytes;
            stream.ended = true;
            stream.counts = Counts {
                window: None,
                round_trip: None,
                ..new
            };
        } else {
            stream.bytes += row.bytes;
            stream.counts = stream.counts.followed_by(new);
        }
    }

    /// Forgets all of them.
    pub(crate) fn clear(&mut self) {
        self.0.clear();
    }

    /// Forgets those that have ended.
    pub(crate) fn forget_ended(&mut self) {
        self.0.retain(|_, stream| !stream.ended);
    }

    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    pub(crate) fn running(&self) -> usize {
        self.0.values().filter(|stream| !stream.ended).count()
    }

    /// With their numbers.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (u32, &Stream)> {
        self.0.iter().map(|((tag, _), stream)| (tag.id.0, stream))
    }

    /// Mean of the latest round trips of those that run, seconds.
    pub(crate) fn round_trip(&self) -> Option<f64> {
        let running = self.0.values().filter(|stream| !stream.ended);
        let known: Moments = running
            .filter_map(|stream| stream.counts.round_trip)
            .collect();
        (!known.is_empty()).then_some(known.mean)
    }

    /// Those that carry data in one direction, added up; `None` where there are none.
    pub(crate) fn sum(&self, sends: bool) -> Option<Stream> {
        let streams = self.0.values();
        Self::added(streams.filter(|one| one.sends == sends && one.counts.requests.is_none()))
    }

    /// All of them, added up.
    pub(crate) fn total(&self) -> Option<Stream> {
        Self::added(self.0.values())
    }

    fn added<'a>(streams: impl Iterator<Item = &'a Stream>) -> Option<Stream> {
        let mut sum: Option<Stream> = None;
        for stream in streams {
            let Some(sum) = &mut sum else {
                sum = Some(stream.clone());
                continue;
            };
            sum.rate += stream.rate;
            sum.bytes += stream.bytes;
            sum.elapsed = sum.elapsed.max(stream.elapsed);
            sum.ended &= stream.ended;
            sum.counts = sum.counts.beside(stream.counts);
        }
        sum
    }
}

impl Stream {
    /// Bits per second since its start.
    pub(crate) fn mean(&self) -> f64 {
        BitRate::over(self.bytes, self.elapsed)
    }
}

impl Counts {
    fn of(measure: &Measure) -> Self {
        match measure {
            Measure::TcpSend(send) => {
                let state = send.state.unwrap_or_default();
                let micros = state.rtt_micros;
                Self {
                    retransmits: send.retransmits,
                    window: state.window_bytes(),
                    round_trip: micros.map(|micros| f64::from(micros) * 1e-6),
                    ..Self::default()
                }
            }
            Measure::UdpSend(send) => Self {
                datagrams: Some(send.writes),
                ..Self::default()
            },
            Measure::UdpReceive(receive) => Self {
                datagrams: Some(receive.total.saturating_sub(receive.lost)),
                lost: Some((receive.lost, receive.total)),
                jitter: receive.jitter,
                ..Self::default()
            },
            Measure::RequestResponse(requests) => Self {
                requests: Some(requests.round_trips),
                ..Self::default()
            },
            Measure::TcpReceive(_) | Measure::Both { .. } => Self::default(),
        }
    }

    /// With what an interval adds.
    fn followed_by(self, new: Self) -> Self {
        Self {
            window: new.window.or(self.window),
            round_trip: new.round_trip.or(self.round_trip),
            jitter: new.jitter.or(self.jitter),
            ..self.beside(new)
        }
    }

    /// With those of another stream; momentary values of one only.
    fn beside(self, other: Self) -> Self {
        let sum = |a: Option<u64>, b: Option<u64>| match (a, b) {
            (Some(a), Some(b)) => Some(a.saturating_add(b)),
            (a, b) => a.or(b),
        };
        Self {
            retransmits: sum(self.retransmits, other.retransmits),
            window: None,
            round_trip: None,
            datagrams: sum(self.datagrams, other.datagrams),
            lost: match (self.lost, other.lost) {
                (Some((lost, all)), Some((more, of))) => Some((lost + more, all + of)),
                (a, b) => a.or(b),
            },
            jitter: match (self.jitter, other.jitter) {
                (Some(a), Some(b)) => Some(a.max(b)),
                (a, b) => a.or(b),
            },
            requests: match (self.requests, other.requests) {
                (Some(mut a), Some(b)) => {
                    a.merge(&b);
                    Some(a)
                }
                (a, b) => a.or(b),
            },
        }
    }
}
