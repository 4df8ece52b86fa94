//! A flow between its start and its end, as the reporter sees it.

use std::sync::Arc;
use std::time::Duration;

use tapeline_base::{FlowTag, MonoTime, Placement, Transport, WallTime};
use tapeline_engine::{
    BurstRecord, DatagramCounters, DelayCell, FrameRecord, HistogramReader, Intervals,
};
use tapeline_report::{
    BurstKind, BurstsReceived, FlowEvidence, HistogramRow, Measure, Phase, Row, Span, Subject,
    TcpReceive,
};
use tapeline_stats::Moments;
use tapeline_sys::HostCounters;

use super::evidence::{Course, StreamRoom};
use super::flow_start::{CounterCell, FlowEnd, FlowStart, GroupKey, GroupKind};
use super::measure::{Sample, frame_measure, measure, sample_interval, sample_total};

/// Share of an interval by which a flow may miss its agreed end for one row to hold both: that
/// below which iperf3 3.22 calls an interval short.
const NEAR: u32 = 10;
/// Share of an interval for which the row of the agreed last one waits for the flow's end.
const AWAITED: u32 = 2;

/// The numbers of an interval or of a whole test.
#[derive(Debug)]
pub(crate) struct FlowReport {
    pub(crate) row: Row,
    /// Rows of the bursts that were completed since the last row, where they are reported at all:
    /// then they stand in place of an interval's row.
    pub(crate) bursts: Option<Vec<Row>>,
    pub(crate) histograms: Vec<HistogramRow>,
}

/// Keeps what the last interval left behind.
#[derive(Debug)]
pub(crate) struct ActiveFlow {
    start: FlowStart,
    /// Of the flow's histograms, in their order.
    readers: Vec<HistogramReader>,
    /// Number of the running interval.
    index: u64,
    /// When the running interval began.
    since: MonoTime,
    /// Counters at that time.
    before: Sample,
    /// Counters at the start.
    first: Sample,
    write_times: Option<WriteTimes>,
    /// Counters at the end of the last frame that was reported.
    frame_before: DatagramCounters,
    /// The host's counters at the start.
    host: HostCounters,
    /// Intervals that were reported together with a later one.
    late: u64,
    /// Largest window that the receiver offered, bytes.
    window: Option<u32>,
}

/// Durations of writes, and what was reported of them.
#[derive(Debug)]
struct WriteTimes {
    cell: Arc<DelayCell>,
    before: Moments,
}

impl WriteTimes {
    fn close_interval(&mut self, index: u64) -> Moments {
        let closed = self.cell.close_interval(index);
        let after = closed.counters.delays;
        let (low, high) = closed.extremes;
        let interval = after.since(&self.before).with_extremes(low, high);
        self.before = after;
        interval
    }
}

impl ActiveFlow {
    pub(crate) fn new(mut start: FlowStart, host: HostCounters) -> Self {
        let write_times = start.extras.write_times.take().map(|cell| WriteTimes {
            cell,
            before: Moments::EMPTY,
        });
        let first = Sample::first(&start.cell, start.conn.as_deref());
        let cells = start.histograms.iter().map(|one| Arc::clone(&one.cell));
        Self {
            readers: cells.map(HistogramReader::new).collect(),
            host,
            late: 0,
            window: first.window(),
            index: 0,
            since: start.start,
            before: first,
            first,
            write_times,
            frame_before: DatagramCounters {
                transit: Moments::EMPTY,
                ..DatagramCounters::default()
            },
            start,
        }
    }

    pub(crate) fn tag(&self) -> FlowTag {
        self.start.tag
    }

    /// Names the test that the flow belongs to: the sum that its rows go into, or itself.
    pub(crate) fn test_number(&self) -> u64 {
        let sum = |key: &&GroupKey| matches!(key.kind, GroupKind::Sum(_));
        let groups = &self.start.groups;
        let group = groups.iter().find(sum).or(groups.first());
        group.map_or(u64::MAX - u64::from(self.start.tag.id.0), |key| key.number)
    }

    pub(crate) fn transport(&self) -> Transport {
        match self.start.cell {
            CounterCell::UdpSend(_) | CounterCell::UdpReceive(_) => Transport::Udp,
            CounterCell::TcpSend(_)
            | CounterCell::TcpReceive(_)
            | CounterCell::TcpBursts(..)
            | CounterCell::Exchange(_) => Transport::Tcp,
        }
    }

    pub(crate) fn groups(&self) -> &[GroupKey] {
        &self.start.groups
    }

    fn intervals(&self) -> Intervals {
        Intervals::with_omitted(
            self.start.start,
            self.start.interval,
            self.start.extras.omit,
        )
    }

    /// When counting begins: all before is reported as omitted and left out of the total.
    fn counted_from(&self) -> MonoTime {
        self.start.start + self.start.extras.omit
    }

    /// Length of its intervals.
    pub(crate) fn interval(&self) -> Option<Duration> {
        self.start.interval
    }

    /// When the running interval is to end.
    fn next_boundary(&self) -> Option<MonoTime> {
        self.intervals().end_of(self.index)
    }

