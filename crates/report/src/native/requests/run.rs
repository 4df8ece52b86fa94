//! What is known of a test of requests, or of connections without data.

use std::collections::BTreeMap;

use tapeline_base::FlowTag;
use tapeline_stats::Verdict;

use crate::model::{
    ClientBanner, ConnectTimes, Connected, ConnectionFlavour, CountedBy, Event, Measure, Notice,
    PeerProgram, Phase, RequestResponse, Row, Subject, Trust, TrustFacts, TrustLevel, TrustReason,
};

/// Requests that a 99th percentile needs.
const REQUESTS_FOR_P99: u64 = 100;

/// A client's test as far as events have reported it.
#[derive(Debug, Default)]
pub(crate) struct RequestsRun {
    /// How many runs there are to be, in words.
    pub(crate) runs: Option<String>,
    pub(crate) banner: Option<ClientBanner>,
    /// The first connection.
    pub(crate) connected: Option<Connected>,
    pub(crate) server: Option<PeerProgram>,
    /// Streams of requests.
    pub(crate) totals: BTreeMap<FlowTag, Row>,
    /// All of them, where there are several.
    sum: Option<Row>,
    /// Streams of working load.
    pub(crate) load: Vec<Row>,
    pub(crate) connects: Option<ConnectTimes>,
    interrupted: bool,
    clock_jump: Option<i64>,
    rows_dropped: u64,
}

impl RequestsRun {
    /// Of a test that begins.
    pub(crate) fn new(runs: Option<String>) -> Self {
        Self {
            runs,
            ..Self::default()
        }
    }

    /// Takes what an event says of the test.
    pub(crate) fn observe(&mut self, event: &Event) {
        match event {
            Event::Connecting(banner) => self.banner = Some(banner.clone()),
            Event::Connected(line) => {
                let of_requests = |line: &Connected| {
                    matches!(line.flavour, ConnectionFlavour::RequestResponse { .. })
                };
                // Not that of the working load.
                if !self.connected.as_ref().is_some_and(of_requests) {
                    self.connected = Some(line.clone());
                }
            }
            Event::PeerFound { program, .. } => self.server = Some(program.clone()),
            Event::ConnectTimes(times) => self.connects = Some(*times),
            Event::Notice(Notice::Interrupted) => self.interrupted = true,
            Event::Notice(Notice::ClockSet { by }) => self.clock_jump = Some(*by),
            Event::Row(row) if row.phase == Phase::Total => self.total(row),
            _ => {}
        }
    }

    fn total(&mut self, row: &Row) {
        match (row.subject, &row.measure) {
            (Subject::Flow(tag), Measure::RequestResponse(_)) => {
                self.totals.insert(tag, row.clone());
            }
            (Subject::Sum { .. }, Measure::RequestResponse(_)) => self.sum = Some(row.clone()),
            (Subject::Flow(_), _) => self.load.push(row.clone()),
            _ => {}
        }
    }

    /// Interval rows did not come because the output was too slow.
    pub(crate) fn dropped(&mut self, rows: u64) {
        self.rows_dropped += rows;
    }

    /// Streams of requests.
    pub(crate) fn streams(&self) -> usize {
        self.banner.as_ref().map_or(1, |banner| banner.flows)
    }

    /// Connections carry no data.
    pub(crate) fn is_connect_only(&self) -> bool {
        self.banner.as_ref().is_some_and(|one| one.connect_only)
    }

    /// The row of all requests.
    pub(crate) fn whole(&self) -> Option<&Row> {
        self.sum.as_ref().or(self.totals.values().next())
    }

    /// All requests, where any was answered.
    pub(crate) fn requests(&self) -> Option<&RequestResponse> {
        match &self.whole()?.measure {
            Measure::RequestResponse(requests) if requests.round_trips.count > 0 => Some(requests),
            _ => None,
        }
    }

    /// How far the result is to be trusted; nothing where no request was answered.
    pub(crate) fn trust(&self) -> Option<Trust> {
        let count = self.requests()?.round_trips.count;
        let row = self.whole()?;
        let line = self.connected.as_ref();
        let mut trust = Trust::new(&TrustFacts {
            duration: row.span.length(),
            too_few: Some(count).filter(|count| *count < Verdict::LEAST_WRITES),
            counted_by: CountedBy::OneClock,
            same_machine: line.is_some_and(|line| {
                line.peer.ip().to_canonical().is_loopback() || line.peer.ip() == line.local.ip()
            }),
            clock_jump: self.clock_jump,
            rows_dropped: self.rows_dropped,
            interrupted: self.interrupted,
            streams: self.streams(),
            ..TrustFacts::default()
        });
        if count < REQUESTS_FOR_P99 && trust.level < TrustLevel::Partial {
            trust.reasons.push(TrustReason {
                text: format!("p99 needs {REQUESTS_FOR_P99} requests"),
                warning_id: None,
            });
        }
        Some(trust)
    }
}
