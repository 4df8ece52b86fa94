//! What must hold for any datagrams of iperf 2, those of L4S flows too, at either end.

use std::sync::Arc;
use std::time::Duration;

use tapeline_base::{MonoTime, Tos, WallTime};
use tapeline_engine::{DatagramCell, DatagramReceiver, Intervals, L4sProtocol, Prague};
use tapeline_report::Endpoints;
use tapeline_wire::iperf2::{DatagramStamp, L4sAck, L4sStamp, ServerReport, TestMode, limits};
use tapeline_wire::native::Mark;

use super::input::Events;
use super::renderers::RenderedTest;
use crate::iperf2::l4s::{L4sReceiver, L4sSender};
use crate::iperf2::start_time::{ClockCheck, MAX_AHEAD, agreed_start, held_back, ordered_start};
use crate::iperf2::test_header::SendRequest;
use crate::iperf2::udp_fin::{AfterFin, ClientFin, ClientFinStep, ServerFin};
use crate::iperf2::udp_reader::{Announced, FlowReader};
use crate::iperf2::udp_receiver::{Datagram, Received, UdpReceiver};
use crate::iperf2::udp_sender::reported;
use crate::policy::AmplificationLimit;
use crate::run::context::Now;
use crate::server::flow_table::Recognition;

const START: MonoTime = MonoTime::from_nanos(1_000_000_000_000);
/// Longer than anything is kept or waited for.
const FOR_EVER: Duration = Duration::from_secs(3600);
/// Bytes that may be sent for each byte of an unverified source.
const MAX_FOR_A_BYTE: u64 = 3;

fn wall(now: MonoTime) -> WallTime {
    WallTime::from_nanos(1_800_000_000_000_000_000 + now.as_nanos() as i64)
}

/// Time that passes before an event: 0 to 8 s, mostly little.
fn pause(byte: u8) -> Duration {
    Duration::from_micros(u64::from(byte) * u64::from(byte) * u64::from(byte) / 2)
}

/// A server and the datagrams of one source. Of an event the first byte says how much later it is, the
/// second how the datagram came.
pub(crate) fn server(input: &[u8]) {
    let mut server = Server::default();
    let mut now = START;
    for ([gap, how], payload) in Events::<2>::new(input) {
        now += pause(gap);
        let content = Datagram {
            payload,
            arrival: wall(now),
            truncated: how & 4 != 0,
            tos: (how & 8 != 0).then_some(Tos(how & 3)),
            joined: how & 16 != 0,
            now,
        };
        server.receive(&content);
        server.wait(now);
    }
    server.wait(now + FOR_EVER);
    server.wait(now + FOR_EVER * 2);
    assert!(matches!(server.flow, Flow::None | Flow::Receiving(_)));
}

#[derive(Default)]
struct Server {
    flow: Flow,
    /// Bytes of the flow that came, and that went to an unverified source.
    came: u64,
    went: u64,
    /// Reports and acknowledgements of its datagrams.
    amplification: AmplificationLimit,
    recognition: Recognition,
}

#[derive(Default)]
enum Flow {
    #[default]
    None,
    Receiving(Box<UdpReceiver>),
    Ended(ServerFin),
}

impl Server {
    fn receive(&mut self, content: &Datagram<'_>) {
        let length = content.payload.len() as u64;
        match &mut self.flow {
            Flow::None => self.open(content),
            Flow::Receiving(receiver) => {
                let before = receiver.bytes();
                let taken = receiver.take(content);
                receiver.publish();
                let counted = receiver.bytes() - before;
                assert!(counted == 0 || counted == length);
                self.came += counted;
                self.acknowledge(content);
                match taken {
                    Received::Going => {}
                    Received::Over(stamp) => self.end(stamp, content.now),
                    Received::NewTest => self.open(content),
                }
            }
            Flow::Ended(ended) => {
                self.came += length;
                match ended.receive(content.payload, content.now) {
                    AfterFin::Ignore => {}
                    AfterFin::Answer(report) => {
                        assert!(!ended.is_quiet(content.now));
                        self.report(&report);
                    }
                    AfterFin::Open => {
                        self.open(content);
                        assert!(matches!(self.flow, Flow::Receiving(_)));
                    }
                }
            }
        }
    }

