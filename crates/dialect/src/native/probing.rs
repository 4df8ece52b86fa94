//! A client's probe flow: when probes leave, and what their replies say (pure: times and datagrams in); its socket.
//!
//! ```text
//!   traffic ────────────────────────────────┐
//!   probes   .  . .  .  .  . .  .  .  . .  .   ........
//!            Loaded, at most 50 a second      │ Quiet: a row, once the peer's results are here
//!                                      Paused ┘
//! ```

use std::collections::VecDeque;
use std::num::NonZeroU64;
use std::time::Duration;

use tapeline_base::{MonoTime, Tos, WallTime};
use tapeline_report::{LoadedLatency, ProbeSeries};
use tapeline_stats::{BufferbloatGrade, ClockFit, DelayCounts, Random};
use tapeline_sys::{ReceiveBatch, ReceiveFeatures, SocketOptions, UdpSocket, Wait};
use tapeline_wire::native::{ProbeReply, ProbeRequest};

use super::clock_sync::{nanos, time};
use super::local_results::OwnFlow;

/// Mean distance of probes under load.
const LOADED: Duration = Duration::from_millis(20);
/// Probes in the row after the traffic.
const ROW: u32 = 24;
/// Their mean distance.
const IN_ROW: Duration = Duration::from_millis(6);
/// Time for their replies.
const ROW_LIMIT: Duration = Duration::from_secs(2);
/// What a probe takes of the path: with the headers of UDP and IPv6.
const COST: u64 = ProbeRequest::LENGTH as u64 + 48;
/// The share of the traffic's bytes that probes may take, one in so many.
const SHARE: u64 = 1000;
/// Of that, what is left for the row, one in so many.
const ROW_SHARE: u64 = 4;
/// Probes that are waited for; the oldest are given up for newer ones.
const MAX_OPEN: usize = 1024;
/// Exchanges that are kept; with more, every second one is dropped, and probes leave half as often.
const MAX_KEPT: usize = 1 << 16;

/// How far the test is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ProbePhase {
    /// Traffic flows.
    Loaded,
    /// It has ended, and the path may not be quiet yet.
    Paused,
    /// The path is quiet: so many are left of the row, which has until then.
    Quiet { left: u32, until: MonoTime },
    /// No probe leaves any more.
    Over,
}

/// One probe and its reply.
#[derive(Clone, Copy, Debug)]
struct Exchange {
    /// T1.
    sent: WallTime,
    /// T2 − T1, nanoseconds.
    there: i64,
    /// T4 − T3, nanoseconds.
    back: i64,
}

impl Exchange {
    fn round_trip(&self) -> i64 {
        self.there.saturating_add(self.back)
    }
}

/// Probes of a stage.
#[derive(Debug, Default)]
struct Series {
    sent: u64,
    exchanges: Vec<Exchange>,
}

impl Series {
    fn summary(&self) -> ProbeSeries {
        ProbeSeries {
            sent: self.sent,
            round_trips: self.exchanges.iter().map(Exchange::round_trip).collect(),
        }
    }

    /// Median of one way by the client's clock, nanoseconds.
    fn median(&self, way: impl Fn(&Exchange) -> i64) -> Option<i64> {
        let ways: DelayCounts = self.exchanges.iter().map(way).collect();
        ways.percentile(50.0)
    }
}

/// Sent and not answered.
#[derive(Clone, Copy, Debug)]
struct Open {
    number: u32,
    sent: WallTime,
    loaded: bool,
}
/// Nanoseconds that the time of day may be ahead or behind between two probes; adjusting it slowly moves it
/// by far less.
const CLOCK_STEP: u64 = 50_000_000;

