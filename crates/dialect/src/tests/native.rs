//! Both ends of a control connection over a simulated network, in virtual time.

use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::Duration;

use tapeline_base::{FlowId, FlowTag, MonoTime, Placement, SplitMix64, WallTime};
use tapeline_engine::{DelayRecorder, RecordedDelays};
use tapeline_report::{
    DelayClock, Measure, OneWayDelay, PeerFlow, PeerLimits, PeerResults, Phase, Row, Span, Subject,
    UdpReceive,
};
use tapeline_stats::{ClockExchange, ClockLine, DelayCounts, DelayCourse, Moments};
use tapeline_testkit::network::{Cut, Side, StreamLink, StreamProfile, StreamRead};
use tapeline_wire::native::{PREAMBLE, Program, Progress, Results};

use crate::native::client_control::{ClientControl, ClientStep};
use crate::native::local_results::{Detail, HostUsageSince, OwnFlow, from_counted};
use crate::native::server_control::{ServerControl, ServerStep};
use crate::native::{one_way_delay, peer_results};
use crate::sampler::Counted;

const TEST: NonZeroU32 = NonZeroU32::new(77).unwrap();
const TOKEN: NonZeroU32 = NonZeroU32::new(99).unwrap();
/// What the client's clock shows at the beginning, nanoseconds since 1970.
const EPOCH: i64 = 1_800_000_000_000_000_000;

fn at(milliseconds: u64) -> MonoTime {
    MonoTime::from_nanos(milliseconds * 1_000_000)
}

/// A clock that differs from the client's, and runs at another rate.
#[derive(Clone, Copy, Debug, Default)]
struct OtherClock {
    offset: i64,
    drift: f64,
}

impl OtherClock {
    fn wall(self, now: MonoTime) -> WallTime {
        let passed = now.as_nanos() as f64 * (1.0 + self.drift);
        WallTime::from_nanos(EPOCH + self.offset + passed.round() as i64)
    }
}

fn client_wall(now: MonoTime) -> WallTime {
    WallTime::from_nanos(EPOCH + now.as_nanos() as i64)
}

fn own_program() -> Program {
    Program {
        program: "tapeline".to_owned(),
        version: "1.2.3".to_owned(),
        system: "a system".to_owned(),
    }
}

/// What the client counted.
fn client_results() -> Results {
    Results {
        seconds: Some(10.5),
        ..Results::default()
    }
}

/// What the server does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Habit {
    Welcomes,
    Refuses,
    /// Reads nothing.
    Silent,
    /// Has no results.
    Forgetful,
    /// Ends the test after a second.
    Stops,
}

/// A control connection during a test of ten seconds.
struct Run {
    link: StreamLink,
    clock: OtherClock,
    habit: Habit,
    results: Results,
    /// When the client's flows end.
    end: MonoTime,
    /// When the client's user ends the test.
    stop: Option<MonoTime>,
}

/// What came of it.
#[derive(Default)]
struct Outcome {
    steps: Vec<ClientStep>,
    server_steps: Vec<ServerStep>,
    clocks: ClockLine,
    over: Option<MonoTime>,
    server_over: bool,
}

impl Run {
    fn new(seed: u64, profile: StreamProfile) -> Self {
        Self {
            link: StreamLink::new(seed, profile),
            clock: OtherClock::default(),
            habit: Habit::Welcomes,
            results: Results::default(),
            end: at(10_000),
            stop: None,
        }
    }