    fn open(&mut self, content: &Datagram<'_>) {
        self.flow = Flow::None;
        let Some((mut reader, announced)) = FlowReader::open(content.payload) else {
            return;
        };
        if reader.read(content.payload).is_none() {
            return;
        }
        obey(announced, content);
        let cell = Arc::new(DatagramCell::new(Intervals::new(content.now, None)));
        let receiver = DatagramReceiver::new(reader.first(), cell, content.now);
        let mut receiver = UdpReceiver::new(reader, receiver, content.now);
        let header = announced.header();
        if header.is_some_and(|header| header.l4s) {
            receiver.control_congestion();
        }
        let mark: Option<Mark> = header.and_then(|header| header.mark);
        *self = Self {
            recognition: Recognition::new(mark),
            ..Self::default()
        };
        let _ = receiver.take(content);
        receiver.publish();
        self.came = receiver.bytes();
        self.flow = Flow::Receiving(Box::new(receiver));
        self.acknowledge(content);
    }

    /// What answers single datagrams is no longer than they are.
    fn acknowledge(&mut self, content: &Datagram<'_>) {
        if let Some(answer) = self.recognition.next(content.payload) {
            assert!(answer.len() <= content.payload.len());
        }
        if let Flow::Receiving(receiver) = &mut self.flow {
            let wall = || content.arrival + Duration::from_micros(3);
            let answer = receiver.acknowledge(content, wall);
            assert!(answer.is_none_or(|answer| answer.len() <= content.payload.len()));
        }
    }

    fn wait(&mut self, now: MonoTime) {
        match &self.flow {
            Flow::None => {}
            Flow::Receiving(receiver) => {
                if let Some(stamp) = receiver.over_at(now) {
                    self.end(stamp, now);
                    self.wait(now);
                }
            }
            Flow::Ended(ended) if ended.is_forgotten(now) => self.flow = Flow::None,
            Flow::Ended(_) => {}
        }
    }

    fn end(&mut self, stamp: DatagramStamp, now: MonoTime) {
        let Flow::Receiving(mut receiver) = std::mem::take(&mut self.flow) else {
            return;
        };
        receiver.finish();
        assert_eq!(receiver.bytes(), self.came);
        self.amplification.earn(receiver.bytes());
        let answer = receiver.report(true);
        assert!(answer.report.lost <= answer.report.datagrams);
        let report = answer.encode(stamp);
        let read = ServerReport::accept(&report).expect("what a client takes for a report");
        assert_eq!(read.bytes, answer.report.bytes);
        if self.amplification.spend(report.len()) {
            self.report(&report);
        }
        let ended = ServerFin::received(Some(answer), self.amplification, receiver.newest(), now);
        assert!(!ended.is_forgotten(now));
        self.flow = Flow::Ended(ended);
    }

    fn report(&mut self, report: &[u8]) {
        assert!(report.len() <= limits::REPORT);
        self.went += report.len() as u64;
        assert!(
            self.went <= self.came * MAX_FOR_A_BYTE,
            "{} for {}",
            self.went,
            self.came
        );
    }
}

/// What a server does on the order of a first datagram is within its bounds.
fn obey(announced: Announced, content: &Datagram<'_>) {
    let now = Now {
        mono: content.now,
        wall: content.arrival,
    };
    if let ClockCheck::Agrees(age) = agreed_start(announced, content.payload, now.wall) {
        assert!(age <= Duration::from_secs(10));
    }
    let Some(header) = announced.header() else {
        return;
    };
    let start = ordered_start(header.epoch_start, header.start_time, now);
    assert!(start.at <= now.mono + MAX_AHEAD);
    assert!(held_back(header.start_time, now.wall) <= MAX_AHEAD);
    if header.mode == TestMode::Normal {
        return;
    }
    let order = SendRequest::from_udp(&header, None);
    let lengths = limits::MIN_UDP_LENGTH as u32..=limits::MAX_UDP_LENGTH;
    assert!(lengths.contains(&order.length));
    let _ = order.longest_gap();
    let traffic = order.traffic();
    let _ = traffic.engine(now.mono, order.length, 1);
    if let Some((clock, mut sizes)) = traffic.frames(now.mono, 1) {
        assert!(!clock.period().is_zero());
        assert!((1..=limits::MAX_BURST).contains(&sizes.draw()));
    }
}