/// The state machine.
#[derive(Debug)]
pub(crate) struct Probing {
    key: NonZeroU64,
    /// Type of service of the flows.
    class: Tos,
    random: Random,
    phase: ProbePhase,
    /// When the next probe is due.
    next: MonoTime,
    /// Mean distance of probes under load.
    period: Duration,
    number: u32,
    open: VecDeque<Open>,
    loaded: Series,
    quiet: Series,
    /// Bytes of all probes so far.
    spent: u64,
    /// How long traffic flowed.
    load: Duration,
    /// Both clocks at the last probe.
    clocks: Option<(MonoTime, WallTime)>,
    /// The time of day was set meanwhile: delays before and after have nothing in common.
    clock_set: bool,
}

impl Probing {
    /// The server has given this key; the flows have this type of service.
    pub(crate) fn new(key: NonZeroU64, class: Tos, now: MonoTime) -> Self {
        Self {
            key,
            class,
            random: Random::seeded(key.get()),
            phase: ProbePhase::Loaded,
            next: now,
            period: LOADED,
            number: 0,
            open: VecDeque::new(),
            loaded: Series::default(),
            quiet: Series::default(),
            spent: 0,
            load: Duration::ZERO,
            clocks: None,
            clock_set: false,
        }
    }

    /// The traffic has ended, which took so long.
    pub(crate) fn pause(&mut self, load: Duration) {
        if self.phase == ProbePhase::Loaded {
            self.phase = ProbePhase::Paused;
            self.load = load;
        }
    }

    /// The path is quiet from now on.
    pub(crate) fn compare(&mut self, now: MonoTime) {
        if matches!(self.phase, ProbePhase::Loaded | ProbePhase::Paused) {
            let until = now + ROW_LIMIT;
            self.phase = ProbePhase::Quiet { left: ROW, until };
            self.next = now;
        }
    }

    /// The server's port is closed: probes of the row get no replies any more.
    pub(crate) fn refused(&mut self) {
        if self.is_comparing() {
            self.end();
        }
    }

    /// No probe is to leave any more.
    pub(crate) fn end(&mut self) {
        self.phase = ProbePhase::Over;
    }

    /// The row is awaited.
    pub(crate) fn is_comparing(&self) -> bool {
        matches!(self.phase, ProbePhase::Quiet { .. })
    }

    /// No probe of the row is under way.
    fn is_row_answered(&self) -> bool {
        self.open.iter().all(|open| open.loaded)
    }

    /// When to call [`next`](Self::next); nothing while no probe is due.
    pub(crate) fn due(&self) -> Option<MonoTime> {
        match self.phase {
            ProbePhase::Loaded => Some(self.next),
            ProbePhase::Quiet { left: 1.., until } => Some(self.next.min(until)),
            ProbePhase::Quiet { .. } if self.is_row_answered() => Some(MonoTime::ZERO),
            ProbePhase::Quiet { until, .. } => Some(until),
            ProbePhase::Paused | ProbePhase::Over => None,
        }
    }

    /// The probe that is due, if one is: `wall` is the time at which it is written, `traffic` the bytes of the
    /// test so far.
    pub(crate) fn next(
        &mut self,
        now: MonoTime,
        wall: WallTime,
        traffic: u64,
    ) -> Option<[u8; ProbeRequest::LENGTH]> {
        let is_row_answered = self.is_row_answered();
        let (loaded, mean) = match &mut self.phase {
            ProbePhase::Quiet { left, until } => {
                if now >= *until || (*left == 0 && is_row_answered) {
                    self.phase = ProbePhase::Over;
                    return None;
                }
                if now < self.next || *left == 0 {
                    return None;
                }
                *left -= 1;
                (false, IN_ROW)
            }
            ProbePhase::Loaded if now >= self.next => (true, self.period),
            ProbePhase::Loaded | ProbePhase::Paused | ProbePhase::Over => return None,
        };
        self.next = now + mean.mul_f64(0.5 + self.random.fraction());
        let all = traffic / SHARE;
        let budget = if loaded { all - all / ROW_SHARE } else { all };
        if self.spent + COST > budget {
            return None;
        }
        self.spent += COST;
        self.compare_clocks(now, wall);
        Some(self.probe(loaded, wall))
    }