    /// Moves from event to event until both ends are through, or for two minutes.
    fn play(mut self) -> Outcome {
        let mut now = MonoTime::ZERO;
        let mut client = ClientControl::new(TEST, TOKEN, own_program().into(), now);
        let mut server = ServerControl::new(now);
        let mut outcome = Outcome::default();
        let mut preamble = PREAMBLE.len();
        let mut progress = at(500);
        let mut stopped = false;
        while now < at(120_000) {
            self.read(&mut client, &mut server, &mut preamble, now);
            if now >= self.end {
                client.finish(false, &client_results(), now);
            }
            if self.stop.take_if(|due| now >= *due).is_some() {
                client.stop("enough");
            }
            if now >= progress && self.habit != Habit::Silent {
                progress = now + Duration::from_millis(500);
                server.progress(Progress::default());
                if self.habit == Habit::Stops && now >= at(1_000) && !stopped {
                    stopped = true;
                    server.stop("the server goes");
                }
            }
            client.tick(now, client_wall(now));
            server.tick(now);
            self.obey(&mut client, &mut server, &mut outcome, now);
            let out = client.output();
            self.link.write(now, Side::Client, &out);
            let out = server.output(self.clock.wall(now), 0);
            self.link.write(now, Side::Server, &out);
            if client.is_over() {
                outcome.over.get_or_insert(now);
                self.link.close(now, Side::Client);
            }
            outcome.server_over = server.is_over();
            let ends = [self.end, progress, now + Duration::from_millis(100)];
            let pending = ends.into_iter().filter(|due| *due > now);
            let dues = client.due().into_iter().chain(server.due());
            let arrivals = [Side::Client, Side::Server]
                .into_iter()
                .filter_map(|side| self.link.next_due(side));
            let next = pending
                .chain(dues)
                .chain(arrivals)
                .filter(|due| *due > now)
                .min();
            match next {
                Some(next)
                    if !(client.is_over() && (server.is_over() || self.habit == Habit::Silent)) =>
                {
                    now = next;
                }
                _ => break,
            }
        }
        outcome
    }

    fn read(
        &mut self,
        client: &mut ClientControl,
        server: &mut ServerControl,
        preamble: &mut usize,
        now: MonoTime,
    ) {
        while let StreamRead::Data(bytes) = self.link.read(now, Side::Client, 4096) {
            client.received(&bytes, now, client_wall(now));
        }
        if self.habit == Habit::Silent {
            return;
        }
        while let StreamRead::Data(bytes) = self.link.read(now, Side::Server, 4096) {
            // The listener reads these.
            let skipped = bytes.len().min(*preamble);
            *preamble -= skipped;
            server.received(&bytes[skipped..], now, self.clock.wall(now));
        }
    }

    fn obey(
        &self,
        client: &mut ClientControl,
        server: &mut ServerControl,
        outcome: &mut Outcome,
        now: MonoTime,
    ) {
        while let Some(step) = server.step() {
            match (&step, self.habit) {
                (ServerStep::Hello(_), Habit::Refuses) => server.refuse("not today"),
                (ServerStep::Hello(hello), _) => {
                    assert_eq!((hello.test, hello.token), (TEST, TOKEN));
                    server.welcome(Program::default(), None, None);
                }
                (ServerStep::Finished, Habit::Forgetful) => {}
                (ServerStep::Finished, _) => server.results(self.results.to_json()),
                (
                    ServerStep::Stop(_)
                    | ServerStep::About(_)
                    | ServerStep::Results(_)
                    | ServerStep::Order(_),
                    _,
                ) => {}
            }
            outcome.server_steps.push(step);
        }
        while let Some(step) = client.step() {
            if let ClientStep::Exchange(exchange) = &step {
                outcome.clocks.observe(exchange);
            }
            if let ClientStep::Stop(_) = &step {
                client.finish(false, &client_results(), now);
            }
            outcome.steps.push(step);
        }
    }
}

impl Outcome {
    fn count(&self, kind: impl Fn(&ClientStep) -> bool) -> usize {
        self.steps.iter().filter(|step| kind(step)).count()
    }

    fn broken(&self) -> Option<&str> {
        self.steps.iter().find_map(|step| match step {
            ClientStep::Broken(why) | ClientStep::Refused(why) => Some(why.as_str()),
            _ => None,
        })
    }
}

fn path(delay: u64, jitter: u64) -> StreamProfile {
    StreamProfile {
        delay: Duration::from_millis(delay),
        jitter: Duration::from_millis(jitter),
        ..StreamProfile::default()
    }
}

