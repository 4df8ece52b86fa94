//! The reporter against a clock that the test moves.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use Phase::{Interval, Omitted, Total};
use tapeline_base::{FlowId, Placement, Role, WallTime};
use tapeline_engine::{
    DelayCell, DelayCounters, DelayPublisher, HistogramCell, HistogramRecorder, Intervals,
    SendCell, SendCounters, SendPublisher,
};
use tapeline_report::{
    Endpoints, HistogramKind, Measure, NativeText, NoPeerResults, Output, Phase, Renderer, Row,
    Span, Style, Subject, Terminal, UdpReceive,
};
use tapeline_stats::{Finding, HistogramShape, LimitedBy};

use super::*;
use crate::sampler::flow_start::{CounterCell, FlowExtras, FlowHistogram, GroupKind};

/// A clock that the test moves.
#[derive(Clone, Debug, Default)]
struct Hand(Arc<AtomicU64>);

impl Hand {
    fn set(&self, millis: u64) {
        self.0.store(millis * 1_000_000, Ordering::Relaxed);
    }
}

impl Clock for Hand {
    fn now(&self) -> MonoTime {
        MonoTime::from_nanos(self.0.load(Ordering::Relaxed))
    }
    fn wall(&self) -> WallTime {
        WallTime::from_nanos(self.0.load(Ordering::Relaxed) as i64)
    }
}

fn at(millis: u64) -> MonoTime {
    MonoTime::from_nanos(millis * 1_000_000)
}

/// A reporter without its thread, and flows whose counters the test writes.
struct Bench {
    state: State<Hand>,
    hand: Hand,
    events: Arc<Mutex<Vec<Event>>>,
    groups: u64,
    /// Of flows that start.
    interval: Option<Duration>,
}

struct Flow {
    tag: FlowTag,
    publisher: SendPublisher,
    counters: SendCounters,
}

impl Flow {
    fn send(&mut self, millis: u64, bytes: u64) {
        self.publisher.at(at(millis), &self.counters);
        self.counters.bytes += bytes;
        self.counters.writes += 1;
        self.counters.last = at(millis);
        self.publisher.publish(&self.counters);
    }
}

impl Bench {
    fn new(partial_share: f64) -> Self {
        let settings = ReporterSettings {
            partial_share,
            single_sums: SingleSums::None,
        };
        let hand = Hand::default();
        let events = Arc::new(Mutex::new(Vec::new()));
        let sink = Arc::clone(&events);
        Self {
            state: State::new(
                settings,
                move |event| sink.lock().expect("events").push(event),
                hand.clone(),
            ),
            hand,
            events,
            groups: 0,
            interval: Some(Duration::from_secs(1)),
        }
    }

    fn group(&mut self, kind: GroupKind, members: usize) -> GroupKey {
        self.groups += 1;
        GroupKey {
            number: self.groups,
            kind,
            members,
        }
    }

    fn start(&mut self, id: u32, reversed: bool, millis: u64, groups: &[GroupKey]) -> Flow {
        self.start_with(
            id,
            reversed,
            millis,
            groups,
            Vec::new(),
            FlowExtras::default(),
        )
    }

    fn start_with(
        &mut self,
        id: u32,
        reversed: bool,
        millis: u64,
        groups: &[GroupKey],
        histograms: Vec<FlowHistogram>,
        extras: FlowExtras,
    ) -> Flow {
        let interval = self.interval;
        let intervals = Intervals::with_omitted(at(millis), interval, extras.omit);
        let cell = Arc::new(SendCell::new(intervals));
        let tag = FlowTag {
            id: FlowId(id),
            reversed,
        };
        let address = SocketAddr::from(([127, 0, 0, 1], 5001));
        self.state.obey(Command::Start(Box::new(FlowStart {
            tag,
            cell: CounterCell::TcpSend(Arc::clone(&cell)),
            start: at(millis),
            interval,
            endpoints: Endpoints {
                local: address,
                peer: address,
                local_sends: true,
            },
            groups: groups.to_vec(),
            conn: None,
            histograms,
            extras,
        })));
        Flow {
            tag,
            publisher: SendPublisher::new(cell),
            counters: SendCounters::default(),
        }
    }