    /// The probes of a stage.
    fn series(&mut self, loaded: bool) -> &mut Series {
        if loaded {
            &mut self.loaded
        } else {
            &mut self.quiet
        }
    }

    /// Sees whether the time of day has moved otherwise than time.
    fn compare_clocks(&mut self, now: MonoTime, wall: WallTime) {
        if let Some((then, wall_then)) = self.clocks.replace((now, wall)) {
            let expected = wall_then + now.since(then);
            self.clock_set |= wall.nanos_since(expected).unsigned_abs() > CLOCK_STEP;
        }
    }

    fn probe(&mut self, loaded: bool, wall: WallTime) -> [u8; ProbeRequest::LENGTH] {
        self.number = self.number.wrapping_add(1);
        if self.open.len() >= MAX_OPEN {
            self.open.pop_front();
        }
        self.open.push_back(Open {
            number: self.number,
            sent: wall,
            loaded,
        });
        self.series(loaded).sent += 1;
        ProbeRequest {
            key: self.key,
            number: self.number,
            class: self.class,
            sent: nanos(wall),
        }
        .encode()
    }

    /// Takes a datagram that arrived at this time of day; returns the round trip of a probe under load. What is
    /// no reply to a probe of ours is left aside.
    pub(crate) fn received(&mut self, datagram: &[u8], arrival: WallTime) -> Option<Duration> {
        let reply = ProbeReply::parse(datagram)?;
        let ours = |open: &Open| {
            let request = &reply.request;
            request.key == self.key
                && (request.number, request.sent) == (open.number, nanos(open.sent))
        };
        let place = self.open.iter().position(ours)?;
        let open = self.open.remove(place)?;
        let (received, answered) = (time(reply.received)?, time(reply.sent)?);
        let exchange = Exchange {
            sent: open.sent,
            there: received.nanos_since(open.sent),
            back: arrival.nanos_since(answered),
        };
        // A clock was set in between, or somebody plays with the stamps.
        let round_trip = u64::try_from(exchange.round_trip()).ok()?;
        if answered < received {
            return None;
        }
        self.series(open.loaded).exchanges.push(exchange);
        if self.loaded.exchanges.len() >= MAX_KEPT {
            let mut keep = false;
            self.loaded.exchanges.retain(|_| {
                keep = !keep;
                keep
            });
            self.loaded.sent /= 2;
            self.period *= 2;
        }
        open.loaded.then(|| Duration::from_nanos(round_trip))
    }

    /// What the probes came to; nothing without a reply under load, or when the clock was set. `clocks` distinguishes the ways.
    pub(crate) fn result(&self, clocks: Option<&ClockFit>) -> Option<LoadedLatency> {
        if self.loaded.exchanges.is_empty() || self.clock_set {
            return None;
        }
        let increase = |way: &dyn Fn(&Exchange) -> i64| {
            let loaded = self.loaded.median(way)?;
            let quiet = self.quiet.median(way)?;
            Some(loaded.saturating_sub(quiet) as f64 * 1e-9)
        };
        let ways = clocks.map(|clocks| {
            // The peer's clock less this end's, at the probe.
            let offset = |one: &Exchange| (clocks.offset_at(one.sent) * 1e9).round() as i64;
            let there = increase(&|one| one.there.saturating_sub(offset(one)));
            let back = increase(&|one| one.back.saturating_add(offset(one)));
            (there, back)
        });
        let (there, back) = ways.unwrap_or_default();
        let median = increase(&Exchange::round_trip);
        let enough = self.loaded.exchanges.len() as u64 >= BufferbloatGrade::LEAST_SAMPLES
            && self.load >= BufferbloatGrade::LEAST_LOAD;
        Some(LoadedLatency {
            idle: self.quiet.summary(),
            loaded: self.loaded.summary(),
            load: self.load,
            increase: median,
            increase_there: there,
            increase_back: back,
            grade: median.filter(|_| enough).map(BufferbloatGrade::of_increase),
        })
    }
}

/// Replies that are fetched at once.
const REPLIES: usize = 16;