#[test]
fn a_test_ends_with_results_and_many_exchanges_however_the_bytes_are_cut() {
    for piece in [None, Some(1), Some(7)] {
        let profile = StreamProfile {
            piece,
            ..path(20, 1)
        };
        let outcome = Run::new(1, profile).play();
        assert_eq!(outcome.broken(), None);
        assert_eq!(
            outcome.count(|step| matches!(step, ClientStep::Found(..))),
            1
        );
        assert_eq!(
            outcome.count(|step| matches!(step, ClientStep::Results(_))),
            1
        );
        let exchanges = outcome.count(|step| matches!(step, ClientStep::Exchange(_)));
        assert!((80..=120).contains(&exchanges), "{exchanges}");
        let progress = outcome.count(|step| matches!(step, ClientStep::Progress(_)));
        assert!((18..=20).contains(&progress), "{progress}");
        assert!(
            outcome.over.is_some_and(|over| over < at(10_600)),
            "{:?}",
            outcome.over
        );
        assert!(outcome.server_over);
        // The client says who it is, and what it counted before it is through.
        let results = ServerStep::Results(Box::new(client_results()));
        let said = &outcome.server_steps[1..];
        let expected = [
            ServerStep::About(own_program().into()),
            results,
            ServerStep::Finished,
        ];
        assert_eq!(said, expected);
    }
}

#[test]
fn who_is_silent_is_given_up_and_the_test_has_not_waited_long() {
    for (habit, latest) in [
        (Habit::Silent, 5_100),
        (Habit::Forgetful, 15_100),
        (Habit::Refuses, 200),
    ] {
        let mut run = Run::new(2, path(20, 0));
        run.habit = habit;
        let outcome = run.play();
        assert!(outcome.broken().is_some(), "{habit:?}");
        assert!(
            outcome.over.is_some_and(|over| over <= at(latest)),
            "{habit:?} {:?}",
            outcome.over
        );
    }
    let cut = Cut {
        from: at(3_000),
        until: MonoTime::FAR,
    };
    let mut run = Run::new(
        2,
        StreamProfile {
            cuts: vec![cut],
            ..path(20, 0)
        },
    );
    run.end = at(60_000);
    let outcome = run.play();
    assert_eq!(outcome.broken(), Some("the server is silent"));
    assert!(outcome.server_over);
}

#[test]
fn either_end_can_stop_the_test() {
    let mut run = Run::new(3, path(5, 0));
    run.habit = Habit::Stops;
    let outcome = run.play();
    let stop = ClientStep::Stop("the server goes".to_owned());
    assert!(outcome.steps.contains(&stop));
    assert_eq!(
        outcome.count(|step| matches!(step, ClientStep::Results(_))),
        1
    );
    let mut run = Run::new(3, path(5, 0));
    run.stop = Some(at(2_000));
    let outcome = run.play();
    assert!(
        outcome
            .server_steps
            .contains(&ServerStep::Stop("enough".to_owned()))
    );
}

#[test]
fn any_bytes_cost_a_server_little_and_never_a_fault() {
    let mut random = SplitMix64::new(5);
    for _ in 0..2_000 {
        let mut server = ServerControl::new(MonoTime::ZERO);
        for _ in 0..20 {
            let kind = random.below(13) as u8;
            let length = [0, 12, 28, random.below(40)][random.below(4) as usize] as u8;
            let mut bytes = vec![kind, 0, 0, length];
            bytes.extend((0..length).map(|_| random.below(256) as u8));
            server.received(&bytes, MonoTime::ZERO, WallTime::from_nanos(1));
            while let Some(step) = server.step() {
                if let ServerStep::Hello(_) = step {
                    server.welcome(Program::default(), None, None);
                }
            }
            assert!(server.output(WallTime::from_nanos(2), 0).len() < 4096);
        }
    }
}

#[test]
fn a_flood_of_requests_ends_the_connection() {
    let mut server = ServerControl::new(MonoTime::ZERO);
    let request = [4, 0, 0, 12, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 1];
    for _ in 0..1_001 {
        server.received(&request, MonoTime::ZERO, WallTime::from_nanos(1));
        let _ = server.output(WallTime::from_nanos(1), 0);
    }
    assert!(server.is_over());
}

/// Delays as the path made them: mean in seconds, one by one in nanoseconds.
struct Truth {
    mean: f64,
    delays: DelayCounts,
}
const SECONDS: u64 = 10;