    fn end(&mut self, flow: &Flow, millis: u64) {
        self.hand.set(millis);
        let end = FlowEnd {
            at: at(millis),
            ..FlowEnd::default()
        };
        self.state.obey(Command::End(flow.tag, Box::new(end), None));
    }

    fn pass(&mut self, millis: u64) {
        self.hand.set(millis);
        self.state.pass_time();
    }

    fn events(&self) -> Vec<Event> {
        std::mem::take(&mut self.events.lock().expect("events"))
    }

    fn rows(&self) -> Vec<Row> {
        self.events()
            .into_iter()
            .filter_map(|event| match event {
                Event::Row(row) => Some(row),
                _ => None,
            })
            .collect()
    }
}

/// Subject kind, phase, span in milliseconds, bytes.
fn reported(rows: &[Row]) -> Vec<(char, Phase, u128, u128, u64)> {
    rows.iter()
        .map(|row| {
            let subject = match row.subject {
                Subject::Flow(_) => 'f',
                Subject::Sum { .. } => 's',
                Subject::Duplex(_) => 'd',
            };
            let span = row.span;
            let (start, end) = (span.start.as_millis(), span.end.as_millis());
            (subject, row.phase, start, end, row.bytes)
        })
        .collect()
}

#[test]
fn intervals_add_up_to_the_total_with_a_partial_one_at_the_end() {
    let mut bench = Bench::new(0.25);
    let mut flow = bench.start(1, false, 0, &[]);
    flow.send(100, 10);
    flow.send(900, 20);
    flow.send(1001, 4);
    bench.pass(1005);
    flow.send(2600, 8);
    bench.pass(2600);
    bench.end(&flow, 2600);
    assert_eq!(
        reported(&bench.rows()),
        [
            ('f', Interval, 0, 1000, 30),
            ('f', Interval, 1000, 2000, 4),
            ('f', Interval, 2000, 2600, 8),
            ('f', Total, 0, 2600, 42),
        ]
    );
}

#[test]
fn what_is_omitted_is_reported_but_not_counted() {
    let mut bench = Bench::new(0.1);
    let extras = FlowExtras {
        omit: Duration::from_millis(1500),
        ..FlowExtras::default()
    };
    let mut flow = bench.start_with(1, false, 0, &[], Vec::new(), extras);
    for millis in [100, 600, 1600, 2600] {
        bench.pass(millis);
        flow.send(millis, millis);
    }
    bench.end(&flow, 3500);
    assert_eq!(
        reported(&bench.rows()),
        [
            ('f', Omitted, 0, 500, 100),
            ('f', Omitted, 500, 1500, 600),
            ('f', Interval, 0, 1000, 1600),
            ('f', Interval, 1000, 2000, 2600),
            ('f', Total, 0, 2000, 4200),
        ]
    );
}

#[test]
fn a_short_or_empty_rest_is_not_reported() {
    for (rest, bytes) in [(1200, 5), (1900, 0)] {
        let mut bench = Bench::new(0.25);
        let mut flow = bench.start(1, false, 0, &[]);
        flow.send(500, 7);
        bench.pass(1000);
        if bytes > 0 {
            flow.send(1100, bytes);
        }
        bench.end(&flow, rest);
        let phases: Vec<_> = bench.rows().iter().map(|row| row.phase).collect();
        assert_eq!(phases, [Interval, Total], "{rest}");
    }
}

/// A flow that is to end after two seconds.
fn agreed(bench: &mut Bench) -> Flow {
    let extras = FlowExtras {
        agreed_end: Some(at(2000)),
        ..FlowExtras::default()
    };
    let mut flow = bench.start_with(1, false, 0, &[], Vec::new(), extras);
    flow.send(500, 7);
    bench.pass(1000);
    flow
}