/// Probes on their way to the server and back.
#[derive(Debug)]
pub(crate) struct ProbeFlow {
    pub(crate) socket: UdpSocket,
    replies: ReceiveBatch,
    pub(crate) probing: Probing,
}

impl ProbeFlow {
    /// To where `flow` goes, with the key that the server has given and the flows' type of service: probes
    /// wait in the same queues. `options` are those of the control connection. Nothing when there is no
    /// socket for it.
    pub(crate) fn open(
        flow: &OwnFlow,
        options: &SocketOptions,
        key: NonZeroU64,
        class: Tos,
        now: MonoTime,
    ) -> Option<Self> {
        let mut local = flow.local;
        local.set_port(0);
        let options = marked(options, class);
        let opened = UdpSocket::connected(flow.peer, Some(local), &options).ok()?;
        // Where the system does not stamp arrivals, the time of reading stands in.
        opened.socket.request(ReceiveFeatures {
            timestamps: true,
            ..ReceiveFeatures::default()
        });
        Some(Self {
            socket: opened.socket,
            replies: ReceiveBatch::new(REPLIES, 2 * ProbeRequest::LENGTH),
            probing: Probing::new(key, class, now),
        })
    }

    /// Takes the replies that are there; `round_trips` are the round trips under load.
    pub(crate) fn receive(&mut self, mut round_trips: impl FnMut(Duration)) {
        match self.replies.receive(&self.socket, Wait::Never) {
            Ok(_) => {
                for reply in self.replies.datagrams() {
                    let round_trip = self.probing.received(reply.payload, reply.arrival);
                    round_trip.into_iter().for_each(&mut round_trips);
                }
            }
            Err(error) if error.kind() == std::io::ErrorKind::ConnectionRefused => {
                self.probing.refused();
            }
            // Another error is the path's answer to an earlier probe, which stays unanswered.
            Err(_) => {}
        }
    }

    /// Sends the probe that is due, if one is.
    pub(crate) fn send(&mut self, now: MonoTime, wall: WallTime, traffic: u64) {
        if let Some(probe) = self.probing.next(now, wall, traffic) {
            // One that does not leave counts as unanswered.
            let _ = self.socket.send_nonblocking(&probe);
        }
    }
}

