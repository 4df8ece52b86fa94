//! Orders between both ends of a control connection, and a steered load, over simulated networks in virtual
//! time.

use std::num::{NonZeroU32, NonZeroU64};
use std::time::Duration;

use tapeline_base::{BitRate, MonoTime, WallTime};
use tapeline_stats::{LoadRules, LoadSearch, LoadTable};
use tapeline_testkit::network::{
    Cut, Link, LinkProfile, Side, StreamLink, StreamProfile, StreamRead,
};
use tapeline_wire::native::{
    Done, LoadEcho, Message, MethodDatagram, MethodKind, Methods, Order, OrderEnd, PREAMBLE,
    Program, Ready, Sample, Status,
};

use crate::method::leash::{Leash, SILENCE};
use crate::method::load::load_status;
use crate::method::load_receiver::LoadReceiver;
use crate::method::terms::{Task, Terms};
use crate::native::client_control::{ClientControl, ClientStep};
use crate::native::server_control::{ServerControl, ServerStep};

const TEST: NonZeroU32 = NonZeroU32::new(77).unwrap();
const TOKEN: NonZeroU32 = NonZeroU32::new(99).unwrap();
const KEY: NonZeroU64 = NonZeroU64::new(7).unwrap();
/// What both clocks show at the beginning, nanoseconds since 1970; the client's is behind.
const EPOCH: i64 = 1_800_000_000_000_000_000;
const BEHIND: i64 = 2_000_000_000;

fn at(milliseconds: u64) -> MonoTime {
    MonoTime::from_nanos(milliseconds * 1_000_000)
}

fn wall(now: MonoTime) -> WallTime {
    WallTime::from_nanos(EPOCH + now.as_nanos() as i64)
}

fn order(method: &str) -> Order {
    Order {
        method: method.to_owned(),
        seconds: Duration::from_secs(5),
        ..Order::default()
    }
}

fn say(server: &mut ServerControl, message: Message) {
    server.method(&message);
}

/// A server that declines the first order and does the others, each for a second; what its client sees.
fn played(seed: u64, profile: StreamProfile, methods: bool) -> Vec<ClientStep> {
    let mut link = StreamLink::new(seed, profile);
    let mut now = MonoTime::ZERO;
    let mut client = ClientControl::for_orders(TEST, TOKEN, now);
    let mut server = ServerControl::new(now);
    let mut preamble = PREAMBLE.len();
    let mut steps = Vec::new();
    let (mut orders, mut ends) = (0, None);
    let mut wanted = 3;
    while now < at(60_000) {
        while let StreamRead::Data(bytes) = link.read(now, Side::Client, 4096) {
            client.received(&bytes, now, wall(now));
        }
        while let StreamRead::Data(bytes) = link.read(now, Side::Server, 4096) {
            let skipped = bytes.len().min(preamble);
            preamble -= skipped;
            server.received(&bytes[skipped..], now, wall(now));
        }
        while let Some(step) = server.step() {
            match step {
                ServerStep::Hello(_) => {
                    let known = Methods([("mtu".to_owned(), 1)].into());
                    server.welcome(Program::default(), None, methods.then_some(known));
                }
                ServerStep::Order(_) if orders == 0 => {
                    orders += 1;
                    say(&mut server, Message::Declined("not now".to_owned()));
                }
                ServerStep::Order(order) => {
                    orders += 1;
                    assert_eq!(order.seconds, Duration::from_secs(5));
                    say(&mut server, Message::Ready(Ready::default()));
                    say(&mut server, Message::Status(Status::default()));
                    say(&mut server, Message::Sample(Sample::default()));
                    ends = Some(now + Duration::from_secs(1));
                }
                ServerStep::Stop(_) => ends = ends.map(|_| now),
                other => panic!("{other:?}"),
            }
        }
        if ends.is_some_and(|end| now >= end) {
            ends = None;
            say(&mut server, Message::Done(Box::default()));
        }
        while let Some(step) = client.step() {
            steps.push(step);
        }
        if wanted > 0 && client.order(&order("mtu")) {
            wanted -= 1;
            assert!(!client.order(&order("mtu")), "one at a time");
        }
        if wanted == 0 && steps.iter().filter(|step| is_end(step)).count() == 3 {
            client.leave();
        }
        client.tick(now, wall(now));
        server.tick(now);
        link.write(now, Side::Client, &client.output());
        link.write(now, Side::Server, &server.output(wall(now), 0));
        if client.is_over() && server.is_over() {
            break;
        }
        let arrivals = [Side::Client, Side::Server].map(|side| link.next_due(side));
        let dues = [client.due(), server.due(), ends];
        let step = Some(now + Duration::from_millis(20));
        let next = arrivals.into_iter().chain(dues).chain([step]).flatten();
        now = next.filter(|due| *due > now).min().expect("a next step");
    }
    assert!(server.is_over(), "{steps:?}");
    steps
}