/// What a receiver counts of a flow of `SECONDS` over a path of 20 to 22 ms; and the truth.
fn received(
    random: &mut SplitMix64,
    departs: impl Fn(MonoTime) -> WallTime,
    arrives: impl Fn(MonoTime) -> WallTime,
) -> (UdpReceive, Truth) {
    let (mut transit, mut truth) = (Moments::EMPTY, Moments::EMPTY);
    let recorded = Arc::new(RecordedDelays::default());
    let mut recorder = DelayRecorder::new(Arc::clone(&recorded));
    let mut ways = Vec::new();
    for index in 0..SECONDS * 50 {
        let sent = at(index * 20);
        let way = Duration::from_nanos(20_000_000 + random.below(2_000_000));
        truth.add(way.as_secs_f64());
        let arrival = arrives(sent + way);
        let stamps = arrival.nanos_since(departs(sent));
        transit.add(stamps as f64 * 1e-9);
        recorder.record(stamps, 1, arrival);
        ways.push(i64::try_from(way.as_nanos()).expect("a short way"));
    }
    let receive = UdpReceive {
        transit,
        delays: Some(recorded.read()),
        ..UdpReceive::default()
    };
    let truth = Truth {
        mean: truth.mean,
        delays: ways.into_iter().collect(),
    };
    (receive, truth)
}

fn total(tag: FlowTag, receive: UdpReceive) -> Row {
    Row {
        subject: Subject::Flow(tag),
        phase: Phase::Total,
        span: Span {
            start: Duration::ZERO,
            end: Duration::from_secs(SECONDS),
        },
        ended: WallTime::default(),
        bytes: 1,
        endpoints: None,
        trip_times: false,
        placement: Placement::default(),
        measure: Measure::UdpReceive(receive),
    }
}

/// Flows of datagrams there and back over the same path, whose one-way delays are reported by both ends' clocks;
/// and their true delays.
fn measure(seed: u64) -> [(OneWayDelay, Truth); 2] {
    let mut random = SplitMix64::new(seed ^ 0xfeed);
    let clock = OtherClock {
        offset: random.below(20_000_000_000) as i64 - 10_000_000_000,
        // Quartz clocks left alone differ by up to some 50 millionths.
        drift: (random.below(100_001) as f64 - 50_000.0) * 1e-9,
    };
    let theirs = |now| clock.wall(now);
    let (there, truth_there) = received(&mut random, client_wall, theirs);
    let (back, truth_back) = received(&mut random, theirs, client_wall);
    let tag = |id, reversed| FlowTag {
        id: FlowId(id),
        reversed,
    };
    let address = std::net::SocketAddr::from(([10, 0, 0, 1], 5001));
    let known = OwnFlow {
        token: Some(TOKEN),
        sends: None,
        receives: Some(tag(4, false)),
        local: address,
        peer: address,
        congestion: None,
    };
    let mut run = Run::new(seed, path(20, 2));
    run.clock = clock;
    let counted = [Counted {
        total: total(tag(4, false), there),
        evidence: None,
        round_trips: Vec::new(),
    }];
    let around = HostUsageSince::default();
    run.results = from_counted(&[known], &counted, &around, Detail::ForClient);
    let outcome = run.play();
    let results = outcome.steps.iter().find_map(|step| match step {
        ClientStep::Results(results) => Some(results),
        _ => None,
    });
    let own = OwnFlow {
        token: Some(TOKEN),
        sends: Some(tag(1, false)),
        receives: None,
        local: address,
        peer: address,
        congestion: None,
    };
    let other = peer_results::from_message(results.expect("results"), &[own], None);
    let fit = outcome.clocks.fit().expect("an estimate");
    let end = client_wall(at(SECONDS * 1000));
    let estimate = peer_results::estimate(&fit, client_wall(MonoTime::ZERO), end);
    let own = [total(tag(1, true), back)];
    let delays = one_way_delay::delays(&other, &own, &fit, estimate);
    let [there, back] = <[OneWayDelay; 2]>::try_from(delays).expect("both ways");
    assert_eq!((there.tag, back.tag), (tag(1, false), tag(1, true)));
    [(there, truth_there), (back, truth_back)]
}