    /// When the running interval is to be reported, if the flow has not ended before.
    pub(crate) fn next_due(&self) -> Option<MonoTime> {
        let boundary = self.next_boundary()?;
        let awaited = match self.start.interval {
            Some(interval) if self.is_agreed_end(boundary) => interval / AWAITED,
            _ => Duration::ZERO,
        };
        Some(boundary + awaited)
    }

    fn is_agreed_end(&self, boundary: MonoTime) -> bool {
        self.start.extras.agreed_end == Some(boundary)
    }

    /// Whether the running interval is the agreed last one, and the flow ends with it at `at`,
    /// near enough.
    fn ends_as_agreed(&self, at: MonoTime) -> bool {
        let agreed = self.next_boundary().filter(|due| self.is_agreed_end(*due));
        agreed
            .zip(self.start.interval)
            .is_some_and(|(end, interval)| {
                let missed = at.since(end).max(end.since(at));
                missed < interval / NEAR
            })
    }

    /// Ends the running interval at its boundary; to be called at or after it. A reporter
    /// that was held up for longer than an interval reports one long one.
    pub(crate) fn close_interval(&mut self, wall: WallTime) -> (u64, FlowReport) {
        let index = self.index;
        let (sample, extremes, next) =
            sample_interval(&self.start.cell, self.start.conn.as_deref(), index);
        self.index = next;
        self.late += next.saturating_sub(index + 1);
        self.window = self.window.max(sample.window());
        let end = next
            .checked_sub(1)
            .and_then(|last| self.intervals().end_of(last))
            .unwrap_or(self.since);
        let row = self.close(index, end, wall, sample, extremes);
        let histograms = self.close_histograms(index, next, row.span);
        let report = FlowReport {
            bursts: self.bursts(wall),
            row,
            histograms,
        };
        (index, report)
    }

    /// Rows of the bursts or frames that were completed since the last call.
    fn bursts(&mut self, wall: WallTime) -> Option<Vec<Row>> {
        if let Some(records) = self.start.extras.frame_rows.take() {
            let rows = records
                .try_iter()
                .map(|record| self.frame_row(&record, wall))
                .collect();
            self.start.extras.frame_rows = Some(records);
            return Some(rows);
        }
        let CounterCell::TcpBursts(_, kind) = &self.start.cell else {
            return None;
        };
        let records = self.start.extras.bursts.as_ref()?;
        Some(
            records
                .try_iter()
                .map(|record| self.burst_row(record, *kind, wall))
                .collect(),
        )
    }

    fn frame_row(&mut self, record: &FrameRecord, wall: WallTime) -> Row {
        let span = Span {
            start: record.start.since(self.start.start),
            end: record.end.since(self.start.start),
        };
        let before = std::mem::replace(&mut self.frame_before, record.counters);
        let bytes = record.counters.bytes.saturating_sub(before.bytes);
        Row {
            subject: Subject::Flow(self.start.tag),
            phase: Phase::Interval,
            span,
            ended: wall,
            bytes,
            endpoints: Some(self.start.endpoints),
            trip_times: self.start.extras.trip_times,
            placement: Placement::default(),
            measure: Measure::UdpReceive(frame_measure(&self.start, &before, record, span)),
        }
    }

    fn burst_row(&self, record: BurstRecord, kind: BurstKind, wall: WallTime) -> Row {
        let latency: Moments = [record.latency].into_iter().collect();
        Row {
            subject: Subject::Flow(self.start.tag),
            phase: Phase::Interval,
            span: Span {
                start: record.start.since(self.start.start),
                end: record.end.since(self.start.start),
            },
            ended: wall,
            bytes: record.bytes,
            endpoints: Some(self.start.endpoints),
            trip_times: self.start.extras.trip_times,
            placement: Placement::default(),
            measure: Measure::TcpReceive(TcpReceive {
                reads: record.reads,
                bursts: Some(BurstsReceived {
                    kind,
                    latency,
                    bytes: record.bytes,
                    in_progress: None,
                    frames_lost: 0,
                }),
            }),
        }
    }

    /// The histograms of the intervals from `first` up to, but without, `next`.
    fn close_histograms(&mut self, first: u64, next: u64, span: Span) -> Vec<HistogramRow> {
        let tag = self.start.tag;
        let kinds = self.start.histograms.iter().zip(&mut self.readers);
        kinds
            .filter(|(kind, _)| kind.by_interval)
            .map(|(kind, reader)| HistogramRow {
                tag,
                phase: Phase::Interval,
                span,
                kind: kind.kind,
                in_micros: kind.in_micros,
                histogram: reader.close_intervals(first, next),
            })
            .collect()
    }

