//! Streams of datagrams, and losses behind the last one that a client received.
//!
//! A client that receives keeps the time: when it stops, the server does not know yet. Datagrams
//! that still arrive are beyond the test, and the first of them shows what was lost before it.
//! Where none arrives, whatever the server sent behind the last one is lost.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use tapeline_base::{FlowTag, MonoTime, Transport};
use tapeline_engine::{
    Cause, DatagramCell, DatagramReceiver, Destination, Ending, FailedOperation, Precision,
    Schedule, SendCell, Technique, ThreadUse, UdpSendPlan, UdpTraffic, run_udp_sender,
};
use tapeline_report::{Event, Notice};
use tapeline_sys::{ThreadTime, UdpSocket, Wait};
use tapeline_wire::iperf3::{
    CONNECT_REPLY, CounterWidth, DatagramHeader, Results, is_connect, limits,
};

use super::datagram::{Iperf3Stamp, arrived, followers};
use super::streams::{Link, Stream, StreamEnd, Traffic, is_starved};
use crate::run::flow_end::report_ending;
use crate::sampler::{CounterCell, EndFacts, FlowEnd, SocketFacts, send_timing};

/// Longest wait between two looks at the stop flag: short enough that the shortest interval's row
/// can wait for the end.
const POLL_INTERVAL: Duration = Duration::from_millis(20);
const SLOTS: usize = 32;
/// Time that a receiver takes at most for what it has not read when it is asked to stop.
const UNREAD: Duration = Duration::from_millis(50);

pub(crate) fn send_datagrams(test: &Traffic, stream: Stream, socket: Arc<UdpSocket>) -> StreamEnd {
    let parameters = &test.parameters;
    let cell = Arc::new(SendCell::new(test.intervals()));
    let counter = Arc::clone(&cell);
    test.byte_counters.add(true, move || counter.read().bytes);
    let start = test.flow(&stream, CounterCell::UdpSend(Arc::clone(&cell)));
    let running = test.context.reporter.start(start);
    let _ = socket.set_send_timeout(Some(tapeline_engine::SEND_LIMIT));
    let bits = u64::from(test.length) * 8;
    let traffic = Schedule::at_bit_rate(test.start, bits, test.rate())
        .map(|schedule| schedule.in_bursts(parameters.burst.into()))
        .map_or(UdpTraffic::Unpaced, UdpTraffic::Paced);
    let length = u64::from(test.length.max(1));
    let end = run_udp_sender(UdpSendPlan {
        socket,
        to: Destination::Connected,
        template: test.chunk(test.length as usize),
        first: None,
        first_sequence: 1,
        start: test.start,
        deadline: test.deadline(),
        // Every datagram has the agreed length: readers take no other.
        bytes: test
            .bytes_to_send()
            .map(|bytes| bytes.div_ceil(length) * length),
        bytes_from: test.counted_from(),
        traffic,
        content: None,
        precision: test.context.techniques.precision(Precision::Precise),
        segmentation: test.context.techniques.uses(Technique::UdpSegmentation),
        // The server has answered over the control connection.
        ends_refused: false,
        cell,
        stop: test.stop.clone(),
        stamp: Iperf3Stamp {
            width: parameters.counters,
        },
    });
    let (tag, at) = (stream.tag, end.ending.at);
    report_ending(&test.context, tag, Transport::Udp, test.start, &end.ending);
    let total = running.end_reported(FlowEnd {
        at,
        facts: EndFacts {
            thread: end.ending.thread,
            group: Some(end.group),
            ..EndFacts::default()
        },
        ..FlowEnd::default()
    });
    let send_timing = send_timing(tag, end.group, end.packet_gaps.as_ref(), end.late);
    test.context.reporter.event(Event::SendTiming(send_timing));
    StreamEnd {
        total,
        stream,
        packets: end.counters.writes,
        lost: 0,
        starved: false,
    }
}