#[test]
fn what_comes_next_to_the_agreed_end_is_in_the_last_row() {
    for end in [1950, 2000, 2050] {
        let mut bench = Bench::new(0.0);
        let mut flow = agreed(&mut bench);
        flow.send(1500, 8);
        // Nobody can know yet whether this is the end.
        bench.pass(2040);
        flow.send(2045, 9);
        bench.end(&flow, end);
        let end = u128::from(end);
        assert_eq!(
            reported(&bench.rows()),
            [
                ('f', Interval, 0, 1000, 7),
                ('f', Interval, 1000, end, 17),
                ('f', Total, 0, end, 24),
            ]
        );
    }
}

#[test]
fn a_last_row_is_reported_though_nothing_was_sent() {
    let mut bench = Bench::new(0.25);
    let flow = agreed(&mut bench);
    bench.end(&flow, 1990);
    assert_eq!(
        reported(&bench.rows()),
        [
            ('f', Interval, 0, 1000, 7),
            ('f', Interval, 1000, 1990, 0),
            ('f', Total, 0, 1990, 7),
        ]
    );
}

#[test]
fn what_goes_on_behind_the_agreed_end_has_rows_of_its_own() {
    for looks in [&[2300, 2600][..], &[]] {
        let mut bench = Bench::new(0.0);
        let mut flow = agreed(&mut bench);
        flow.send(1500, 8);
        flow.send(2200, 9);
        for look in looks {
            bench.pass(*look);
        }
        bench.end(&flow, 2700);
        assert_eq!(
            reported(&bench.rows()),
            [
                ('f', Interval, 0, 1000, 7),
                ('f', Interval, 1000, 2000, 8),
                ('f', Interval, 2000, 2700, 9),
                ('f', Total, 0, 2700, 24),
            ]
        );
    }
}

#[test]
fn sums_wait_for_every_member_and_are_reported_once() {
    let mut bench = Bench::new(0.25);
    let sum = bench.group(GroupKind::Sum(Role::Client), 2);
    let mut one = bench.start(1, false, 0, &[sum]);
    let mut two = bench.start(2, false, 0, &[sum]);
    one.send(10, 1);
    two.send(20, 2);
    bench.pass(1000);
    assert_eq!(
        reported(&bench.rows()),
        [
            ('f', Interval, 0, 1000, 1),
            ('f', Interval, 0, 1000, 2),
            ('s', Interval, 0, 1000, 3),
        ]
    );
    bench.end(&one, 1100);
    assert_eq!(reported(&bench.rows()), [('f', Total, 0, 1100, 1)]);
    bench.end(&two, 1150);
    let events = bench.events();
    assert!(matches!(events.last(), Some(Event::Idle)));
    assert!(matches!(&events[1], Event::Row(row)
        if row.bytes == 3 && row.subject == Subject::Sum { flows: 2 }
            && row.span.end == Duration::from_millis(1150)));
    assert!(bench.state.groups.is_empty(), "nothing is kept");
}

#[test]
fn a_member_that_ended_before_the_next_began_is_in_the_sum() {
    let mut bench = Bench::new(0.25);
    let sum = bench.group(GroupKind::Sum(Role::Client), 2);
    let mut one = bench.start(1, false, 0, &[sum]);
    one.send(10, 1);
    bench.end(&one, 11);
    assert_eq!(reported(&bench.rows()), [('f', Total, 0, 11, 1)]);
    let mut two = bench.start(2, false, 12, &[sum]);
    two.send(20, 2);
    bench.end(&two, 22);
    assert_eq!(
        reported(&bench.rows()),
        [('f', Total, 0, 10, 2), ('s', Total, 0, 11, 3)]
    );
}