/// The mean, the extremes and the percentiles are as far from the truth as is reported, or less.
fn is_within(reported: &OneWayDelay, truth: &Truth, bound: f64) -> bool {
    let points = truth.delays.points();
    let mut apart = vec![
        reported.min - points[0].0 as f64 * 1e-9,
        reported.max - points[points.len() - 1].0 as f64 * 1e-9,
    ];
    for percent in [50.0, 90.0, 95.0, 99.0] {
        let [reported, truth] = [&reported.counts, &truth.delays]
            .map(|delays| delays.percentile(percent).expect("500 samples"));
        apart.push((reported - truth) as f64 * 1e-9);
    }
    let single = reported.bound_single.expect("a bound");
    let all = apart.into_iter().all(|apart| apart.abs() <= single);
    (reported.mean - truth.mean).abs() <= bound && all
}

#[test]
fn the_true_one_way_delay_lies_within_its_bound() {
    let (mut inside, mut widest, mut widest_single) = (0, 0.0_f64, 0.0_f64);
    for seed in 0..100 {
        let both = measure(seed);
        let mut right = true;
        for (reported, truth) in &both {
            let DelayClock::Estimated(clock) = reported.clock else {
                panic!("{reported:?}");
            };
            widest = widest.max(clock.bound);
            widest_single = widest_single.max(reported.bound_single.expect("a bound"));
            // What is certain is not a small number: the path decides.
            assert!(clock.certain > 19e-3, "seed {seed}: {clock:?}");
            right &= is_within(reported, truth, clock.bound);
        }
        inside += usize::from(right);
    }
    assert!(inside >= 95, "{inside} of 100");
    assert!(widest < 0.5e-3, "{widest}");
    // Of 2 ms that each way varies by, at the ends of the test.
    assert!(widest_single < 1e-3, "{widest_single}");
}

#[test]
fn what_the_clocks_drift_apart_is_not_in_the_delays() {
    // A delay that is always the same, and clocks that drift apart by a millisecond.
    let drift = 100e-6;
    let clock = OtherClock {
        offset: 5_000_000_000,
        drift,
    };
    let recorded = Arc::new(RecordedDelays::default());
    let mut recorder = DelayRecorder::new(Arc::clone(&recorded));
    let mut transit = Moments::EMPTY;
    let mut clocks = ClockLine::new();
    for index in 0..1_000 {
        let sent = at(index * 10);
        let there = sent + Duration::from_millis(20);
        let back = there + Duration::from_millis(20);
        let arrival = clock.wall(there);
        let stamps = arrival.nanos_since(client_wall(sent));
        transit.add(stamps as f64 * 1e-9);
        recorder.record(stamps, 1, arrival);
        clocks.observe(&ClockExchange {
            client_send: client_wall(sent),
            server_receive: arrival,
            server_send: arrival,
            client_receive: client_wall(back),
        });
    }
    let fit = clocks.fit().expect("an estimate");
    let end = client_wall(at(SECONDS * 1000));
    let estimate = peer_results::estimate(&fit, client_wall(MonoTime::ZERO), end);
    let tag = FlowTag {
        id: FlowId(1),
        reversed: false,
    };
    let estimate = |delays: Option<DelayCourse>| {
        let receive = UdpReceive {
            transit,
            delays,
            ..UdpReceive::default()
        };
        let flow = PeerFlow {
            total: total(tag, receive),
            limits: PeerLimits::default(),
            evidence: None,
            round_trips: Vec::new(),
        };
        let other = PeerResults {
            flows: vec![flow],
            ..PeerResults::default()
        };
        let mut delays = one_way_delay::delays(&other, &[], &fit, estimate);
        let delay = delays.pop().expect("a delay");
        let bound = delay.bound_single.expect("a bound");
        (delay.max - delay.min, delay.mean, bound)
    };
    // Half of a slice's drift is left, and is in the bound.
    let (spread, mean, bound) = estimate(Some(recorded.read()));
    assert!(spread <= drift * 1.0 + 2e-6, "{spread}");
    assert!((mean - 20e-3).abs() < 5e-6, "{mean}");
    assert!(bound >= spread / 2.0 && bound < 0.2e-3, "{bound}");
    // Without times of arrival all of it is there, and in the bound.
    let (spread, mean, bound) = estimate(None);
    assert!(spread > 0.9e-3, "{spread}");
    assert!((mean - 20e-3).abs() < 5e-6, "{mean}");
    assert!(bound >= spread / 2.0, "{bound}");
}
