//! The end of a UDP test over a network that loses, copies, delays and reorders: client
//! and server decide as they do over sockets.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use tapeline_base::{MonoTime, SplitMix64, WallTime};
use tapeline_engine::{DatagramCell, DatagramReceiver, Intervals};
use tapeline_testkit::network::{Endpoint, Link, LinkProfile, Outcome, Side, run};
use tapeline_wire::iperf2::{DatagramStamp, ServerReport, UdpClientHeader};

use crate::iperf2::stamps::{Settings, StampForm, datagram_template};
use crate::iperf2::udp_fin::{AfterFin, ClientFin, ClientFinStep, ServerFin};
use crate::iperf2::udp_reader::FlowReader;
use crate::iperf2::udp_receiver::{Datagram, Received, UdpReceiver};
use crate::policy::AmplificationLimit;

/// Datagrams of data, one a millisecond.
const COUNT: u64 = 40;
const GAP: Duration = Duration::from_millis(1);
const LENGTH: usize = 200;
const SEEDS: u64 = 1000;

fn wall(now: MonoTime) -> WallTime {
    WallTime::from_nanos(1_000_000_000 + now.as_nanos() as i64)
}

/// Sends its data, then asks for the report.
struct Client {
    template: Vec<u8>,
    next: u64,
    due: MonoTime,
    fin: Option<ClientFin>,
    ready: VecDeque<Vec<u8>>,
    result: Option<Result<Box<ServerReport>, u32>>,
}

impl Client {
    fn new() -> Self {
        Self {
            template: datagram_template(LENGTH, &Settings::Header(UdpClientHeader::default())),
            next: 1,
            due: MonoTime::ZERO,
            fin: None,
            ready: VecDeque::new(),
            result: None,
        }
    }

    fn ask(&mut self, now: MonoTime) {
        let fin = self.fin.get_or_insert_with(|| ClientFin::new(now));
        loop {
            match fin.next(now) {
                ClientFinStep::Send { full } => {
                    let mut datagram = self.template.clone();
                    StampForm::Wide.write_final(&mut datagram, self.next, wall(now));
                    if !full {
                        datagram.truncate(16);
                    }
                    self.ready.push_back(datagram);
                }
                ClientFinStep::Wait(until) => {
                    self.due = until;
                    return;
                }
                ClientFinStep::Reported(report) => {
                    self.result = Some(Ok(report));
                    return;
                }
                ClientFinStep::Unanswered { tries } => {
                    self.result = Some(Err(tries));
                    return;
                }
            }
        }
    }
}

impl Endpoint for Client {
    fn receive(&mut self, now: MonoTime, datagram: &[u8]) {
        if let Some(fin) = &mut self.fin {
            fin.received(datagram);
            self.ask(now);
        }
    }

    fn wake(&mut self, now: MonoTime) {
        if self.next > COUNT {
            self.ask(now);
            return;
        }
        let mut datagram = self.template.clone();
        let (seconds, micros) = wall(now).to_wire();
        DatagramStamp {
            id: self.next as i64,
            seconds,
            micros,
        }
        .write_16(&mut datagram);
        self.ready.push_back(datagram);
        self.next += 1;
        self.due = now + GAP;
    }

    fn transmit(&mut self, _: MonoTime) -> Option<Vec<u8>> {
        self.ready.pop_front()
    }

    fn deadline(&self) -> Option<MonoTime> {
        Some(self.due)
    }

    fn is_done(&self) -> bool {
        self.result.is_some() && self.ready.is_empty()
    }
}

enum Flow {
    None,
    Receiving(Box<UdpReceiver>),
    Ended(ServerFin),
}

/// What a server keeps of one source.
struct Server {
    flow: Flow,
    opened: u32,
    /// Distinct data that came before the end.
    counted: u64,
    ready: VecDeque<Vec<u8>>,
}

impl Server {
    fn new() -> Self {
        Self {
            flow: Flow::None,
            opened: 0,
            counted: 0,
            ready: VecDeque::new(),
        }
    }

    fn open(&mut self, content: &Datagram<'_>) {
        let Some((reader, _)) = FlowReader::open(content.payload) else {
            return;
        };
        let cell = Arc::new(DatagramCell::new(Intervals::new(content.now, None)));
        let receiver = DatagramReceiver::new(reader.first(), cell, content.now);
        let mut receiver = UdpReceiver::new(reader, receiver, content.now);
        let _ = receiver.take(content);
        self.opened += 1;
        self.flow = Flow::Receiving(Box::new(receiver));
    }

    fn end(&mut self, stamp: DatagramStamp, now: MonoTime) {
        if let Flow::Receiving(mut receiver) = std::mem::replace(&mut self.flow, Flow::None) {
            receiver.publish();
            let report = receiver.report(false);
            self.counted = report.report.datagrams - report.report.lost;
            self.ready.push_back(report.encode(stamp));
            let newest = receiver.newest();
            self.flow = Flow::Ended(ServerFin::received(
                Some(report),
                AmplificationLimit::Unlimited,
                newest,
                now,
            ));
        }
    }
}