/// Nobody slows down when a probe comes back with a congestion mark.
fn marked(options: &SocketOptions, class: Tos) -> SocketOptions {
    let class = Tos::from_dscp(class.dscp());
    SocketOptions {
        tos: Some(class).filter(|class| *class != Tos::default()),
        ..options.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEY: NonZeroU64 = NonZeroU64::new(7).unwrap();
    /// What the client's clock shows at the beginning, nanoseconds since 1970.
    const EPOCH: i64 = 1_800_000_000_000_000_000;
    /// How far the server's clock is ahead, nanoseconds.
    const AHEAD: i64 = 3_250_000_000;

    fn wall(now: MonoTime) -> WallTime {
        WallTime::from_nanos(EPOCH + now.as_nanos() as i64)
    }

    fn at(milliseconds: u64) -> MonoTime {
        MonoTime::from_nanos(milliseconds * 1_000_000)
    }

    /// A path of 10 ms each way whose queue holds `queue` milliseconds while traffic flows.
    struct Path {
        queue: u64,
        /// Bytes per second.
        rate: u64,
        /// Seconds.
        load: u64,
        /// Every so many probes are lost; 0 for none.
        loses: u32,
    }

    impl Path {
        /// Plays a test; returns the client's machine and the bytes of its probes while traffic flowed.
        fn play(&self) -> (Probing, u64) {
            let mut probing = Probing::new(KEY, Tos::default(), at(0));
            let mut replies: VecDeque<(MonoTime, [u8; ProbeRequest::LENGTH])> = VecDeque::new();
            let mut spent = 0;
            let end = at(self.load * 1000);
            for step in 0..(self.load + 10) * 1000 {
                let now = at(step);
                while replies.front().is_some_and(|(due, _)| *due <= now) {
                    if let Some((due, reply)) = replies.pop_front() {
                        probing.received(&reply, wall(due));
                    }
                }
                if now == end {
                    probing.pause(Duration::from_secs(self.load));
                }
                if now == end + Duration::from_secs(1) {
                    probing.compare(now);
                }
                let flowed = now.min(end).as_nanos() / 1_000_000;
                let traffic = self.rate * flowed / 1000;
                let Some(probe) = probing.next(now, wall(now), traffic) else {
                    continue;
                };
                spent += COST;
                assert!(spent <= traffic / 1000, "{spent} of {traffic}");
                let request = ProbeRequest::parse(&probe).expect("a request");
                if self.loses > 0 && request.number.is_multiple_of(self.loses) {
                    continue;
                }
                let queue = if now < end { self.queue } else { 0 };
                let arrival = now + Duration::from_millis(10 + queue);
                let there = nanos(wall(arrival)).saturating_add_signed(AHEAD);
                // The server takes its time, which is in no round trip.
                let held = 400_000_000;
                let reply = ProbeReply {
                    request,
                    received: there,
                    sent: there + held,
                };
                let due = arrival + Duration::from_millis(400 + 10);
                replies.push_back((due, reply.encode()));
            }
            (probing, spent)
        }
    }

    #[test]
    fn a_full_queue_is_seen_and_graded() {
        for (queue, letter) in [(0, "A+"), (20, "A"), (100, "C"), (900, "F")] {
            let path = Path {
                queue,
                rate: 12_500_000,
                load: 10,
                loses: 7,
            };
            let (probing, _) = path.play();
            assert!(!probing.is_comparing() && probing.due().is_none());
            let result = probing.result(None).expect("replies");
            let idle = result.idle.round_trips.percentile(50.0);
            assert_eq!(idle, Some(20_000_000));
            let increase = result.increase.expect("both stages");
            assert!((increase - queue as f64 * 1e-3).abs() < 1e-9, "{increase}");
            assert_eq!(result.grade.map(BufferbloatGrade::letter), Some(letter));
            assert_eq!((result.increase_there, result.increase_back), (None, None));
            // At most 50 a second, and nearly so.
            assert!(
                (400..=510).contains(&result.loaded.sent),
                "{}",
                result.loaded.sent
            );
            assert!(result.loaded.round_trips.count() < result.loaded.sent);
        }
    }

    #[test]
    fn slow_tests_get_few_probes_and_short_ones_no_grade() {
        // 1 Mbit/s: 125 bytes a second are there for probes.
        let slow = Path {
            queue: 50,
            rate: 125_000,
            load: 10,
            loses: 0,
        };
        let (probing, spent) = slow.play();
        assert!(spent <= 1_250);
        let result = probing.result(None).expect("replies");
        assert!(result.loaded.sent < 50 && result.grade.is_none());
        assert!(result.increase.is_some());
        let short = Path {
            rate: 125_000_000,
            load: 4,
            ..slow
        };
        let result = short.play().0.result(None).expect("replies");
        assert!(result.loaded.sent > 50 && result.grade.is_none());
        let nothing = Path { rate: 100, ..slow };
        assert_eq!(nothing.play().0.result(None), None);
    }

    #[test]
    fn strange_replies_are_left_aside() {
        let mut probing = Probing::new(KEY, Tos::default(), at(0));
        let probe = probing.next(at(0), wall(at(0)), u64::MAX).expect("a probe");
        let request = ProbeRequest::parse(&probe).expect("a request");
        let reply = |request: ProbeRequest, received: u64, sent: u64| {
            let reply = ProbeReply {
                request,
                received,
                sent,
            };
            reply.encode()
        };
        let then = nanos(wall(at(5)));
        let forged = ProbeRequest {
            key: NonZeroU64::MIN,
            ..request
        };
        let other = ProbeRequest {
            number: 2,
            ..request
        };
        let older = ProbeRequest {
            sent: request.sent - 1,
            ..request
        };
        for wrong in [forged, other, older] {
            probing.received(&reply(wrong, then, then), wall(at(10)));
        }
        probing.received(b"TPLPROBE", wall(at(10)));
        assert_eq!(probing.result(None), None);
        // A server whose clock went back.
        probing.received(&reply(request, then, then - 1), wall(at(10)));
        assert_eq!(probing.result(None), None);
        probing.received(&reply(request, then, then), wall(at(10)));
        assert_eq!(probing.result(None), None, "an answer counts once");
    }

    #[test]
    fn a_row_is_over_with_its_last_reply() {
        let mut probing = Probing::new(KEY, Tos::default(), at(0));
        let mut now = at(1000);
        probing.compare(now);
        for left in (0..ROW).rev() {
            now = probing.due().expect("the next one").max(now);
            let probe = probing.next(now, wall(now), u64::MAX).expect("a probe");
            if left == 0 {
                assert!(probing.due() > Some(now), "the last reply is awaited");
            }
            let request = ProbeRequest::parse(&probe).expect("a request");
            let then = nanos(wall(now));
            let reply = ProbeReply {
                request,
                received: then,
                sent: then,
            };
            now += Duration::from_millis(1);
            probing.received(&reply.encode(), wall(now));
        }
        assert!(probing.due() <= Some(now));
        assert_eq!(probing.next(now, wall(now), u64::MAX), None);
        assert!(!probing.is_comparing());
    }

    #[test]
    fn a_closed_port_ends_the_row_alone() {
        let mut probing = Probing::new(KEY, Tos::default(), at(0));
        // Under load a full host may refuse one, and answer the next.
        probing.refused();
        assert!(probing.next(at(0), wall(at(0)), u64::MAX).is_some());
        probing.compare(at(1000));
        assert!(probing.next(at(1000), wall(at(1000)), u64::MAX).is_some());
        probing.refused();
        assert!(!probing.is_comparing() && probing.due().is_none());
    }

    #[test]
    fn a_long_test_is_kept_within_bounds() {
        let mut probing = Probing::new(KEY, Tos::default(), at(0));
        let mut now = at(0);
        for _ in 0..2 * MAX_KEPT {
            now = probing.due().expect("the next one").max(now);
            let probe = probing.next(now, wall(now), u64::MAX).expect("a probe");
            let request = ProbeRequest::parse(&probe).expect("a request");
            let then = nanos(wall(now + Duration::from_millis(1)));
            let reply = ProbeReply {
                request,
                received: then,
                sent: then,
            };
            probing.received(&reply.encode(), wall(now + Duration::from_millis(2)));
            assert!(probing.loaded.exchanges.len() < MAX_KEPT);
        }
        assert!(probing.period > LOADED);
    }

    #[test]
    fn nothing_is_reported_of_delays_when_the_clock_was_set() {
        for step in [0, 3_600_000_000_000_i64, -3_600_000_000_000] {
            let mut probing = Probing::new(KEY, Tos::default(), at(0));
            for (now, moved) in [(0, 0), (500, step), (1000, step)] {
                let shown =
                    |later: u64| WallTime::from_nanos(wall(at(now + later)).as_nanos() + moved);
                let probe = probing.next(at(now), shown(0), u64::MAX).expect("a probe");
                let reply = ProbeReply {
                    request: ProbeRequest::parse(&probe).expect("a request"),
                    received: nanos(shown(1)),
                    sent: nanos(shown(1)),
                };
                probing.received(&reply.encode(), shown(2));
            }
            assert_eq!(probing.result(None).is_some(), step == 0, "{step}");
        }
    }

    #[test]
    fn probes_have_the_class_of_the_flows_and_no_congestion_marks() {
        let options = SocketOptions {
            device: Some("eth0".to_owned()),
            ..SocketOptions::default()
        };
        let probes = marked(&options, Tos(0xb9));
        assert_eq!(probes.tos, Some(Tos(0xb8)));
        assert_eq!(probes.device, options.device);
        assert_eq!(marked(&options, Tos(1)), options);
    }
}