#[test]
fn a_sum_waits_a_second_for_members_that_never_come() {
    let mut bench = Bench::new(0.25);
    let sum = bench.group(GroupKind::Sum(Role::Server), 3);
    for id in [1, 2] {
        let mut flow = bench.start(id, false, 0, &[sum]);
        flow.send(10, 5);
        bench.end(&flow, 20);
    }
    assert_eq!(bench.rows().len(), 2);
    assert_eq!(bench.state.waiting.values().next(), Some(&at(1020)));
    bench.pass(1019);
    assert!(bench.events().is_empty());
    bench.pass(1020);
    let events = bench.events();
    assert!(matches!(
        &events[..],
        [Event::Row(row), Event::LimitVerdict(_), Event::TestOver(_), Event::Idle]
            if row.bytes == 10
    ));
    assert!(bench.state.waiting.is_empty());
}

#[test]
fn the_directions_of_a_flow_are_one_member_and_have_a_row_of_their_own() {
    let mut bench = Bench::new(0.25);
    let sum = bench.group(GroupKind::Sum(Role::Client), 2);
    let tag = FlowTag {
        id: FlowId(1),
        reversed: false,
    };
    let pair = bench.group(GroupKind::Duplex(tag), 2);
    let mut there = bench.start(1, false, 0, &[pair, sum]);
    let mut back = bench.start(1, true, 0, &[pair, sum]);
    there.send(10, 3);
    back.send(10, 4);
    bench.pass(1000);
    bench.end(&there, 1010);
    bench.end(&back, 1020);
    let rows = bench.rows();
    assert_eq!(
        reported(&rows),
        [
            ('f', Interval, 0, 1000, 3),
            ('f', Interval, 0, 1000, 4),
            ('d', Interval, 0, 1000, 7),
            ('f', Total, 0, 1010, 3),
            ('f', Total, 0, 1020, 4),
            ('d', Total, 0, 1020, 7),
        ]
    );
    assert!(matches!(rows[0].measure, Measure::TcpSend(_)));
}

#[test]
fn the_directions_of_one_flow_are_summed_up_where_there_are_no_intervals() {
    for (interval, sums) in [(None, 1), (Some(Duration::from_secs(1)), 0)] {
        for (single_sums, wanted) in [(SingleSums::None, 0), (SingleSums::BothDirections, sums)] {
            let mut bench = Bench::new(0.25);
            bench.state.settings.single_sums = single_sums;
            bench.interval = interval;
            let sum = bench.group(GroupKind::Sum(Role::Client), 2);
            let flows = [false, true].map(|reversed| bench.start(1, reversed, 0, &[sum]));
            for mut flow in flows {
                flow.send(100, 10);
                bench.end(&flow, 1500);
            }
            let reported = reported(&bench.rows());
            let sums = reported.iter().filter(|row| row.0 == 's');
            let sums: Vec<_> = sums.copied().collect();
            assert_eq!(sums, vec![('s', Total, 0, 1500, 20); wanted]);
        }
    }
}

#[test]
fn a_servers_reports_stand_behind_the_sum_of_all_senders() {
    let mut bench = Bench::new(0.25);
    let sum = bench.group(GroupKind::Sum(Role::Client), 2);
    let flows = [1, 2].map(|id| bench.start(id, false, 0, &[sum]));
    for mut flow in flows {
        flow.send(100, 10);
        bench.end(&flow, 500);
        let report = Event::ServerReport {
            row: Row {
                subject: Subject::Flow(flow.tag),
                phase: Total,
                span: Span::default(),
                ended: WallTime::default(),
                bytes: 10,
                endpoints: None,
                trip_times: false,
                placement: Placement::default(),
                measure: Measure::UdpReceive(UdpReceive::default()),
            },
            enhanced: false,
        };
        bench.state.obey(Command::Event(Box::new(report)));
    }
    let kinds = bench.events().into_iter().filter_map(|event| match event {
        Event::Row(row) if row.phase == Total => Some(match row.subject {
            Subject::Flow(_) => "total",
            _ => "sum",
        }),
        Event::ServerReport { .. } => Some("report"),
        _ => None,
    });
    let kinds: Vec<_> = kinds.collect();
    assert_eq!(kinds, ["total", "total", "sum", "report", "report"]);
}