pub(crate) fn receive_datagrams(test: &Traffic, stream: Stream, socket: &UdpSocket) -> StreamEnd {
    let techniques = test.context.techniques;
    socket.request(techniques.receive_features());
    let window = test.parameters.window.map(u64::from);
    test.context.enlarge_buffer(socket, window);
    let dropped_before = socket.dropped();
    let before = ThreadTime::now();
    let cell = Arc::new(DatagramCell::new(test.intervals()));
    let (counter, length) = (Arc::clone(&cell), u64::from(test.length));
    test.byte_counters
        .add(false, move || counter.read().total.saturating_mul(length));
    let start = test.flow(&stream, CounterCell::UdpReceive(Arc::clone(&cell)));
    let running = test.context.reporter.start(start);
    let mut receiver = DatagramReceiver::new(1, cell, test.start);
    let cause = take_datagrams(test, socket, &mut receiver);
    receiver.finish();
    // What had arrived by the end is read a little later: the test was over by then.
    let limits = test.deadline().into_iter().chain(test.over.get().copied());
    let at = limits.fold(test.context.now(), MonoTime::min);
    let mut ending = Ending::new(cause, at);
    ending.thread = Some(ThreadUse::alone_since(&before));
    report_ending(
        &test.context,
        stream.tag,
        Transport::Udp,
        test.start,
        &ending,
    );
    let facts = SocketFacts::since(socket, dropped_before);
    let dropped = facts.drops;
    if let Some(datagrams) = dropped.filter(|count| *count > 0) {
        test.context.notice(Notice::ReceiveBufferDrops {
            tag: Some(stream.tag),
            datagrams,
        });
    }
    let counters = *receiver.counters();
    StreamEnd {
        total: running.end_reported(FlowEnd {
            at,
            sent: None,
            dropped,
            facts: EndFacts {
                thread: ending.thread,
                socket: Some(facts),
                ..EndFacts::default()
            },
        }),
        stream,
        packets: counters.total,
        lost: counters.lost,
        starved: is_starved(&ending, test.idle_timeout),
    }
}

fn take_datagrams(test: &Traffic, socket: &UdpSocket, receiver: &mut DatagramReceiver) -> Cause {
    let mut batch = test.context.techniques.receive_batch(SLOTS);
    let length = test.length as usize;
    let width = test.parameters.counters;
    let bytes = test.own_amount();
    // What has arrived by the end counts, though a busy machine has not read it yet.
    let mut unread_until = None;
    loop {
        let now = test.context.now();
        let stopped = test.stop.is_raised();
        if stopped && now >= *unread_until.get_or_insert(now + UNREAD) {
            return Cause::Stopped;
        }
        let left = test
            .deadline()
            .map_or(POLL_INTERVAL, |deadline| deadline.since(now));
        // Lost ones do not come any more.
        let passed = receiver.counters().total.saturating_mul(length as u64);
        let enough = bytes.is_some_and(|bytes| passed >= bytes);
        if left.is_zero() || enough {
            return Cause::Complete;
        }
        let wait = if stopped {
            Wait::Never
        } else {
            Wait::AtMost(left.min(POLL_INTERVAL))
        };
        match batch.receive(socket, wait) {
            Ok(0) if stopped => return Cause::Stopped,
            Ok(0) => {
                let silence = now.since(receiver.counters().last);
                if silence > test.idle_timeout {
                    return Cause::Vanished(silence);
                }
            }
            Ok(_) => {
                let now = test.context.now();
                for datagram in batch.datagrams() {
                    let mut segments = datagram.segments();
                    while let Some(payload) = segments.next() {
                        let header = DatagramHeader::read(payload, width);
                        // Whatever has another length is no data.
                        let Some(header) = header.filter(|_| payload.len() == length) else {
                            if is_connect(payload) {
                                // The answer was lost.
                                let _ = socket.send(&CONNECT_REPLY);
                            }
                            continue;
                        };
                        let rest = followers(&header, length, segments.clone(), width);
                        if let Some(last) = rest.count.checked_sub(1) {
                            segments.nth(last as usize);
                        }
                        receiver.observe_run(&arrived(&header, &datagram, length), rest, now);
                    }
                }
                receiver.publish();
            }
            Err(error) if error.kind() == std::io::ErrorKind::ConnectionRefused => {}
            Err(error) => return Cause::Failed(FailedOperation::Receive, error),
        }
    }
}

/// The first number beyond the test, by stream.
#[derive(Clone, Debug, Default)]
pub(crate) struct TailLoss(BTreeMap<i64, u64>);

impl TailLoss {
    /// Reads what has come to a stream that has ended.
    pub(crate) fn read(&mut self, stream: &Stream, width: CounterWidth) {
        let Link::Udp(socket) = &stream.link else {
            return;
        };
        let mut buffer = vec![0; limits::MAX_UDP_LENGTH as usize];
        // Joined datagrams are in order: the first says enough.
        while let Ok(length) = socket.recv_nonblocking(&mut buffer) {
            if let Some(header) = DatagramHeader::read(&buffer[..length], width) {
                self.observe(stream.id, header.number);
            }
        }
    }

    fn observe(&mut self, stream: i64, number: u64) {
        let first = self.0.entry(stream).or_insert(number);
        *first = number.min(*first);
    }

    /// What was lost behind the last datagram of each receiver.
    pub(crate) fn lost(
        &self,
        results: &Results,
        own: &BTreeMap<i64, StreamEnd>,
    ) -> Vec<(FlowTag, u64)> {
        let theirs = results.streams.iter();
        let lost = theirs.filter_map(|theirs| {
            let end = own.get(&theirs.id).filter(|end| !end.stream.sends)?;
            let sent = u64::try_from(theirs.packets).ok()?;
            let lost = self.lost_behind(theirs.id, end.packets, sent);
            (lost > 0).then_some((end.stream.tag, lost))
        });
        lost.collect()
    }