fn is_end(step: &ClientStep) -> bool {
    matches!(step, ClientStep::Declined(_) | ClientStep::Done(_))
}

#[test]
fn orders_are_done_one_by_one_however_the_bytes_are_cut() {
    for seed in 0..1000 {
        let profile = StreamProfile {
            delay: Duration::from_millis(seed % 90),
            jitter: Duration::from_millis(seed % 7),
            piece: Some(1 + (seed % 50) as usize),
            ..StreamProfile::default()
        };
        let steps = played(seed, profile, true);
        let seen: Vec<char> = steps.iter().filter_map(letter).collect();
        assert_eq!(
            seen,
            ['f', 'x', 'r', 's', 't', 'd', 'r', 's', 't', 'd'],
            "{seed}"
        );
    }
}

fn letter(step: &ClientStep) -> Option<char> {
    Some(match step {
        ClientStep::Found(_, _, methods) => {
            assert_eq!(methods.version("mtu"), Some(1));
            'f'
        }
        ClientStep::Declined(_) => 'x',
        ClientStep::Ready(_) => 'r',
        ClientStep::Status(_) => 's',
        ClientStep::Sample(_) => 't',
        ClientStep::Done(done) => {
            assert_eq!(**done, Done::default());
            assert_eq!(done.end, OrderEnd::Complete);
            'd'
        }
        ClientStep::Broken(_) => 'b',
        _ => return None,
    })
}

#[test]
fn answers_to_no_order_end_the_connection() {
    for message in [
        Message::Ready(Ready::default()),
        Message::Declined("why".to_owned()),
        Message::Status(Status::default()),
        Message::Sample(Sample::default()),
        Message::Done(Box::default()),
    ] {
        let now = MonoTime::ZERO;
        let mut client = ClientControl::for_orders(TEST, TOKEN, now);
        let mut bytes = Vec::new();
        Message::Welcome {
            version: 1,
            server: Program::default(),
            probe_key: None,
            methods: None,
        }
        .encode(&mut bytes);
        message.encode(&mut bytes);
        client.received(&bytes, now, wall(now));
        assert!(client.is_over(), "{message:?}");
    }
    // An old server knows no methods, and that is no fault.
    let now = MonoTime::ZERO;
    let mut client = ClientControl::for_orders(TEST, TOKEN, now);
    let mut bytes = vec![2, 0, 0, 6, 1, 0, 0, 0];
    bytes.extend(b"{}");
    client.received(&bytes, now, wall(now));
    let Some(ClientStep::Found(_, _, methods)) = client.step() else {
        panic!("a welcome");
    };
    assert!(methods.0.is_empty() && !client.is_over());
}

/// A server's load to its client over a path of 10 ms each way, whose queue holds 64 KiB.
struct Path {
    link: Link,
    search: LoadSearch,
    receiver: LoadReceiver,
    leash: Leash,
    most: Option<NonZeroU64>,
}

/// What came of it.
struct Outcome {
    last: Status,
    longest: Duration,
    shortest: Duration,
    /// When the last datagram left.
    end: MonoTime,
}

const LENGTH: usize = 1222;

impl Path {
    fn new(seed: u64, rate: u64, most: Option<u64>, cuts: Vec<Cut>) -> Self {
        let delay = Duration::from_millis(10);
        let up = LinkProfile {
            delay,
            cuts,
            ..LinkProfile::default()
        };
        let down = LinkProfile {
            delay,
            rate: Some(BitRate(rate)),
            queue: Some(64 << 10),
            ..LinkProfile::default()
        };
        let most = most.and_then(NonZeroU64::new);
        let terms = Terms {
            task: Task::CapacityDown,
            time: Duration::from_secs(6),
            bytes: None,
            bits_per_second: most,
        };
        let table = LoadTable::up_to(most.map(|rate| BitRate(rate.get())));
        Self {
            link: Link::asymmetric(seed, up, down),
            search: LoadSearch::new(table, LoadRules::default()),
            receiver: LoadReceiver::new(),
            leash: Leash::new(terms, at(0)),
            most,
        }
    }