    fn close(
        &mut self,
        index: u64,
        end: MonoTime,
        wall: WallTime,
        sample: Sample,
        extremes: (f64, f64),
    ) -> Row {
        let omitted = end <= self.counted_from() && !self.start.extras.omit.is_zero();
        let phase = if omitted {
            Phase::Omitted
        } else {
            Phase::Interval
        };
        let mut row = self.row(
            phase,
            self.since,
            end,
            wall,
            &self.before,
            &sample,
            extremes,
        );
        if omitted {
            self.first = sample;
        }
        self.before = sample;
        self.since = end;
        if let (Some(times), Measure::TcpSend(send)) = (&mut self.write_times, &mut row.measure) {
            send.write_times = Some(times.close_interval(index));
        }
        row
    }

    /// Intervals that were due before the flow's end, and the partial one if it is
    /// long enough and saw data.
    pub(crate) fn last_intervals(
        &mut self,
        at: MonoTime,
        wall: WallTime,
        partial_share: f64,
    ) -> Vec<(u64, FlowReport)> {
        let mut rows = Vec::new();
        while !self.ends_as_agreed(at) && self.next_boundary().is_some_and(|due| due <= at) {
            rows.push(self.close_interval(wall));
        }
        let Some(interval) = self.start.interval else {
            return rows;
        };
        let length = at.since(self.since);
        let long_enough = length.as_secs_f64() > partial_share * interval.as_secs_f64();
        let udp_sender = matches!(self.start.cell, CounterCell::UdpSend(_));
        let sample = sample_total(&self.start.cell, self.start.conn.as_deref());
        let partial = long_enough && !udp_sender && sample.bytes() > self.before.bytes();
        if partial || self.ends_as_agreed(at) {
            rows.push(self.close_rest(at, wall, sample));
        }
        rows
    }

    /// Ends the running interval with the flow. What came behind its boundary, if anything, is
    /// in it too.
    fn close_rest(&mut self, at: MonoTime, wall: WallTime, sample: Sample) -> (u64, FlowReport) {
        let index = self.index;
        let [running, behind] =
            [index, index + 1].map(|index| sample_interval(&self.start.cell, None, index).1);
        let extremes = (running.0.min(behind.0), running.1.max(behind.1));
        let passed = self.next_boundary().is_some_and(|due| due <= at);
        self.index += 1 + u64::from(passed);
        let row = self.close(index, at, wall, sample, extremes);
        let histograms = self.close_histograms(index, self.index, row.span);
        let report = FlowReport {
            bursts: self.bursts(wall),
            row,
            histograms,
        };
        (index, report)
    }

    /// What may have limited the flow, which ends as `end` says; `host` are its host's counters
    /// now. Nothing for flows of requests and responses.
    fn evidence(
        &self,
        end: &FlowEnd,
        host: &HostCounters,
        sample: &Sample,
    ) -> Option<FlowEvidence> {
        let course = Course {
            from: self.counted_from(),
            span: end.at.since(self.counted_from()),
            facts: end.facts,
            host: host.since(&self.host),
            late: self.late,
        };
        let conn = self.start.conn.as_deref();
        let room = StreamRoom {
            window: self.window.max(sample.window()),
            buffer: conn.and_then(|conn| conn.send_buffer().ok()),
        };
        sample.evidence(&self.first, &course, &self.start, room)
    }

    /// The whole test, and what may have limited it.
    pub(crate) fn total(
        &mut self,
        end: &FlowEnd,
        wall: WallTime,
        host: &HostCounters,
    ) -> (FlowReport, Option<FlowEvidence>) {
        let (at, dropped) = (end.at, end.dropped);
        let sample = sample_total(&self.start.cell, self.start.conn.as_deref());
        let evidence = self.evidence(end, host, &sample);
        let extremes = sample.extremes();
        let mut row = self.row(
            Phase::Total,
            self.counted_from(),
            at,
            wall,
            &self.first,
            &sample,
            extremes,
        );
        row.placement = end.facts.placement();
        match &mut row.measure {
            Measure::UdpReceive(udp) => {
                udp.lost_in_host = dropped;
                let delays = self.start.extras.delays.as_ref();
                udp.delays = delays.map(|delays| delays.read());
            }
            Measure::TcpSend(send) => {
                send.write_times = self.write_times.as_ref().map(|t| t.cell.read().delays);
            }
            _ => {}
        }
        let kinds = self.start.histograms.iter().zip(&self.readers);
        let histograms = kinds
            .map(|(kind, reader)| HistogramRow {
                tag: self.start.tag,
                phase: Phase::Total,
                span: row.span,
                kind: kind.kind,
                in_micros: kind.in_micros,
                histogram: reader.total(),
            })
            .collect();
        let report = FlowReport {
            bursts: self.bursts(wall),
            row,
            histograms,
        };
        (report, evidence)
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
        let zero = match phase {
            Phase::Omitted => self.start.start,
            Phase::Interval | Phase::Total => self.counted_from(),
        };
        let span = Span {
            start: since.since(zero),
            end: until.since(zero),
        };
        let (bytes, measure) = measure(&self.start, phase, before, after, span, extremes);
        Row {
            subject: Subject::Flow(self.start.tag),
            phase,
            span,
            ended: wall,
            bytes,
            endpoints: Some(self.start.endpoints),
            trip_times: self.start.extras.trip_times,
            placement: Placement::default(),
            measure,
        }
    }
}