    fn lost_behind(&self, stream: i64, highest: u64, sent: u64) -> u64 {
        let last = match self.0.get(&stream) {
            Some(first) => first.saturating_sub(1),
            None => sent,
        };
        last.min(sent).saturating_sub(highest)
    }
}

#[cfg(test)]
mod tests {
    use std::net::SocketAddr;
    use std::sync::{OnceLock, mpsc};

    use tapeline_base::{Clock, FlowId, FlowTag, Role};
    use tapeline_engine::{Stop, Techniques};
    use tapeline_sys::{SocketOptions, SystemClock, Waker};
    use tapeline_wire::iperf3::{CounterWidth, Parameters, Protocol};

    use super::*;
    use crate::iperf3::streams::{ByteCounters, Ends, Link, Sums};
    use crate::policy::Grant;
    use crate::run::context::{Context, Interruption};
    use crate::sampler::{GroupKind, Reporter, ReporterSettings};

    const LENGTH: u32 = 100;

    /// Two sockets that are connected to each other.
    fn sockets() -> [Arc<UdpSocket>; 2] {
        let any = SocketAddr::from(([127, 0, 0, 1], 0));
        let bind = || UdpSocket::bind(any, &SocketOptions::default()).expect("socket");
        let sockets = [bind().socket, bind().socket];
        let addresses = sockets.each_ref().map(|socket| socket.local_addr());
        let [one, other] = addresses.map(|address| address.expect("address"));
        sockets[0].connect(other).expect("connected");
        sockets[1].connect(one).expect("connected");
        sockets.map(Arc::new)
    }

    #[test]
    fn a_servers_stream_ends_when_the_client_says_so_though_it_waits_for_more() {
        let reporter = Reporter::start(ReporterSettings::default(), |_| {}).expect("reporter");
        let interruption = Interruption::new().expect("interruption");
        let context = Context::new(reporter.handle(), interruption, Techniques::default());
        let [client, server] = sockets();
        let (stop, over) = (Stop::new(), Arc::new(OnceLock::new()));
        let handle = reporter.handle();
        let start = SystemClock.now();
        let traffic = Traffic {
            parameters: Parameters {
                protocol: Protocol::Udp,
                time: 1,
                ..Parameters::default()
            },
            length: LENGTH,
            share: Grant::default(),
            interval: None,
            start,
            decides: false,
            idle_timeout: Duration::from_secs(10),
            stalled: Duration::from_secs(10),
            window: None,
            window_clamp: None,
            file: None,
            stop: stop.clone(),
            over: Arc::clone(&over),
            sums: Sums {
                sent: handle.open_group(GroupKind::Sum(Role::Client), 0),
                received: handle.open_group(GroupKind::Sum(Role::Server), 1),
            },
            byte_counters: ByteCounters::default(),
            context,
        };
        let byte_counters = traffic.byte_counters.clone();
        let tag = FlowTag {
            id: FlowId(1),
            reversed: false,
        };
        let stream = Stream {
            tag,
            id: 1,
            sends: false,
            local: server.local_addr().expect("address"),
            peer: client.local_addr().expect("address"),
            link: Link::Udp(server),
        };
        let (sender, ended) = mpsc::channel();
        let waker = Arc::new(Waker::new().expect("waker"));
        crate::iperf3::stream_set::run(&traffic, stream, &Ends { sender, waker });
        let mut datagram = [0; LENGTH as usize];
        let header = DatagramHeader {
            number: 1,
            ..DatagramHeader::default()
        };
        header.write(&mut datagram, CounterWidth::Narrow);
        client.send(&datagram).expect("sent");
        while byte_counters.received() == 0 {
            std::thread::yield_now();
        }
        let end = SystemClock.now();
        over.set(end).expect("once");
        stop.raise();
        let total = ended.recv().expect("its end").total.expect("its total");
        assert_eq!((total.bytes, total.span.end), (100, end.since(start)));
    }

    #[test]
    fn what_follows_shows_what_is_missing() {
        let mut tail = TailLoss::default();
        assert_eq!(tail.lost_behind(1, 90, 100), 10, "nothing more came");
        tail.observe(1, 97);
        tail.observe(1, 96);
        assert_eq!(tail.lost_behind(1, 90, 100), 5, "91 to 95");
        tail.observe(1, 91);
        assert_eq!(tail.lost_behind(1, 90, 100), 0, "a late one is here");
        assert_eq!(tail.lost_behind(1, 90, 80), 0, "no server sent less");
    }
}
