//! A flow between its start and its end, as the reporter sees it.

use tapeline_base::{FlowTag, MonoTime, WallTime};
use tapeline_engine::Intervals;
use tapeline_report::{Phase, Row, Span, Subject};

use super::measure::{Sample, measure, sample_interval, sample_total};
use super::{FlowStart, GroupKey};

/// Keeps what the last interval left behind.
#[derive(Debug)]
pub(super) struct ActiveFlow {
    start: FlowStart,
    /// Number of the running interval.
    index: u64,
    /// When the running interval began.
    since: MonoTime,
    /// Counters at that time.
    before: Sample,
    /// Counters at the start.
    first: Sample,
}

impl ActiveFlow {
    pub(super) fn new(start: FlowStart) -> Self {
        let first = Sample::first(&start.cell, start.conn.as_deref());
        Self {
            index: 0,
            since: start.start,
            before: first,
            first,
            start,
        }
    }

    pub(super) fn tag(&self) -> FlowTag {
        self.start.tag
    }

    pub(super) fn groups(&self) -> &[GroupKey] {
        &self.start.groups
    }

    fn intervals(&self) -> Intervals {
        Intervals::new(self.start.start, self.start.interval)
    }

    /// When the running interval is to end.
    pub(super) fn next_boundary(&self) -> Option<MonoTime> {
        self.intervals().end_of(self.index)
    }

    /// Ends the running interval at its boundary; to be called at or after it. A reporter
    /// that was held up for longer than an interval tells one long one.
    pub(super) fn close_interval(&mut self, wall: WallTime) -> (u64, Row) {
        let index = self.index;
        let (sample, extremes, next) =
            sample_interval(&self.start.cell, self.start.conn.as_deref(), index);
        self.index = next;
        let end = next
            .checked_sub(1)
            .and_then(|last| self.intervals().end_of(last))
            .unwrap_or(self.since);
        (index, self.close(end, wall, sample, extremes))
    }

    fn close(
        &mut self,
        end: MonoTime,
        wall: WallTime,
        sample: Sample,
        extremes: (f64, f64),
    ) -> Row {
        let row = self.row(
            Phase::Interval,
            self.since,
            end,
            wall,
            &self.before,
            &sample,
            extremes,
        );
        self.before = sample;
        self.since = end;
        row
    }

    /// Intervals that were due before the flow's end, and the partial one if it is
    /// long enough and saw data.
    pub(super) fn last_intervals(
        &mut self,
        at: MonoTime,
        wall: WallTime,
        partial_share: f64,
    ) -> Vec<(u64, Row)> {
        let mut rows = Vec::new();
        let Some(interval) = self.start.interval else {
            return rows;
        };
        while self.next_boundary().is_some_and(|due| due <= at) {
            rows.push(self.close_interval(wall));
        }
        let length = at.since(self.since);
        let long_enough = length.as_secs_f64() > partial_share * interval.as_secs_f64();
        let udp_sender = matches!(self.start.cell, super::CounterCell::UdpSend(_));
        let sample = sample_total(&self.start.cell, self.start.conn.as_deref());
        if long_enough && !udp_sender && sample.bytes() > self.before.bytes() {
            let (_, extremes, _) = sample_interval(&self.start.cell, None, self.index);
            let index = self.index;
            self.index += 1;
            let row = self.close(at, wall, sample, extremes);
            rows.push((index, row));
        }
        rows
    }

    /// The whole test.
    pub(super) fn total(&self, at: MonoTime, wall: WallTime, dropped: Option<u64>) -> Row {
        let sample = sample_total(&self.start.cell, self.start.conn.as_deref());
        let extremes = sample.extremes();
        let mut row = self.row(
            Phase::Total,
            self.start.start,
            at,
            wall,
            &self.first,
            &sample,
            extremes,
        );
        if let tapeline_report::Measure::UdpReceive(udp) = &mut row.measure {
            udp.lost_in_host = dropped;
        }
        row
    }

    #[expect(
        clippy::too_many_arguments,
        reason = "each is one end of a subtraction"
    )]
    fn row(
        &self,
        phase: Phase,
        since: MonoTime,
        until: MonoTime,
        wall: WallTime,
        before: &Sample,
        after: &Sample,
        extremes: (f64, f64),
    ) -> Row {
        let span = Span {
            start: since.since(self.start.start),
            end: until.since(self.start.start),
        };
        let (bytes, measure) = measure(&self.start.cell, phase, before, after, span, extremes);
        Row {
            subject: Subject::Flow(self.start.tag),
            phase,
            span,
            ended: wall,
            bytes,
            endpoints: Some(self.start.endpoints),
            trip_times: false,
            measure,
        }
    }
}
