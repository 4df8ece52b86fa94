//! The flows that the view shows.

use tapeline_base::FlowTag;
use tapeline_report::{Measure, Phase, Row, Subject};

/// Flows that are kept; a server's ended ones go first.
const MAX_FLOWS: usize = 1024;

/// One direction of one flow.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct FlowLine {
    pub(crate) tag: FlowTag,
    pub(crate) sends: bool,
    /// The peer, where it is known.
    pub(crate) peer: Option<String>,
    /// Over the latest row, bits per second.
    pub(crate) rate: f64,
    /// So far.
    pub(crate) bytes: u64,
    pub(crate) kind: Kind,
    pub(crate) ended: bool,
}

/// What only some flows have.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Kind {
    /// A sender over TCP: segments sent again so far, round-trip time (ms), window (bytes).
    TcpSend {
        retransmits: Option<u64>,
        rtt: Option<f64>,
        window: Option<u64>,
    },
    /// A receiver over TCP.
    TcpReceive,
    /// A sender over UDP: datagrams so far.
    UdpSend { datagrams: u64 },
    /// A receiver over UDP: lost and sent datagrams so far, jitter (ms).
    UdpReceive {
        lost: u64,
        sent: u64,
        jitter: Option<f64>,
    },
    /// Requests and responses: how many so far, the latest mean round trip (ms).
    Exchange { responses: u64, rtt: Option<f64> },
}

/// All flows that are known.
#[derive(Clone, Debug, Default)]
pub(crate) struct Flows(Vec<FlowLine>);

impl Flows {
    /// Takes a row.
    pub(crate) fn observe(&mut self, row: &Row) {
        let Subject::Flow(tag) = row.subject else {
            return;
        };
        let seconds = row.span.length().as_secs_f64();
        let rate = if seconds > 0.0 {
            row.bytes as f64 * 8.0 / seconds
        } else {
            0.0
        };
        let Some(new) = Kind::for_measure(&row.measure) else {
            return;
        };
        let total = row.phase == Phase::Total;
        let line = self.line(tag, row);
        line.rate = rate;
        if total {
            // All of it, whatever was reported before.
            (line.bytes, line.kind, line.ended) = (row.bytes, new, true);
        } else {
            line.bytes += row.bytes;
            line.kind = line.kind.after(new);
        }
    }

    fn line(&mut self, tag: FlowTag, row: &Row) -> &mut FlowLine {
        let known = self
            .0
            .iter()
            .rposition(|line| line.tag == tag && !line.ended);
        let index = known.unwrap_or_else(|| {
            if self.0.len() >= MAX_FLOWS {
                let old = self.0.iter().position(|line| line.ended).unwrap_or(0);
                self.0.remove(old);
            }
            let sends = row.measure.sends();
            self.0.push(FlowLine {
                tag,
                sends,
                peer: row.endpoints.map(|ends| ends.peer.to_string()),
                rate: 0.0,
                bytes: 0,
                kind: Kind::for_measure(&row.measure).map_or(Kind::TcpReceive, Kind::none),
                ended: false,
            });
            self.0.len() - 1
        });
        &mut self.0[index]
    }

    /// Forgets all of them.
    pub(crate) fn clear(&mut self) {
        self.0.clear();
    }

    /// Running ones first, each in the order of their beginnings.
    pub(crate) fn shown(&self) -> impl Iterator<Item = &FlowLine> {
        let running = self.0.iter().filter(|line| !line.ended);
        running.chain(self.0.iter().rev().filter(|line| line.ended))
    }

    pub(crate) fn running(&self) -> usize {
        self.0.iter().filter(|line| !line.ended).count()
    }

    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    /// Lost and sent datagrams of all receivers.
    pub(crate) fn losses(&self) -> Option<(u64, u64)> {
        let mut sum = None;
        for line in &self.0 {
            if let Kind::UdpReceive { lost, sent, .. } = line.kind {
                let (all_lost, all_sent) = sum.unwrap_or((0, 0));
                sum = Some((all_lost + lost, all_sent + sent));
            }
        }
        sum
    }
}

impl Kind {
    fn for_measure(measure: &Measure) -> Option<Self> {
        Some(match measure {
            Measure::TcpSend(send) => {
                let state = send.state.unwrap_or_default();
                Self::TcpSend {
                    retransmits: send.retransmits,
                    rtt: state.rtt_micros.map(|micros| f64::from(micros) / 1e3),
                    window: state.window_bytes(),
                }
            }
            Measure::TcpReceive(_) => Self::TcpReceive,
            Measure::UdpSend(send) => Self::UdpSend {
                datagrams: send.writes,
            },
            Measure::UdpReceive(receive) => Self::UdpReceive {
                lost: receive.lost,
                sent: receive.total,
                jitter: receive.jitter.map(|seconds| seconds * 1e3),
            },
            Measure::RequestResponse(exchange) => {
                let trips = &exchange.round_trips;
                Self::Exchange {
                    responses: trips.count,
                    rtt: (trips.count > 0).then_some(trips.mean * 1e3),
                }
            }
            Measure::Both { .. } => return None,
        })
    }

    /// Of the same kind, with nothing counted.
    fn none(self) -> Self {
        match self {
            Self::TcpSend { .. } => Self::TcpSend {
                retransmits: None,
                rtt: None,
                window: None,
            },
            Self::TcpReceive => Self::TcpReceive,
            Self::UdpSend { .. } => Self::UdpSend { datagrams: 0 },
            Self::UdpReceive { .. } => Self::UdpReceive {
                lost: 0,
                sent: 0,
                jitter: None,
            },
            Self::Exchange { .. } => Self::Exchange {
                responses: 0,
                rtt: None,
            },
        }
    }

    /// With what an interval adds.
    fn after(self, new: Self) -> Self {
        match (self, new) {
            (
                Self::TcpSend {
                    retransmits: old, ..
                },
                Self::TcpSend {
                    retransmits,
                    rtt,
                    window,
                },
            ) => Self::TcpSend {
                retransmits: retransmits.map(|new| new + old.unwrap_or(0)),
                rtt,
                window,
            },
            (Self::UdpSend { datagrams: old }, Self::UdpSend { datagrams }) => Self::UdpSend {
                datagrams: old + datagrams,
            },
            (
                Self::UdpReceive {
                    lost: old_lost,
                    sent: old_sent,
                    jitter: old,
                },
                Self::UdpReceive { lost, sent, jitter },
            ) => Self::UdpReceive {
                lost: old_lost + lost,
                sent: old_sent + sent,
                jitter: jitter.or(old),
            },
            (
                Self::Exchange {
                    responses: before,
                    rtt: old,
                },
                Self::Exchange { responses, rtt },
            ) => Self::Exchange {
                responses: before + responses,
                rtt: rtt.or(old),
            },
            (_, new) => new,
        }
    }
}
