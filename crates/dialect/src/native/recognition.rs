//! How two tapelines recognise each other: what a server answers to a marked first message or datagram of a
//! client, in front of its data where the client receives, and how a client that only sends waits for it.

use std::num::NonZeroU16;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use tapeline_base::{FlowId, MonoTime, MutexExt};
use tapeline_engine::{Call, RECEIVE_LIMIT, Step, Stop, TcpWork};
use tapeline_sys::{Interest, Poller, TcpConn, UdpSocket, Wait};
use tapeline_wire::iperf2::{ServerAck, limits};
use tapeline_wire::native::{Mark, Refusal, RefusalReason};

/// Seconds after which a client may find a place that is taken now.
const RETRY: Option<NonZeroU16> = NonZeroU16::new(10);

/// The answer of a tapeline.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Answer {
    /// It runs the test; what opens the control connection.
    Taken(Mark),
    /// It does not.
    Refused(Refusal),
}

impl Answer {
    /// The answer that a whole message begins with; `None` for those of other servers.
    pub(crate) fn parse(bytes: &[u8]) -> Option<Self> {
        // Most bytes are data: this word comes first in an answer.
        if !bytes.starts_with(&[0, 0, 0, 2]) {
            return None;
        }
        let taken = || Some(Self::Taken(ServerAck::parse(bytes).ok()?.mark?));
        Refusal::parse(bytes).map(Self::Refused).or_else(taken)
    }
}

/// What a client with this mark is sent of a test that does not begin.
pub(crate) fn refusal(mark: Mark, reason: RefusalReason) -> Refusal {
    let passes = match reason {
        RefusalReason::TestsOfAddress(limit)
        | RefusalReason::Tests(limit)
        | RefusalReason::Streams(limit) => limit > 0,
        RefusalReason::Busy => true,
        _ => false,
    };
    Refusal {
        test: mark.number,
        reason,
        retry_seconds: RETRY.filter(|_| passes),
    }
}

/// Pause before another look at an answer of which a part is here.
const PART: Duration = Duration::from_millis(1);

/// Takes the answer from the connection, if there is one, before the data is anybody's.
pub(crate) struct AnswerFirst {
    /// What receives the data.
    work: Box<dyn TcpWork>,
    /// Called with the answer; gone when the first bytes are known.
    send: Option<Box<dyn FnOnce(Answer) + Send>>,
    stop: Stop,
}

/// What the first bytes of a connection are.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum First {
    /// An answer of so many bytes.
    Answer(Answer, usize),
    /// The beginning of one, perhaps.
    Part,
    Data,
}

impl AnswerFirst {
    /// Before `work`, which `stop` ends.
    pub(crate) fn new(
        work: Box<dyn TcpWork>,
        stop: Stop,
        send: Box<dyn FnOnce(Answer) + Send>,
    ) -> Self {
        Self {
            work,
            send: Some(send),
            stop,
        }
    }

    /// Looks at the first bytes; `None` while nothing is here.
    fn look(&self, call: Call) -> Option<First> {
        let conn = self.work.conn();
        let wait = match call {
            Call::Blocking => Wait::AtMost(RECEIVE_LIMIT),
            Call::NonBlocking => Wait::Never,
        };
        if !conn.wait_ready(Interest::READ, wait).unwrap_or(true) {
            return None;
        }
        let mut front = [0; limits::ACK_TRIP_TIMES];
        // An end or an error is the work's to find.
        let count = conn.peek(&mut front).unwrap_or(0);
        Some(inspect(&front[..count]))
    }
}

/// What the bytes that are here begin with.
pub(crate) fn inspect(front: &[u8]) -> First {
    const TYPE: [u8; 7] = [0, 0, 0, 2, 0, 0, 0];
    let known = front.len().min(TYPE.len());
    if front.is_empty() || front[..known] != TYPE[..known] {
        return First::Data;
    }
    let Some(head) = front.first_chunk() else {
        return First::Part;
    };
    match ServerAck::announced_length(head) {
        Ok(length) if front.len() < length => First::Part,
        Ok(length) => match Answer::parse(front) {
            Some(answer) => First::Answer(answer, length),
            None => First::Data,
        },
        Err(_) => First::Data,
    }
}

impl TcpWork for AnswerFirst {
    fn step(&mut self, now: MonoTime, call: Call, scratch: &mut [u8]) -> Step {
        if self.send.is_none() {
            return self.work.step(now, call, scratch);
        }
        match self.look(call) {
            Some(First::Answer(answer, length)) => {
                let taken = self
                    .work
                    .conn()
                    .recv_exact(&mut [0; limits::ACK_TRIP_TIMES][..length]);
                if let (Some(send), Ok(())) = (self.send.take(), taken) {
                    send(answer);
                }
                Step::Progress
            }
            Some(First::Part) if now < self.work.next_look() && !self.stop.is_raised() => {
                Step::NotBefore(now + PART)
            }
            Some(First::Part | First::Data) => {
                self.send = None;
                self.work.step(now, call, scratch)
            }
            // Silence for too long, or the end of the test, is the work's to report.
            None if now >= self.work.next_look() || self.stop.is_raised() => {
                self.work.step(now, Call::NonBlocking, scratch)
            }
            None => Step::NotReady,
        }
    }

    fn scratch_length(&self) -> usize {
        self.work.scratch_length()
    }

    fn conn(&self) -> &TcpConn {
        self.work.conn()
    }