#[test]
fn closing_ends_what_runs_and_reports_what_waits() {
    let mut bench = Bench::new(0.25);
    let sum = bench.group(GroupKind::Sum(Role::Server), 4);
    let mut flows: Vec<_> = (1..=3)
        .map(|id| bench.start(id, false, 0, &[sum]))
        .collect();
    for flow in &mut flows {
        flow.send(10, 1);
    }
    bench.end(&flows[0], 20);
    bench.hand.set(30);
    bench.state.close();
    let rows = bench.rows();
    assert_eq!(rows.len(), 4);
    assert_eq!(rows[3].bytes, 3);
}

#[test]
fn probes_are_reported_in_front_of_the_rows_of_their_interval() {
    let mut bench = Bench::new(0.25);
    let mut flows = [1, 2].map(|id| bench.start(id, false, 0, &[]));
    let counts = |events: Vec<Event>| -> Vec<Option<u64>> {
        let counts = events.into_iter().filter_map(|event| match event {
            Event::Probes(probes) => Some(Some(probes.round_trips.count)),
            Event::Row(row) => (row.phase == Interval).then_some(None),
            _ => None,
        });
        counts.collect()
    };
    let probe = |bench: &mut Bench| {
        let round_trip = Duration::from_millis(3);
        bench.state.obey(Command::Probed(round_trip));
    };
    for flow in &mut flows {
        flow.send(10, 1);
    }
    probe(&mut bench);
    probe(&mut bench);
    bench.pass(1000);
    assert_eq!(counts(bench.events()), [Some(2), None, None]);
    bench.pass(2000);
    assert_eq!(counts(bench.events()), [None, None]);
    // The last interval is reported when its flow ends.
    for flow in &mut flows {
        flow.send(2500, 1);
    }
    probe(&mut bench);
    for flow in &flows {
        bench.end(flow, 2800);
    }
    assert_eq!(counts(bench.events()), [Some(1), None, None]);
    // What comes after the flows is no interval's.
    probe(&mut bench);
    let mut flow = bench.start(3, false, 3000, &[]);
    flow.send(3500, 1);
    bench.pass(4000);
    assert_eq!(counts(bench.events()), [None]);
}

#[test]
fn an_end_without_a_start_and_a_second_end_do_nothing() {
    let mut bench = Bench::new(0.25);
    let flow = bench.start(1, false, 0, &[]);
    bench.end(&flow, 10);
    let events = bench.events();
    assert!(
        matches!(
            &events[..],
            [
                Event::Row(_),
                Event::Processor(_),
                Event::LimitVerdict(_),
                Event::TestOver(_),
                Event::Idle
            ]
        ),
        "{events:?}"
    );
    bench.end(&flow, 20);
    assert!(bench.events().is_empty());
}

#[test]
fn whatever_is_sent_whenever_it_is_looked_at_the_intervals_add_up() {
    // Every rest is reported, so nothing may be missing.
    for seed in 0..300_u64 {
        let mut random = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
        let mut below = |limit: u64| {
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            random % limit
        };
        let mut bench = Bench::new(0.0);
        let sum = bench.group(GroupKind::Sum(Role::Client), 3);
        let extras = || FlowExtras {
            agreed_end: (seed % 2 == 0).then_some(at(1000 * (seed % 20))),
            ..FlowExtras::default()
        };
        let mut flows: Vec<_> = (1..=3)
            .map(|id| bench.start_with(id, false, 0, &[sum], Vec::new(), extras()))
            .collect();
        let mut now = 0;
        for _ in 0..below(60) {
            now += below(700);
            match below(4) {
                // A reporter that is held up looks rarely.
                0 => bench.pass(now),
                n => flows[n as usize - 1].send(now, 1 + below(1000)),
            }
        }
        for flow in &flows {
            now += below(1500);
            bench.end(flow, now + 1);
        }
        let rows = bench.rows();
        let bytes = |want: &dyn Fn(&Row) -> bool| -> u64 {
            rows.iter()
                .filter(|row| want(row))
                .map(|row| row.bytes)
                .sum()
        };
        for flow in &flows {
            let of = |row: &Row| row.subject == Subject::Flow(flow.tag);
            let intervals = bytes(&|row| of(row) && row.phase == Interval);
            let total = bytes(&|row| of(row) && row.phase == Total);
            assert_eq!((intervals, total), (total, flow.counters.bytes), "{seed}");
        }
        let sums = bytes(&|row| matches!(row.subject, Subject::Sum { .. }) && row.phase == Total);
        let sent: u64 = flows.iter().map(|flow| flow.counters.bytes).sum();
        assert_eq!(sums, sent, "{seed}");
        assert!(bench.state.groups.is_empty() && bench.state.waiting.is_empty());
    }
}

