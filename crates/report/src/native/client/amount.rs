//! What rows of one direction come to, counted at one end.

use tapeline_base::BitRate;

use crate::model::{LossPattern, Measure, Row, Span, TcpState};

/// Which way data goes, seen from the client.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Way {
    /// The client sends.
    ToServer,
    /// The server sends.
    FromServer,
}

impl Way {
    pub(crate) const BOTH: [Self; 2] = [Self::ToServer, Self::FromServer];

    /// That of a row which this end counted.
    pub(crate) fn of(row: &Row) -> Self {
        Self::sent_here(row.measure.sends())
    }

    pub(crate) fn sent_here(here: bool) -> Self {
        if here {
            Self::ToServer
        } else {
            Self::FromServer
        }
    }

    /// Its words.
    pub(crate) const fn words(self) -> &'static str {
        match self {
            Self::ToServer => "to server",
            Self::FromServer => "from server",
        }
    }
}

/// Rows of one direction, counted at one end, added up.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Amount {
    pub(crate) streams: usize,
    pub(crate) span: Span,
    pub(crate) bytes: u64,
    /// Of a sender, where its system tells.
    pub(crate) retransmits: Option<u64>,
    /// Of a single TCP sender.
    pub(crate) state: Option<TcpState>,
    /// Sent, or received once.
    pub(crate) datagrams: Option<u64>,
    /// Sends that failed.
    pub(crate) errors: u64,
    /// Lost, and sent as far as the receiver knows.
    pub(crate) lost: Option<(u64, u64)>,
    pub(crate) reordered: u64,
    pub(crate) duplicates: u64,
    /// Both together, of a receiver that does not distinguish them.
    pub(crate) disordered: u64,
    /// The worst of all streams, seconds.
    pub(crate) jitter: Option<f64>,
    pub(crate) pattern: Option<LossPattern>,
}

impl Amount {
    /// All of them; `None` where there are none.
    pub(crate) fn of<'a>(rows: impl IntoIterator<Item = &'a Row>) -> Option<Self> {
        let mut sum: Option<Self> = None;
        for row in rows {
            sum = Some(match sum {
                Some(sum) => sum.with(Self::one(row)),
                None => Self::one(row),
            });
        }
        sum
    }

    fn one(row: &Row) -> Self {
        let mut one = Self {
            streams: 1,
            span: row.span,
            bytes: row.bytes,
            ..Self::default()
        };
        match &row.measure {
            Measure::TcpSend(send) => {
                one.retransmits = send.retransmits;
                one.state = send.state;
            }
            Measure::UdpSend(send) => {
                one.datagrams = Some(send.writes);
                one.errors = send.errors;
            }
            Measure::UdpReceive(receive) => {
                one.datagrams = Some(receive.total.saturating_sub(receive.lost));
                one.lost = Some((receive.lost, receive.total));
                if receive.reordered + receive.duplicates == receive.out_of_order {
                    one.reordered = receive.reordered;
                    one.duplicates = receive.duplicates;
                } else {
                    one.disordered = receive.out_of_order;
                }
                one.jitter = match row.is_total() {
                    true => receive.jitter_mean.or(receive.jitter),
                    false => receive.jitter,
                };
                one.pattern = receive.pattern;
            }
            Measure::TcpReceive(_) | Measure::RequestResponse(_) | Measure::Both { .. } => {}
        }
        one
    }

    fn with(self, other: Self) -> Self {
        let sum = |a: Option<u64>, b: Option<u64>| match (a, b) {
            (Some(a), Some(b)) => Some(a.saturating_add(b)),
            (a, b) => a.or(b),
        };
        Self {
            streams: self.streams.saturating_add(other.streams),
            span: Span {
                start: self.span.start.min(other.span.start),
                end: self.span.end.max(other.span.end),
            },
            bytes: self.bytes.saturating_add(other.bytes),
            retransmits: sum(self.retransmits, other.retransmits),
            state: None,
            datagrams: sum(self.datagrams, other.datagrams),
            errors: self.errors.saturating_add(other.errors),
            lost: match (self.lost, other.lost) {
                (Some((lost, all)), Some((more, of))) => {
                    Some((lost.saturating_add(more), all.saturating_add(of)))
                }
                (a, b) => a.or(b),
            },
            reordered: self.reordered.saturating_add(other.reordered),
            duplicates: self.duplicates.saturating_add(other.duplicates),
            disordered: self.disordered.saturating_add(other.disordered),
            jitter: match (self.jitter, other.jitter) {
                (Some(a), Some(b)) => Some(a.max(b)),
                (a, b) => a.or(b),
            },
            pattern: match (self.pattern, other.pattern) {
                (Some(a), Some(b)) => Some(a.with(b)),
                (a, b) => a.or(b),
            },
        }
    }

    /// Bits per second.
    pub(crate) fn rate(&self) -> f64 {
        BitRate::over(self.bytes, self.span.length())
    }

    /// Share of the datagrams that was lost, 0 to 1.
    pub(crate) fn loss(&self) -> Option<f64> {
        let (lost, all) = self.lost?;
        Some(lost as f64 / all.max(1) as f64)
    }
}