    fn interest(&self) -> Interest {
        self.work.interest()
    }

    fn next_look(&self) -> MonoTime {
        self.work.next_look()
    }
}

/// A socket on which the server may answer and nobody else reads yet.
#[derive(Debug)]
pub(crate) enum Watched {
    Tcp(Arc<TcpConn>),
    Udp(LentSocket),
}

/// A socket that may be read here until its flow reads by itself.
#[derive(Clone, Debug)]
pub(crate) struct LentSocket(Arc<Mutex<Option<Arc<UdpSocket>>>>);

impl LentSocket {
    pub(crate) fn new(socket: Arc<UdpSocket>) -> Self {
        Self(Arc::new(Mutex::new(Some(socket))))
    }

    /// It is read here no more, and not being read when this returns.
    pub(crate) fn take_back(&self) {
        self.lock().take();
    }

    fn lock(&self) -> MutexGuard<'_, Option<Arc<UdpSocket>>> {
        self.0.lock_unpoisoned()
    }
}

/// The sockets of a test's flows, by their tokens in a poller.
#[derive(Debug, Default)]
pub(crate) struct AnswerWatch {
    watched: Vec<(FlowId, Option<Watched>)>,
}

impl AnswerWatch {
    /// Waits for answers on the sockets of new flows.
    pub(crate) fn take_over(&mut self, poller: &mut Poller, new: Vec<(FlowId, Watched)>) {
        for (id, watched) in new {
            let token = self.watched.len() as u64;
            let registered = match &watched {
                Watched::Tcp(conn) => poller.register(conn, token, Interest::READ).is_ok(),
                Watched::Udp(lent) => lent
                    .lock()
                    .as_ref()
                    .is_some_and(|socket| poller.register(socket, token, Interest::READ).is_ok()),
            };
            self.watched.push((id, registered.then_some(watched)));
        }
    }

    /// Something is to be read on a flow's socket, or it has `failed`: the answer, if it is one.
    /// One look is enough: whatever else comes is for the flow.
    pub(crate) fn look(
        &mut self,
        poller: &mut Poller,
        token: u64,
        failed: bool,
    ) -> Option<(FlowId, Answer)> {
        let (id, slot) = self.watched.get_mut(usize::try_from(token).ok()?)?;
        let answer = match slot.take()? {
            Watched::Tcp(conn) => {
                let _ = poller.deregister(&conn);
                let mut front = [0; limits::ACK_TRIP_TIMES];
                let count = conn.peek(&mut front).unwrap_or(0);
                Answer::parse(&front[..count])
            }
            Watched::Udp(lent) => {
                let mut place = lent.lock();
                let socket = place.take()?;
                let _ = poller.deregister(&socket);
                // An error is the sender's to find.
                let mut datagram = [0; 256];
                let read = (!failed).then(|| socket.recv_nonblocking(&mut datagram));
                let count = read.and_then(Result::ok)?;
                Answer::parse(&datagram[..count])
            }
        };
        Some((*id, answer?))
    }
}

#[cfg(test)]
mod tests {
    use std::num::NonZeroU32;

    use tapeline_wire::native::{Mark, RefusalReason};

    use super::*;

    #[test]
    fn who_finds_all_places_taken_may_come_again() {
        let mark = Mark {
            version: 1,
            number: std::num::NonZeroU32::MAX,
        };
        for (reason, passes) in [
            (RefusalReason::Tests(1), true),
            (RefusalReason::Tests(0), false),
            (RefusalReason::Busy, true),
            (RefusalReason::StreamsOfTest(4), false),
            (RefusalReason::Address, false),
        ] {
            let refusal = refusal(mark, reason);
            assert_eq!(refusal.retry_seconds.is_some(), passes, "{reason:?}");
            let parsed = Answer::parse(&refusal.encode());
            assert_eq!(parsed, Some(Answer::Refused(refusal)));
        }
        let mut bytes = Vec::new();
        ServerAck {
            mark: Some(mark),
            ..ServerAck::default()
        }
        .encode(&mut bytes);
        assert_eq!(Answer::parse(&bytes), Some(Answer::Taken(mark)));
        bytes[20..].fill(0);
        assert_eq!(Answer::parse(&bytes), None);
    }

    #[test]
    fn an_answer_is_distinguished_from_data_however_little_is_here() {
        let mark = Mark {
            version: 1,
            number: NonZeroU32::MIN,
        };
        let mut bytes = Vec::new();
        ServerAck {
            mark: Some(mark),
            ..ServerAck::default()
        }
        .encode(&mut bytes);
        for count in 1..28 {
            assert_eq!(inspect(&bytes[..count]), First::Part, "{count}");
        }
        bytes.extend_from_slice(b"0123");
        assert_eq!(inspect(&bytes), First::Answer(Answer::Taken(mark), 28));
        let refused = refusal(mark, RefusalReason::Tests(1));
        let bytes = refused.encode();
        assert_eq!(inspect(&bytes[..27]), First::Part);
        assert_eq!(inspect(&bytes), First::Answer(Answer::Refused(refused), 28));
        let mut unmarked = Vec::new();
        ServerAck::default().encode(&mut unmarked);
        for data in [
            &b"0"[..],
            &[0, 0, 0, 1],
            &[0, 0, 0, 2, 0, 0, 0, 9],
            &unmarked,
        ] {
            assert_eq!(inspect(data), First::Data, "{data:?}");
        }
    }
}