#[test]
fn write_times_and_histograms_belong_to_their_rows() {
    let mut bench = Bench::new(0.25);
    let intervals = Intervals::new(at(0), Some(Duration::from_secs(1)));
    let times = Arc::new(DelayCell::new(intervals));
    let cell = Arc::new(HistogramCell::new(HistogramShape::DELAY, intervals));
    let histogram = FlowHistogram {
        kind: HistogramKind::Write,
        in_micros: true,
        cell: Arc::clone(&cell),
        by_interval: true,
    };
    let extras = FlowExtras {
        frames: true,
        write_times: Some(Arc::clone(&times)),
        ..FlowExtras::default()
    };
    let mut flow = bench.start_with(1, false, 0, &[], vec![histogram], extras);
    let mut publisher = DelayPublisher::new(times);
    let mut counters = DelayCounters::default();
    let mut recorder = HistogramRecorder::new(cell);
    for (millis, seconds) in [(100, 0.25), (600, 0.75), (1500, 0.5)] {
        publisher.at(at(millis), &counters);
        publisher.extreme(seconds);
        counters.delays.add(seconds);
        publisher.publish(&counters);
        let nanos = (seconds * 1e9) as i64;
        recorder.record(nanos, at(millis), WallTime::default());
        flow.send(millis, 1);
        flow.counters.frames.sent += 1;
        flow.publisher.publish(&flow.counters);
    }
    bench.pass(1600);
    bench.end(&flow, 1700);
    let mut reported = Vec::new();
    for event in bench.events() {
        match event {
            Event::Row(Row {
                measure: Measure::TcpSend(send),
                ..
            }) => {
                let times = send.write_times.expect("write times");
                let frames = send.frames.expect("frames").sent;
                reported.push((frames, times.count, times.min, times.max));
            }
            Event::Histogram(row) => {
                let samples = row.histogram.total();
                let (row_samples, ..) = reported[reported.len() - 1];
                assert_eq!((row.kind, samples), (HistogramKind::Write, row_samples));
            }
            _ => {}
        }
    }
    assert_eq!(
        reported,
        [(2, 2, 0.25, 0.75), (1, 1, 0.5, 0.5), (3, 3, 0.25, 0.75)]
    );
}