/// A receiver to which datagrams come joined: runs of them count as the same datagrams one by one. The first
/// byte says whose flow it is. Of an event the first byte says how much later it is, 0 with the one before it;
/// the second whether it is any datagram or one that may count on. Those that come together are as long as
/// the first of them, but for the last, which may be shorter.
pub(crate) fn runs(input: &[u8]) {
    let Some((whim, events)) = input.split_first() else {
        return;
    };
    let mut now = START;
    let mut next = 1;
    let mut batches: Vec<(MonoTime, Vec<Vec<u8>>)> = Vec::new();
    for ([gap, what], piece) in Events::<2>::new(events) {
        let mut datagram = piece.to_vec();
        if what & 0x80 != 0 {
            next += i64::from(what & 3);
            datagram.resize(piece.len().max(16), 0);
            let (seconds, micros) = wall(START).to_wire();
            DatagramStamp {
                id: next,
                seconds,
                micros: micros + u32::from(what & 4),
            }
            .write_16(&mut datagram);
            next += 1;
        }
        now += pause(gap);
        match batches.last_mut() {
            Some((_, batch)) if gap == 0 && is_whole(batch) => {
                datagram.truncate(batch[0].len());
                batch.push(datagram);
            }
            _ => batches.push((now, vec![datagram])),
        }
    }
    let reader = match whim & 3 {
        0 => FlowReader::reverse(false),
        1 => FlowReader::reverse(true),
        _ => {
            let first = batches.first().and_then(|(_, batch)| batch.first());
            match first.and_then(|first| FlowReader::open(first)) {
                Some((reader, _)) => reader,
                None => return,
            }
        }
    };
    let (joined, single) = (
        counted(reader, &batches, true),
        counted(reader, &batches, false),
    );
    assert_eq!(joined, single);
}

/// All datagrams that came together are equally long.
fn is_whole(batch: &[Vec<u8>]) -> bool {
    batch.first().map(Vec::len) == batch.last().map(Vec::len)
}

/// Bytes, losses, datagrams out of order, all datagrams, and the newest stamp of a flow.
fn counted(
    reader: FlowReader,
    batches: &[(MonoTime, Vec<Vec<u8>>)],
    in_runs: bool,
) -> (u64, u64, u64, u64, WallTime) {
    let cell = Arc::new(DatagramCell::new(Intervals::new(START, None)));
    let receiver = DatagramReceiver::new(reader.first(), cell, START);
    let mut receiver = UdpReceiver::new(reader, receiver, START);
    for (now, batch) in batches {
        let mut contents = batch.iter().map(|payload| Datagram {
            payload,
            arrival: wall(*now),
            truncated: false,
            tos: None,
            joined: true,
            now: *now,
        });
        while let Some(content) = contents.next() {
            if in_runs {
                let _ = receiver.take_run(&content, &mut contents);
            } else {
                let _ = receiver.take(&content);
            }
        }
        receiver.publish();
    }
    receiver.finish();
    let report = receiver.report(true).report;
    (
        report.bytes.0,
        report.lost,
        report.out_of_order,
        report.datagrams,
        receiver.newest(),
    )
}

/// A client that asks for its report. Of an event the first byte says how much later it is, the second
/// whether the user has interrupted.
pub(crate) fn closing(input: &[u8]) {
    let mut fin = ClientFin::new(START);
    let mut now = START;
    let mut sends = 0;
    let mut reported = false;
    for ([gap, how], datagram) in Events::<2>::new(input) {
        let until = now + pause(gap);
        while now < until {
            match ask(&mut fin, now, &mut sends, reported) {
                Some(next) => now = next.min(until),
                None => return,
            }
        }
        if how & 1 != 0 {
            fin.hurry(now);
        }
        fin.received(datagram);
        reported |= ServerReport::accept(datagram).is_some();
    }
    while let Some(next) = ask(&mut fin, now, &mut sends, reported) {
        now = next;
    }
}

/// Does what there is to be done now; returns when to look again, or nothing after the end.
fn ask(fin: &mut ClientFin, now: MonoTime, sends: &mut u32, reported: bool) -> Option<MonoTime> {
    loop {
        match fin.next(now) {
            ClientFinStep::Send { full } => {
                assert_eq!(full, *sends == 0);
                *sends += 1;
                assert!(*sends < 25);
            }
            ClientFinStep::Wait(until) => {
                assert!(!reported && until > now);
                assert!(until <= START + Duration::from_secs(2));
                return Some(until);
            }
            ClientFinStep::Reported(_) => {
                assert!(reported);
                return None;
            }
            ClientFinStep::Unanswered { tries } => {
                assert!(!reported && tries == *sends);
                return None;
            }
        }
    }
}

