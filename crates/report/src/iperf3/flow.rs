//! A stream, and the intervals of a test's streams.

use std::time::Duration;

use tapeline_base::FlowTag;

use crate::model::{Connected, Measure, Phase, Row, Span, TcpSend, TcpState, UdpReceive, UdpSend};

/// Windows and round-trip times of a sender, over its intervals.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct TcpMinMax {
    pub(crate) window: u64,
    pub(crate) send_window: u64,
    pub(crate) longest: u32,
    pub(crate) shortest: u32,
    sum: u64,
    count: u64,
}

impl TcpMinMax {
    fn add(&mut self, state: &TcpState) {
        self.window = self.window.max(state.window_bytes().unwrap_or(0));
        self.send_window = self.send_window.max(state.send_window.unwrap_or(0).into());
        let Some(rtt) = state.rtt_micros else {
            return;
        };
        self.shortest = if self.count == 0 {
            rtt
        } else {
            self.shortest.min(rtt)
        };
        self.longest = self.longest.max(rtt);
        self.sum += u64::from(rtt);
        self.count += 1;
    }

    /// Microseconds.
    pub(crate) fn mean(&self) -> u64 {
        self.sum.checked_div(self.count).unwrap_or(0)
    }
}

/// A stream.
#[derive(Clone, Debug)]
pub(crate) struct Iperf3Flow {
    pub(crate) tag: FlowTag,
    /// This end sends.
    pub(crate) sends: bool,
    pub(crate) connected: Option<Connected>,
    /// This end's count.
    pub(crate) total: Option<Row>,
    /// The peer's count.
    pub(crate) peer: Option<Row>,
    pub(crate) min_max: TcpMinMax,
    /// What the intervals reported so far add up to: bytes and datagrams.
    reported: (u64, u64),
    /// Place of the last interval.
    pub(crate) reached: Option<Place>,
}

impl Iperf3Flow {
    pub(crate) fn new(tag: FlowTag, sends: bool, connected: Option<Connected>) -> Self {
        Self {
            tag,
            sends,
            connected,
            total: None,
            peer: None,
            min_max: TcpMinMax::default(),
            reported: (0, 0),
            reached: None,
        }
    }

    /// Whether any of its rows has been reported.
    pub(crate) fn has_spoken(&self) -> bool {
        self.reached.is_some() || self.total.is_some()
    }

    pub(crate) fn observe(&mut self, row: &Row) {
        self.reached = Some(place(row));
        if let Measure::TcpSend(send) = &row.measure
            && let Some(state) = &send.state
        {
            self.min_max.add(state);
        }
        if row.phase == Phase::Interval {
            self.reported.0 += row.bytes;
            if let Measure::UdpSend(send) = &row.measure {
                self.reported.1 += send.writes;
            }
        }
    }

    /// The row of an interval behind its last one, where it is known that nothing passed in it: all
    /// that the flow counted has been reported before.
    fn silence(&self, span: Span) -> Option<Row> {
        let total = self.total.as_ref()?;
        let (_, end) = self.reached?;
        let begins_behind = end <= span.start + span.length() / 2;
        // What came a little after the last boundary stands in the interval before.
        let start = span.start.max(end);
        (self.reported.0 == total.bytes && begins_behind).then(|| Row {
            phase: Phase::Interval,
            span: Span { start, ..span },
            bytes: 0,
            measure: silent(&total.measure),
            ..total.clone()
        })
    }

    /// The last, partial interval of a UDP sender, which nobody else reports.
    pub(crate) fn remainder(&self, total: &Row, interval: Option<Duration>) -> Option<Row> {
        let Measure::UdpSend(sent) = &total.measure else {
            return None;
        };
        // Without an interval that counts it is the whole.
        let since = match self.reached {
            Some((true, end)) => end,
            Some((false, _)) | None => total.span.start,
        };
        let bytes = total.bytes.saturating_sub(self.reported.0);
        let lasts = interval.is_some() && total.span.end > since;
        (lasts && bytes > 0).then(|| {
            let mut row = total.clone();
            row.phase = Phase::Interval;
            row.span.start = since;
            row.bytes = bytes;
            row.measure = Measure::UdpSend(UdpSend {
                writes: sent.writes.saturating_sub(self.reported.1),
                ..UdpSend::default()
            });
            row
        })
    }
}

/// What stands next to no bytes, in columns that say how a flow stands.
fn silent(measure: &Measure) -> Measure {
    match measure {
        Measure::TcpSend(send) => Measure::TcpSend(TcpSend {
            retransmits: send.retransmits.map(|_| 0),
            state: send.state,
            ..TcpSend::default()
        }),
        Measure::UdpSend(_) => Measure::UdpSend(UdpSend::default()),
        Measure::UdpReceive(receive) => Measure::UdpReceive(UdpReceive {
            jitter: receive.jitter,
            ..UdpReceive::default()
        }),
        other => other.clone(),
    }
}

/// Omitted intervals come first; then the end counts.
pub(crate) type Place = (bool, Duration);

pub(crate) fn place(row: &Row) -> Place {
    (row.phase != Phase::Omitted, row.span.end)
}

/// The rows of all flows for one interval.
#[derive(Clone, Debug)]
pub(crate) struct Iperf3Interval {
    pub(crate) place: Place,
    /// By the number of the flow, ascending.
    pub(crate) rows: Vec<(usize, Row)>,
}

impl Iperf3Interval {
    pub(crate) fn takes(&self, flow: usize, row: &Row) -> bool {
        let (counts, end) = self.place;
        let near = |a: Duration, b: Duration| a.abs_diff(b) < row.span.length() / 2;
        // The last intervals of streams begin together and end with their streams.
        let together = self
            .rows
            .iter()
            .any(|(_, other)| near(other.span.start, row.span.start));
        (row.phase != Phase::Omitted) == counts
            && (together || near(end, row.span.end))
            && !self.holds(flow)
    }

    /// Gives each flow that has reported all before its place, as the reference does: streams end
    /// apart, and the last intervals hold what is left.
    pub(crate) fn fill(&mut self, flows: &[Iperf3Flow]) {
        let longest = self.rows.iter().map(|(_, row)| row.span);
        let Some(span) = longest.max_by_key(|span| span.length()) else {
            return;
        };
        for (number, flow) in flows.iter().enumerate() {
            if let Err(at) = self.find(number)
                && !self.omitted()
                && let Some(row) = flow.silence(span)
            {
                self.rows.insert(at, (number, row));
            }
        }
    }

    pub(crate) fn holds(&self, flow: usize) -> bool {
        self.find(flow).is_ok()
    }

    /// Where the row of a flow is, or would be.
    fn find(&self, flow: usize) -> Result<usize, usize> {
        self.rows.binary_search_by_key(&flow, |(other, _)| *other)
    }

    pub(crate) fn omitted(&self) -> bool {
        !self.place.0
    }

    /// Rows of some flows, whose numbers ascend.
    pub(crate) fn rows_of<'a>(&'a self, flows: &'a [usize]) -> impl Iterator<Item = &'a Row> {
        let of = |(flow, _): &&(usize, Row)| flows.binary_search(flow).is_ok();
        self.rows.iter().filter(of).map(|(_, row)| row)
    }
}
