//! A server's answer in front of its data, on a connection that the client receives on.

use std::time::Duration;

use tapeline_base::MonoTime;
use tapeline_engine::{Call, RECEIVE_LIMIT, Step, Stop, TcpWork};
use tapeline_sys::{Interest, TcpConn, Wait};
use tapeline_wire::iperf2::{ServerAck, limits};

use super::answer::Answer;

/// Pause before another look at an answer of which a part is here.
const PART: Duration = Duration::from_millis(1);

/// Takes the answer from the connection, if there is one, before the data is anybody's.
pub(crate) struct AnswerFirst {
    /// What receives the data.
    work: Box<dyn TcpWork>,
    /// Told of the answer; gone when the first bytes are known.
    tell: Option<Box<dyn FnOnce(Answer) + Send>>,
    stop: Stop,
}

/// What the first bytes of a connection are.
#[derive(Debug, PartialEq, Eq)]
enum First {
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
        tell: Box<dyn FnOnce(Answer) + Send>,
    ) -> Self {
        Self {
            work,
            tell: Some(tell),
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
fn inspect(front: &[u8]) -> First {
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
        if self.tell.is_none() {
            return self.work.step(now, call, scratch);
        }
        match self.look(call) {
            Some(First::Answer(answer, length)) => {
                let taken = self
                    .work
                    .conn()
                    .recv_exact(&mut [0; limits::ACK_TRIP_TIMES][..length]);
                if let (Some(tell), Ok(())) = (self.tell.take(), taken) {
                    tell(answer);
                }
                Step::Progress
            }
            Some(First::Part) if now < self.work.next_look() && !self.stop.is_raised() => {
                Step::NotBefore(now + PART)
            }
            Some(First::Part | First::Data) => {
                self.tell = None;
                self.work.step(now, call, scratch)
            }
            // Silence for too long, or the end of the test, is the work's to tell.
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

/// What must hold for any first bytes: the fuzz target and the replay of its corpus share it.
#[cfg(any(test, fuzzing))]
pub(crate) fn check(bytes: &[u8]) {
    let mut known = First::Part;
    for count in 1..=bytes.len().min(limits::ACK_TRIP_TIMES) {
        let seen = inspect(&bytes[..count]);
        // What was decided does not change with what comes behind.
        assert!(known == First::Part || seen == known, "{known:?} {seen:?}");
        if let First::Answer(_, length) = seen {
            assert!(length <= count);
        }
        known = seen;
    }
}

#[cfg(test)]
mod tests {
    use std::num::NonZeroU32;

    use tapeline_wire::native::{Mark, RefusalReason};

    use super::super::answer::refusal;
    use super::*;

    #[test]
    fn an_answer_is_told_from_data_however_little_is_here() {
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
