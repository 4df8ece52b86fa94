//! Streams of datagrams.

use std::sync::Arc;
use std::time::Duration;

use tapeline_base::{MonoTime, Transport};
use tapeline_engine::{
    Cause, DatagramCell, DatagramReceiver, Destination, Ending, Precision, Schedule, SendCell,
    Stage, Technique, ThreadUse, UdpSendPlan, UdpTraffic, run_udp_sender,
};
use tapeline_report::{Event, Notice};
use tapeline_sys::{ThreadTime, UdpSocket, Wait};
use tapeline_wire::iperf3::{CONNECT_REPLY, DatagramHeader, is_connect};

use super::arrivals::{arrived, followers};
use super::stamp::Iperf3Stamp;
use super::stream_end::{StreamEnd, is_starved};
use super::streams::{Stream, Traffic};
use crate::departures::departures;
use crate::iperf2::tell_ending;
use crate::reporter::{CounterCell, EndFacts, FlowEnd, SocketFacts};

/// Longest wait between two looks at the stop flag.
const LOOK: Duration = Duration::from_millis(50);
const SLOTS: usize = 32;
/// Time that a receiver takes at most for what it has not read when it is told to stop.
const UNREAD: Duration = Duration::from_millis(50);
/// Time that passes at most from reading a datagram until it is in its interval.
const BESIDE: Duration = Duration::from_millis(1);

impl Traffic {
    pub(super) fn send_datagrams(&self, stream: Stream, socket: Arc<UdpSocket>) -> StreamEnd {
        let parameters = &self.parameters;
        let cell = Arc::new(SendCell::new(self.intervals()));
        let meter = Arc::clone(&cell);
        self.meters.add(true, move || meter.read().bytes);
        let start = self.flow(&stream, CounterCell::UdpSend(Arc::clone(&cell)));
        let running = self.context.reporter.start(start);
        let _ = socket.set_send_timeout(Some(tapeline_engine::SEND_LIMIT));
        let bits = u64::from(self.length) * 8;
        let traffic = Schedule::at_bit_rate(self.start, bits, self.rate())
            .map(|schedule| schedule.in_bursts(parameters.burst.into()))
            .map_or(UdpTraffic::Unpaced, UdpTraffic::Paced);
        let length = u64::from(self.length.max(1));
        let end = run_udp_sender(UdpSendPlan {
            socket,
            to: Destination::Connected,
            template: self.chunk(self.length as usize),
            first: None,
            first_sequence: 1,
            start: self.start,
            deadline: self.deadline(),
            // Every datagram has the agreed length: readers take no other.
            bytes: self
                .bytes_to_send()
                .map(|bytes| bytes.div_ceil(length) * length),
            bytes_from: self.counted_from(),
            traffic,
            content: None,
            precision: self.context.techniques.precision(Precision::Precise),
            segmentation: self.context.techniques.uses(Technique::UdpSegmentation),
            cell,
            stop: self.stop.clone(),
            stamp: Iperf3Stamp {
                width: parameters.counters,
            },
        });
        let (tag, at) = (stream.tag, end.ending.at);
        tell_ending(&self.context, tag, Transport::Udp, self.start, &end.ending);
        let total = running.end_told(FlowEnd {
            at,
            facts: EndFacts {
                thread: end.ending.thread,
                group: Some(end.group),
                ..EndFacts::default()
            },
            ..FlowEnd::default()
        });
        let departures = departures(tag, end.group, end.spacing.as_ref(), end.late);
        self.context.reporter.event(Event::Departures(departures));
        StreamEnd {
            total,
            stream,
            packets: end.counters.writes,
            lost: 0,
            starved: false,
        }
    }

    pub(super) fn receive_datagrams(&self, stream: Stream, socket: &UdpSocket) -> StreamEnd {
        let techniques = self.context.techniques;
        socket.request(techniques.receive_features());
        let window = self.parameters.window.map(u64::from);
        self.context.enlarge_buffer(socket, window);
        let dropped_before = socket.dropped();
        let before = ThreadTime::now();
        let cell = Arc::new(DatagramCell::new(self.intervals()));
        let (meter, length) = (Arc::clone(&cell), u64::from(self.length));
        self.meters
            .add(false, move || meter.read().total.saturating_mul(length));
        let start = self.flow(&stream, CounterCell::UdpReceive(Arc::clone(&cell)));
        let running = self.context.reporter.start(start);
        let mut receiver = DatagramReceiver::new(1, cell, self.start);
        let mut last_read = self.start;
        let cause = self.take_datagrams(socket, &mut receiver, &mut last_read);
        receiver.finish();
        let limits = self.deadline().into_iter().chain(self.over.get().copied());
        let now = self.context.now();
        let due = limits.fold(now, MonoTime::min);
        // What is read beside the end is counted behind the last interval: its time is told then.
        let beside = last_read + BESIDE >= due;
        let at = if beside { now } else { due };
        let mut ending = Ending::new(cause, at);
        ending.thread = Some(ThreadUse::alone_since(&before));
        tell_ending(
            &self.context,
            stream.tag,
            Transport::Udp,
            self.start,
            &ending,
        );
        let facts = SocketFacts::of(socket, dropped_before);
        let dropped = facts.drops;
        if let Some(datagrams) = dropped.filter(|count| *count > 0) {
            self.context.notice(Notice::ReceiveBufferDrops {
                tag: Some(stream.tag),
                datagrams,
            });
        }
        let counters = *receiver.counters();
        StreamEnd {
            total: running.end_told(FlowEnd {
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
            starved: is_starved(&ending, self.patience),
        }
    }

    fn take_datagrams(
        &self,
        socket: &UdpSocket,
        receiver: &mut DatagramReceiver,
        last_read: &mut MonoTime,
    ) -> Cause {
        let mut batch = self.context.techniques.receive_batch(SLOTS);
        let length = self.length as usize;
        let width = self.parameters.counters;
        let bytes = self.own_amount();
        // What has arrived by the end counts, though a busy machine has not read it yet.
        let mut unread_until = None;
        loop {
            let now = self.context.now();
            let stopped = self.stop.is_raised();
            if stopped && now >= *unread_until.get_or_insert(now + UNREAD) {
                return Cause::Stopped;
            }
            let left = self.deadline().map_or(LOOK, |deadline| deadline.since(now));
            // Lost ones do not come any more.
            let passed = receiver.counters().total.saturating_mul(length as u64);
            let enough = bytes.is_some_and(|bytes| passed >= bytes);
            if left.is_zero() || enough {
                return Cause::Complete;
            }
            let wait = if stopped {
                Wait::Never
            } else {
                Wait::AtMost(left.min(LOOK))
            };
            match batch.receive(socket, wait) {
                Ok(0) if stopped => return Cause::Stopped,
                Ok(0) => {
                    let silence = now.since(receiver.counters().last);
                    if silence > self.patience {
                        return Cause::Vanished(silence);
                    }
                }
                Ok(_) => {
                    let now = self.context.now();
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
                    *last_read = now;
                }
                Err(error) if error.kind() == std::io::ErrorKind::ConnectionRefused => {}
                Err(error) => return Cause::Failed(Stage::Receive, error),
            }
        }
    }
}
