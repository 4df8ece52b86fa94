//! Receiving on a client's own UDP socket: reverse and full-duplex tests.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use tapeline_base::{FlowTag, MonoTime, Transport};
use tapeline_engine::{ArrivedDatagram, Cause, DatagramReceiver, Ending, Stage, Stop, ThreadUse};
use tapeline_report::{Endpoints, Notice};
use tapeline_sys::{ThreadTime, UdpSocket, Wait};
use tapeline_wire::iperf2::ServerAck;

use super::client::SharedContext;
use super::flows::tell_ending;
use super::incoming::CONGESTION;
use super::order::SLACK;
use super::udp_flow::{FlowReader, Meaning};
use super::udp_watch::UdpWatch;
use crate::native::FlowAnswers;
use crate::plan::LatencyPlan;
use crate::reporter::{EndFacts, FlowEnd, FlowStart, GroupKey, SocketFacts};

/// Longest wait between two looks at the stop flag.
const LOOK: Duration = Duration::from_millis(50);
const SLOTS: usize = 32;
/// Silence at the deadline, [`SLACK`] after the sender's, from which on it counts as gone
/// rather than ended; a final datagram is not certain.
const SILENT: Duration = Duration::from_millis(SLACK.as_millis() as u64 + 500);
/// Time for the final datagram once all bytes are here.
const FINAL: Duration = Duration::from_millis(250);
/// Time for data that the final datagram has overtaken.
const OVERTAKEN: Duration = Duration::from_millis(20);

/// A receiver on a connected socket.
pub(super) struct UdpReceiving {
    pub(super) context: SharedContext,
    pub(super) tag: FlowTag,
    pub(super) socket: Arc<UdpSocket>,
    pub(super) local: SocketAddr,
    pub(super) peer: SocketAddr,
    pub(super) start: MonoTime,
    pub(super) deadline: Option<MonoTime>,
    pub(super) bytes: Option<u64>,
    pub(super) interval: Option<Duration>,
    pub(super) groups: Vec<GroupKey>,
    pub(super) latency: LatencyPlan,
    /// The peer's datagrams say to which frame they belong.
    pub(super) frames: bool,
    pub(super) patience: Duration,
    pub(super) stop: Stop,
    /// Told of the server's answers, which come between its data.
    pub(super) answers: Option<FlowAnswers>,
}

impl UdpReceiving {
    /// Receives on the calling thread until the end; returns whether it failed.
    pub(super) fn run(self) -> bool {
        let mut reader = FlowReader::reverse(self.frames);
        let watch = UdpWatch {
            latency: self.latency,
            trip_times: self.latency.trip_times,
            recognised: self.answers.is_some(),
            frames: self.frames,
            marks: false,
            start: self.start,
            interval: self.interval,
        };
        let (mut receiver, watched) = watch.open(reader.first());
        let running = self.context.reporter.start(FlowStart {
            tag: self.tag,
            cell: watched.cell,
            start: self.start,
            interval: watched.interval,
            endpoints: Endpoints {
                local: self.local,
                peer: self.peer,
                local_sends: false,
            },
            groups: self.groups.clone(),
            conn: None,
            histograms: watched.histograms,
            extras: watched.extras,
        });
        let dropped_before = self.socket.dropped();
        let before = ThreadTime::now();
        let cause = self.receive(&mut reader, &mut receiver);
        receiver.finish();
        let at = match cause {
            Cause::Complete | Cause::Vanished(_) => receiver.counters().last.max(self.start),
            _ => self.context.now(),
        };
        let mut ending = Ending::new(cause, at);
        ending.thread = Some(ThreadUse::alone_since(&before));
        let failed = tell_ending(&self.context, self.tag, Transport::Udp, self.start, &ending);
        let socket = SocketFacts::of(&self.socket, dropped_before);
        let dropped = socket.drops;
        if let Some(datagrams) = dropped.filter(|count| *count > 0) {
            self.context.notice(Notice::ReceiveBufferDrops {
                tag: Some(self.tag),
                datagrams,
            });
        }
        running.end(FlowEnd {
            at,
            sent: None,
            dropped,
            facts: EndFacts {
                thread: ending.thread,
                socket: Some(socket),
                ..EndFacts::default()
            },
        });
        failed
    }

    fn is_answer(&self, payload: &[u8]) -> bool {
        let answers = self.answers.as_ref();
        ServerAck::is_ack(payload) && answers.is_some_and(|answers| answers.heard(payload))
    }

    fn receive(&self, reader: &mut FlowReader, receiver: &mut DatagramReceiver) -> Cause {
        let mut batch = self.context.techniques.receive_batch(SLOTS);
        let (mut all_data, mut ended, mut overtaken) = (false, false, false);
        let mut end = self.deadline;
        loop {
            let now = self.context.now();
            if self.stop.is_raised() {
                return Cause::Stopped;
            }
            let silence = now.since(receiver.counters().last);
            if end.is_some_and(|end| now >= end) {
                let nothing = receiver.counters().bytes == 0;
                let gone = !ended && (nothing || silence > SILENT);
                return if gone {
                    Cause::Vanished(silence)
                } else {
                    Cause::Complete
                };
            }
            let wait = end.map_or(LOOK, |end| end.since(now).min(LOOK));
            match batch.receive(&self.socket, Wait::AtMost(wait)) {
                Ok(0) => {
                    if silence > self.patience {
                        return Cause::Vanished(silence);
                    }
                }
                Ok(_) => {
                    let now = self.context.now();
                    for datagram in batch.datagrams() {
                        let mut segments = datagram.segments();
                        while let Some(payload) = segments.next() {
                            if self.is_answer(payload) {
                                continue;
                            }
                            let Some(seen) = reader.read(payload) else {
                                continue;
                            };
                            let arrived = ArrivedDatagram {
                                sequence: seen.sequence,
                                sent: seen.sent,
                                arrival: datagram.arrival,
                                length: payload.len(),
                                truncated: datagram.truncated,
                                marked: datagram.tos.is_some_and(|tos| tos.ecn() == CONGESTION),
                                joined: datagram.segment_size.is_some(),
                                frame: seen.frame,
                            };
                            let followers = reader.followers(&seen, segments.clone());
                            if let Some(last) = followers.count.checked_sub(1) {
                                segments.nth(last as usize);
                            }
                            receiver.observe_run(&arrived, followers, now);
                            ended |= seen.meaning == Meaning::End;
                        }
                    }
                    receiver.publish();
                    let bytes = receiver.counters().bytes;
                    if !all_data && self.bytes.is_some_and(|all| bytes >= all) {
                        all_data = true;
                        end = end.into_iter().chain([now + FINAL]).min();
                    }
                    if ended && receiver.missing() == 0 {
                        return Cause::Complete;
                    }
                    if ended && !overtaken {
                        overtaken = true;
                        end = end.into_iter().chain([now + OVERTAKEN]).min();
                    }
                }
                // An earlier datagram of ours was refused: the server is not there (yet).
                Err(error) if error.kind() == std::io::ErrorKind::ConnectionRefused => {}
                Err(error) => return Cause::Failed(Stage::Receive, error),
            }
        }
    }
}