/// A client whose server reports whatever it likes: of an input the first byte says whether both were to
/// stamp trip times, and in which form that is reported; the rest is the report.
pub(crate) fn report(input: &[u8]) {
    let Some((whim, datagram)) = input.split_first() else {
        return;
    };
    let Some(report) = ServerReport::accept(datagram) else {
        return;
    };
    let (flow, _) = RenderedTest::FLOWS[0];
    let [local, peer] = RenderedTest::endpoints(flow);
    let ends = Endpoints {
        local,
        peer,
        local_sends: true,
    };
    let event = reported(&report, flow, ends, whim & 2 != 0, wall(START));
    RenderedTest::new(whim & !1).render(Vec::new(), vec![event], datagram);
}

/// Longest datagram of the flow, bytes.
const LONGEST: u32 = 1470;
/// Bounds of its rate, bytes per second.
const SLOWEST: f64 = 12_500.0;
const FASTEST: f64 = 1e9;
/// Datagrams that leave between two events, at most.
const MAX_SENT: u32 = 64;

/// A sender with its congestion control, and a receiver. Of an event the first byte says how much later
/// it is, the second what comes: any datagram, or an acknowledgement that may be a true one.
pub(crate) fn both_ends(input: &[u8]) {
    let mut sender = L4sSender::new(None);
    let mut receiver = L4sReceiver::default();
    let mut control = Prague::new(LONGEST, Some(FASTEST), START);
    let mut ack = L4sAck::default();
    let (mut now, mut sent) = (START, 0_u32);
    for ([gap, what], bytes) in Events::<2>::new(input) {
        now += Duration::from_micros(u64::from(gap) * u64::from(gap) * 16);
        for _ in 0..(u32::from(what) % MAX_SENT).min(control.window_packets()) {
            sent += 1;
            let mut datagram = [0; L4sStamp::END];
            sender.stamp(
                &mut datagram,
                u64::from(sent),
                sent,
                WallTime::default(),
                now,
            );
        }
        let made;
        let datagram: &[u8] = if what & 0x80 == 0 {
            bytes
        } else {
            ack = grown(ack, bytes, now);
            made = ack.encode();
            &made
        };
        if let Some(feedback) = sender.read(datagram, now) {
            assert_eq!(datagram.len(), limits::L4S_ACK);
            control.acknowledged(&feedback, sent, now);
        }
        if now >= control.silent_at() {
            control.silence(now);
        }
        bounded(&control, sent);
        let held = Duration::from_micros(u64::from(gap));
        let tos = (what & 4 != 0).then_some(Tos(what & 3));
        if let Some(answer) = receiver.answer(bytes, tos, held, now) {
            assert!(answer.len() <= bytes.len());
            assert!(L4sAck::parse(&answer).is_ok());
        }
    }
}

/// The acknowledgement after `ack`: the first bytes say by how much it differs.
fn grown(ack: L4sAck, bytes: &[u8], now: MonoTime) -> L4sAck {
    let byte = |at: usize| bytes.get(at).copied().unwrap_or(0);
    let by = |at: usize| u32::from(byte(at));
    L4sAck {
        ecn_error: byte(3) & 1 != 0,
        time: ack.time.wrapping_add(1),
        echoed_time: ((now.as_nanos() / 1000) as i32).wrapping_sub(by(4) as i32 * 64),
        received: ack.received.wrapping_add(by(0)),
        marked: ack.marked.wrapping_add(by(1)),
        lost: ack.lost.wrapping_add_signed(i32::from(byte(2) as i8)),
    }
}

/// Whatever is ack, the flow goes on within its bounds.
fn bounded(control: &Prague, sent: u32) {
    let rate = control.rate();
    assert!((SLOWEST..=FASTEST).contains(&rate), "{control:?}");
    assert!(
        (1..=LONGEST).contains(&control.packet_size()),
        "{control:?}"
    );
    assert!(control.window_packets() >= 2, "{control:?}");
    assert!(control.in_flight(sent) <= u32::MAX / 2);
}