impl Endpoint for Server {
    fn receive(&mut self, now: MonoTime, datagram: &[u8]) {
        let content = Datagram {
            payload: datagram,
            arrival: wall(now),
            truncated: false,
            tos: None,
            joined: false,
            now,
        };
        match &mut self.flow {
            Flow::None => self.open(&content),
            Flow::Receiving(receiver) => match receiver.take(&content) {
                Received::Going => {}
                Received::Over(stamp) => self.end(stamp, now),
                Received::NewTest => panic!("the test has one beginning"),
            },
            Flow::Ended(ended) => match ended.receive(datagram, now) {
                AfterFin::Ignore => {}
                AfterFin::Answer(report) => self.ready.push_back(report),
                AfterFin::Open => self.open(&content),
            },
        }
    }

    fn wake(&mut self, now: MonoTime) {
        if let Flow::Receiving(receiver) = &self.flow
            && let Some(stamp) = receiver.over_at(now)
        {
            self.end(stamp, now);
        }
    }

    fn transmit(&mut self, _: MonoTime) -> Option<Vec<u8>> {
        self.ready.pop_front()
    }

    fn deadline(&self) -> Option<MonoTime> {
        None
    }

    fn is_done(&self) -> bool {
        true
    }
}

fn simulate(link: &mut Link) -> (Client, Server, MonoTime) {
    let (mut client, mut server) = (Client::new(), Server::new());
    let end = MonoTime::ZERO + Duration::from_secs(60);
    match run(link, &mut client, &mut server, MonoTime::ZERO, end) {
        Outcome::Done(at) => (client, server, at),
        other => panic!("{other:?}"),
    }
}

fn profile(random: &mut SplitMix64) -> LinkProfile {
    let percent = |random: &mut SplitMix64, max: u64| random.below(max + 1) as f64 / 100.0;
    LinkProfile {
        delay: Duration::from_micros(random.below(60_000)),
        jitter: Duration::from_micros(random.below(5_000)),
        loss: percent(random, 20),
        duplicate: percent(random, 20),
        reorder: percent(random, 20),
        reorder_by: Duration::from_micros(random.below(4_500)),
        ..LinkProfile::default()
    }
}

#[test]
fn whatever_the_network_does_one_report_ends_one_flow() {
    for seed in 0..SEEDS {
        let mut random = SplitMix64::new(seed);
        let mut link = Link::new(seed, profile(&mut random));
        let (client, server, _) = simulate(&mut link);
        let Some(Ok(report)) = client.result else {
            panic!("seed {seed}: unanswered");
        };
        assert_eq!(server.opened, 1, "seed {seed}");
        // The final datagram counts as one.
        assert_eq!(report.datagrams, COUNT + 1, "seed {seed}");
        assert_eq!(
            report.datagrams - report.lost,
            server.counted,
            "seed {seed}"
        );
        let lost = link.counters(Side::Client).lost;
        assert!(
            report.lost <= lost,
            "seed {seed}: {} of {lost}",
            report.lost
        );
    }
}

#[test]
fn without_loss_nothing_counts_as_lost_however_disordered() {
    for seed in 0..SEEDS {
        let mut random = SplitMix64::new(seed);
        let lossless = LinkProfile {
            loss: 0.0,
            ..profile(&mut random)
        };
        let mut link = Link::new(seed, lossless);
        let (client, ..) = simulate(&mut link);
        let Some(Ok(report)) = client.result else {
            panic!("seed {seed}: unanswered");
        };
        assert_eq!(
            (report.datagrams, report.lost),
            (COUNT + 1, 0),
            "seed {seed}"
        );
    }
}

#[test]
fn a_perfect_network_answers_after_one_round_trip() {
    let delay = Duration::from_millis(4);
    let perfect = LinkProfile {
        delay,
        ..LinkProfile::default()
    };
    let mut link = Link::new(0, perfect);
    let (client, _, at) = simulate(&mut link);
    assert!(matches!(client.result, Some(Ok(_))));
    assert_eq!(at, MonoTime::ZERO + GAP * COUNT as u32 + delay * 2);
    assert_eq!(link.counters(Side::Client).sent, COUNT + 1);
}

#[test]
fn a_server_that_is_cut_off_ends_the_test_after_two_seconds() {
    let mut link = Link::new(0, LinkProfile::default());
    link.lose_next(Side::Server, u64::MAX);
    let (client, server, at) = simulate(&mut link);
    assert!(matches!(client.result, Some(Err(9..25))));
    assert_eq!(
        at,
        MonoTime::ZERO + GAP * COUNT as u32 + Duration::from_secs(2)
    );
    assert_eq!(server.opened, 1);
}