#[test]
fn a_reporter_that_was_held_up_is_reported_where_nothing_else_limits() {
    let punctual = [1_010, 2_010, 3_210];
    let held_up = [3_210];
    for (looks, late) in [(&punctual[..], None), (&held_up[..], Some(2))] {
        let mut bench = Bench::new(0.25);
        let mut flow = bench.start(1, false, 0, &[]);
        let mut looks = looks.iter().copied().peekable();
        for sent in [500, 1_500, 2_500, 3_200] {
            while let Some(look) = looks.next_if(|look| *look < sent) {
                bench.pass(look);
            }
            // Enough to be judged at all.
            (0..3).for_each(|_| flow.send(sent, 10));
        }
        looks.for_each(|look| bench.pass(look));
        bench.end(&flow, 3_600);
        let events = bench.events();
        let judged = events.iter().find_map(|event| match event {
            Event::LimitVerdict(limit_verdict) => Some(&limit_verdict.verdict),
            _ => None,
        });
        let verdict = judged.expect("a verdict");
        assert_eq!(verdict.limited_by, late.map(|_| LimitedBy::Measurement));
        let late_reports = |finding: &Finding| *finding == Finding::LateReports(late.unwrap_or(0));
        assert_eq!(verdict.findings.iter().any(late_reports), late.is_some());
        let mut text = NativeText::new(Style::default(), Terminal::default());
        let mut out = Output::default();
        for event in &events {
            text.render(event, &mut out);
        }
        text.finish(&mut out);
        let words = "2 intervals measured late";
        assert_eq!(out.stdout.contains(words), late.is_some(), "{}", out.stdout);
    }
}

#[test]
fn memory_is_given_back_once_after_the_ends_of_a_second() {
    let mut bench = Bench::new(0.25);
    let flows = [1, 2].map(|id| bench.start(id, false, 0, &[]));
    for (flow, millis) in flows.iter().zip([2500, 2900]) {
        bench.end(flow, millis);
    }
    bench.pass(2900);
    assert_eq!(bench.state.next_due(), Some(at(3500)));
    bench.pass(3500);
    // An idle server is not woken.
    assert_eq!(bench.state.next_due(), None);
}

#[test]
fn refused_connections_leave_memory_too() {
    let mut bench = Bench::new(0.25);
    let refusal = Event::Notice(Notice::Text("no".to_owned()));
    bench.state.obey(Command::Event(Box::new(refusal)));
    assert_eq!(bench.state.next_due(), Some(at(1000)));
}

#[test]
fn a_test_is_reported_when_it_is_over_and_not_when_nothing_runs() {
    let mut bench = Bench::new(0.25);
    let sums = [1, 2].map(|_| bench.group(GroupKind::Sum(Role::Server), 1));
    let long = bench.start(1, false, 0, &[sums[0]]);
    let short = bench.start(2, false, 0, &[sums[1]]);
    bench.end(&short, 10);
    let over = |events: Vec<Event>| {
        let steps = events.into_iter().filter_map(|event| match event {
            Event::LimitVerdict(limit_verdict) => Some(("judged", limit_verdict.flows)),
            Event::TestOver(flows) => Some(("over", flows)),
            Event::Idle => Some(("idle", Vec::new())),
            _ => None,
        });
        steps.collect::<Vec<_>>()
    };
    let test = |flow: &Flow| [("judged", vec![flow.tag]), ("over", vec![flow.tag])];
    assert_eq!(over(bench.events()), test(&short));
    bench.end(&long, 20);
    let mut last = test(&long).to_vec();
    last.push(("idle", Vec::new()));
    assert_eq!(over(bench.events()), last);
}

#[test]
fn a_test_is_over_with_what_its_client_counted_and_not_before() {
    let mut bench = Bench::new(0.25);
    let sum = bench.group(GroupKind::Sum(Role::Server), 1);
    let flow = bench.start(1, false, 0, &[sum]);
    let totals = bench.state.subscribers.follow_totals();
    totals.add(flow.tag);
    totals.client_is_here();
    bench.end(&flow, 10);
    let steps = |bench: &mut Bench| {
        let steps = bench.events().into_iter().filter_map(|event| match event {
            Event::NoPeerResults(_) => Some("counted"),
            Event::LimitVerdict(_) => Some("judged"),
            Event::TestOver(_) => Some("over"),
            _ => None,
        });
        steps.collect::<Vec<_>>()
    };
    assert!(steps(&mut bench).is_empty());
    let missing = Event::NoPeerResults(NoPeerResults::Broken("silent".to_owned()));
    bench
        .state
        .obey(Command::PeerComplete(Box::new(missing), totals));
    assert_eq!(steps(&mut bench), ["counted", "judged", "over"]);
}