    fn play(mut self) -> Outcome {
        let mut now = at(0);
        let (mut number, mut due) = (0_u32, now);
        let (mut reports, mut report_due) = (0_u32, MonoTime::FAR);
        let mut echo = (0_u64, WallTime::default());
        let mut outcome = Outcome {
            last: Status::default(),
            longest: Duration::ZERO,
            shortest: Duration::MAX,
            end: now,
        };
        while now < at(9000) {
            while let Some((side, bytes)) = self.link.deliver(now) {
                let head = MethodDatagram::parse(&bytes).expect("a datagram of a method");
                match side {
                    Side::Client => {
                        let here = WallTime::from_nanos(wall(now).as_nanos() - BEHIND);
                        self.receiver.take(&head, &bytes, here, now);
                        report_due = report_due.min(now + Duration::from_millis(50));
                    }
                    Side::Server => {
                        let status = Status::parse(&bytes[32..]).expect("a status");
                        self.leash.heard(0, now);
                        echo = (head.sent, wall(now));
                        self.search.report(&load_status(&status));
                    }
                }
            }
            if now >= report_due {
                report_due = now + Duration::from_millis(50);
                if self.receiver.unreported() >= 104
                    && let Some(status) = self.receiver.status(None)
                {
                    reports += 1;
                    self.report(reports, &status, &mut outcome, now);
                }
            }
            if now >= due && self.leash.end(now).is_none() {
                let rate = self
                    .search
                    .rate()
                    .0
                    .min(self.most.map_or(u64::MAX, NonZeroU64::get));
                due = now + Duration::from_nanos((LENGTH as u64 + 28) * 8 * 1_000_000_000 / rate);
                if self.leash.spend(LENGTH, LENGTH + 28, now) {
                    self.send(number, echo, now);
                    number += 1;
                    outcome.end = now;
                }
            }
            let over = self.leash.end(now).is_some();
            let next = [
                self.link.next_due(),
                (!over).then_some(due),
                Some(report_due),
                Some(now + Duration::from_millis(100)),
            ];
            let next = next.into_iter().flatten().filter(|due| *due > now).min();
            now = next.expect("a next step");
        }
        outcome.last = self.receiver.so_far(None).expect("a load");
        outcome
    }

    fn report(&mut self, number: u32, status: &Status, outcome: &mut Outcome, now: MonoTime) {
        let here = EPOCH + now.as_nanos() as i64 - BEHIND;
        let head = MethodDatagram {
            kind: MethodKind::Status,
            flags: 0,
            number,
            key: KEY,
            sent: here as u64,
        };
        let bytes = [&head.encode()[..], &status.encode()].concat();
        self.link.send(now, Side::Client, bytes);
        if status.round_trip > 0 {
            let trip = Duration::from_nanos(status.round_trip);
            outcome.longest = outcome.longest.max(trip);
            outcome.shortest = outcome.shortest.min(trip);
        }
    }

    fn send(&mut self, number: u32, echo: (u64, WallTime), now: MonoTime) {
        let head = MethodDatagram {
            kind: MethodKind::Load,
            flags: 0,
            number,
            key: KEY,
            sent: wall(now).as_nanos() as u64,
        };
        let (status_sent, arrived) = echo;
        let echo = LoadEcho {
            status_sent,
            held: match status_sent {
                0 => 0,
                _ => wall(now).nanos_since(arrived).unsigned_abs(),
            },
        };
        let mut bytes = [&head.encode()[..], &echo.encode()].concat();
        bytes.resize(LENGTH, 0);
        self.link.send(now, Side::Server, bytes);
    }
}

#[test]
fn a_load_finds_the_rate_of_a_path_whose_clocks_differ() {
    for seed in 0..10 {
        let outcome = Path::new(seed, 20_000_000, None, Vec::new()).play();
        let last = outcome.last;
        let bits = last.bytes * 8;
        let seconds = last.elapsed as f64 * 1e-9;
        assert!(last.lost > 0 && last.duplicates == 0, "{last:?}");
        assert!(bits as f64 / seconds < 21e6, "{last:?}");
        // 20 ms, and a queue of 26 ms.
        let (shortest, longest) = (outcome.shortest.as_millis(), outcome.longest.as_millis());
        assert!(
            (20..=22).contains(&shortest) && (40..=50).contains(&longest),
            "{shortest} {longest}"
        );
        assert!((5990..=6000).contains(&(outcome.end.as_nanos() / 1_000_000)));
    }
}

#[test]
fn a_load_stops_a_second_after_the_last_report_and_keeps_to_its_rate() {
    for seed in 0..10 {
        let cut = Cut {
            from: at(2000),
            until: MonoTime::FAR,
        };
        let outcome = Path::new(seed, 20_000_000, Some(3_000_000), vec![cut]).play();
        let end = outcome.end.since(at(2000));
        assert!(end <= SILENCE + Duration::from_millis(25), "{end:?}");
        assert!(end >= SILENCE - Duration::from_millis(60), "{end:?}");
        let last = outcome.last;
        assert_eq!(last.lost, 0);
        let bits = (last.bytes + 28 * last.datagrams) * 8;
        let seconds = last.elapsed as f64 * 1e-9;
        assert!(
            bits as f64 <= 3e6 * seconds + 524_280.0 + 10_000.0,
            "{bits}"
        );
    }
}
