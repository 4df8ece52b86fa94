//! A TCP client's first message, and what the server answers.

use tapeline_base::{FlowTag, MonoTime, WallTime};
use tapeline_report::{ClockCheck, Event, Notice};
use tapeline_sys::{Interest, Wait, reason};
use tapeline_wire::iperf2::{PeerVersion, ServerAck, TcpClientHeader, Workload};

use super::order::FIRST_MESSAGE;
use super::start::barrier_micros;
use super::tcp_client::{LOOK, Starter};
use super::tcp_connector::Ready;
use crate::native::{ClientTest, FlowAnswers, OwnFlow};
use crate::plan::ClientWorkload;

/// A header is out.
#[derive(Debug, Default)]
pub(super) struct Asked {
    /// Its bytes that count as data.
    pub(super) already: u64,
    /// Where the server's answer is told.
    pub(super) answers: Option<FlowAnswers>,
}

impl Starter<'_> {
    /// Whether a server lets this client's key pass: one that does answers or sends, one that
    /// does not closes without a word. Without looking, a short test would end well.
    pub(super) fn is_admitted(&self, flow: &Ready, until: MonoTime) -> bool {
        loop {
            let left = until.since(self.context.now());
            if left.is_zero() || self.context.stop().is_raised() {
                return true;
            }
            let wait = Wait::AtMost(left.min(LOOK));
            match flow.conn.wait_ready(Interest::READ, wait) {
                Ok(false) => {}
                Ok(true) if matches!(flow.conn.peek(&mut [0]), Ok(1..)) => return true,
                Ok(true) | Err(_) => break,
            }
        }
        self.tally.fail();
        self.context.notice(Notice::Text(format!(
            "{}: the server closed flow {} at once: its permit key is another one, or it has none",
            flow.peer, flow.tag.id
        )));
        false
    }

    /// Says what is wanted, where anything is said.
    pub(super) fn send_header(&self, flow: &Ready) -> std::io::Result<Asked> {
        let bare = !matches!(self.plan.workload, ClientWorkload::Stream(_));
        if self.plan.compatibility || bare {
            return Ok(Asked::default());
        }
        let mut message = Vec::with_capacity(128);
        let mut header = self.header(flow);
        header.mark = self.control.map(ClientTest::mark);
        header.encode(&mut message);
        let answers = self.control.map(|test| self.expect_answer(test, flow));
        flow.conn.set_send_timeout(Some(FIRST_MESSAGE))?;
        flow.conn.send_all(&message)?;
        Ok(Asked {
            already: header.counted_length() as u64,
            answers,
        })
    }

    /// The server's answer may come as soon as the header is out.
    fn expect_answer(&self, test: &ClientTest, flow: &Ready) -> FlowAnswers {
        let (sends, receives) = self.plan.arrangement().tags(flow.tag);
        let id = flow.tag.id;
        if receives.is_none() && !self.plan.peer_detect {
            test.watch_tcp(id, &flow.conn);
        }
        let own = OwnFlow {
            token: None,
            sends,
            receives,
            local: flow.local,
            peer: flow.peer,
            congestion: flow.conn.congestion(),
        };
        test.flow(id, own)
    }

    /// The header as it is written now.
    fn header(&self, flow: &Ready) -> TcpClientHeader {
        let plan = self.plan;
        let waited = self.context.now().since(flow.connected);
        let wall = self.context.wall();
        let (start_time, epoch_start) = plan.header_start(wall);
        let mut header = TcpClientHeader {
            transfer_id: plan.transfer_id(flow.tag),
            barrier_micros: barrier_micros(waited).filter(|_| plan.parallel > 1),
            start_time,
            epoch_start,
            ..plan.tcp_header()
        };
        // Blocks behind the time are only there with it.
        let timed = header.fq_rate.is_some()
            || header.congestion_control.is_some()
            || matches!(header.workload, Workload::Isochronous(_));
        if timed && header.start_time.is_none() {
            header.start_time = Some(wall.into());
        }
        header
    }

    /// The server's acknowledgement, parsed by its own length. A server that never
    /// answers (2.0.x) costs the time limit once for all flows, not the test.
    pub(super) fn read_ack(
        &self,
        flow: &Ready,
        answers: Option<&FlowAnswers>,
        until: MonoTime,
    ) -> Option<PeerVersion> {
        let read = || -> std::io::Result<Option<PeerVersion>> {
            let mut front = [0; 8];
            self.receive(flow, &mut front, until)?;
            let Ok(length) = ServerAck::announced_length(&front) else {
                return Ok(None);
            };
            let mut message = vec![0; length];
            message[..8].copy_from_slice(&front);
            self.receive(flow, &mut message[8..], until)?;
            let arrived = self.context.wall();
            if answers.is_some_and(|answers| answers.heard(&message) && answers.is_refused()) {
                return Ok(None);
            }
            let Ok(ack) = ServerAck::parse(&message) else {
                return Ok(None);
            };
            self.check_clocks(flow.tag, &ack, arrived);
            Ok(ack.version)
        };
        match read() {
            Ok(version) => version,
            Err(_) if self.context.stop().is_raised() => None,
            Err(error) => {
                self.context.notice(Notice::Text(format!(
                    "{}: no answer to the version question (-X): {}",
                    flow.peer,
                    reason(&error)
                )));
                None
            }
        }
    }

    /// Tells what the times in an acknowledgement say of the two clocks.
    fn check_clocks(&self, tag: FlowTag, ack: &ServerAck, arrived: WallTime) {
        let Some(times) = ack.trip_times else {
            if self.plan.latency.trip_times {
                self.context.notice(Notice::Text(format!(
                    "flow {}: no clock check: the server sends no times (it is older than 2.1, or its \
                     clock is too far from ours)",
                    tag.id
                )));
            }
            return;
        };
        let seconds = |later: WallTime, earlier: WallTime| later.nanos_since(earlier) as f64 * 1e-9;
        let send = seconds(times.accepted.into(), times.sent.into());
        let acknowledge = seconds(arrived, times.acknowledged.into());
        self.context.reporter.event(Event::ClockCheck(ClockCheck {
            tag,
            round_trip: send + acknowledge,
            send,
            acknowledge,
        }));
    }

    /// Fills `buffer` unless the time is over or the run is stopped.
    fn receive(&self, flow: &Ready, buffer: &mut [u8], until: MonoTime) -> std::io::Result<()> {
        let mut got = 0;
        while got < buffer.len() {
            let left = until.since(self.context.now());
            let ready = flow
                .conn
                .wait_ready(Interest::READ, Wait::AtMost(left.min(LOOK)))?;
            if ready {
                match flow.conn.recv_nonblocking(&mut buffer[got..])? {
                    0 => return Err(std::io::ErrorKind::UnexpectedEof.into()),
                    count => got += count,
                }
            } else if left.is_zero() || self.context.stop().is_raised() {
                return Err(std::io::ErrorKind::TimedOut.into());
            }
        }
        Ok(())
    }
}
