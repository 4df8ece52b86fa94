//! Clients that have reached an iperf3 server.
//!
//! Such a server takes the first 37 bytes, whatever they are, for a cookie. It asks for
//! parameters, or says that it is busy, and soon closes. A client that only sends would not
//! notice before its time is over; one that receives gets a few bytes that are no data.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tapeline_base::{MonoTime, MutexExt};
use tapeline_engine::{Cause, Ending, Stop};
use tapeline_report::Notice;
use tapeline_sys::{Events, Interest, Poller, TcpConn, Wait, Waker};
use tapeline_wire::iperf3::State;

use crate::plan::{Arrangement, ClientPlan, ClientWorkload, Personality};
use crate::run::context::Context;
use crate::run::tasks::Tally;
use crate::sampler::CounterCell;

const WAKER: u64 = u64::MAX;
/// Time in which a sender has filled the buffers on the way to a server that reads nothing.
const FILLING: Duration = Duration::from_secs(1);
/// A state, with an error behind it at most (a byte and two numbers).
const LONGEST_ANSWER: usize = 10;

/// Time within which a receiver has counted what it took, and between two looks at it.
const COUNTED_WITHIN: Duration = Duration::from_millis(50);
const POLL_INTERVAL: Duration = Duration::from_millis(1);
/// Time between two looks at what receivers have got, and how often they are looked at.
const LOOK_INTERVAL: Duration = Duration::from_millis(200);
const LOOKS: u32 = 10;

/// Looks for the answers of an iperf3 server. Where there is one, no flow was a test.
#[derive(Debug)]
pub(crate) struct WrongProtocolWatch {
    /// Ends all flows.
    stop: Stop,
    /// Connections of flows that only send.
    senders: Mutex<Vec<Arc<TcpConn>>>,
    /// Each connection carries data both ways: the receiver may take the answer and the sender the reset.
    both_ways: bool,
    /// What flows receive.
    receivers: Mutex<Vec<CounterCell>>,
    /// Blocks are longer than an answer, so that one of its length is no data.
    blocks_are_longer: bool,
    /// The server is iperf3's.
    recognised: AtomicBool,
    /// A server that keeps silent has run no test.
    silence_is_failure: bool,
}

impl WrongProtocolWatch {
    /// For the plan's flows, which `stop` ends. iperf reports a silent server as one that was lost.
    pub(crate) fn new(plan: &ClientPlan, stop: Stop) -> Self {
        Self {
            stop,
            both_ways: plan.workload == ClientWorkload::Stream(Arrangement::FullDuplex),
            blocks_are_longer: plan.tcp_write_length() as usize > LONGEST_ANSWER,
            senders: Mutex::default(),
            receivers: Mutex::default(),
            recognised: AtomicBool::new(false),
            silence_is_failure: plan.personality == Personality::Native,
        }
    }

    /// Takes a connection before its header is sent.
    pub(crate) fn add(&self, plan: &ClientPlan, conn: &Arc<TcpConn>) {
        let only_sends = matches!(
            plan.workload,
            ClientWorkload::Stream(
                Arrangement::Forward | Arrangement::Dual { .. } | Arrangement::Tradeoff { .. }
            )
        );
        if only_sends {
            let mut senders = self.senders.lock_unpoisoned();
            senders.push(Arc::clone(conn));
        }
    }

    /// Takes the counters of a flow that begins.
    pub(crate) fn begin(&self, cell: &CounterCell) {
        let receives = matches!(
            cell,
            CounterCell::TcpReceive(_) | CounterCell::TcpBursts(..)
        );
        if receives {
            self.receivers.lock_unpoisoned().push(cell.clone());
        }
    }

    /// Takes the first bytes from the server of a flow that only sends.
    pub(crate) fn observe(&self, front: &[u8]) {
        if begins_answer(front) {
            self.recognise();
        }
    }

    /// Looks at what the server has said, and leaves it where it is; returns whether it is iperf3's.
    pub(crate) fn look(&self, conn: &TcpConn) -> bool {
        let mut front = [0; LONGEST_ANSWER + 1];
        if conn
            .wait_ready(Interest::READ, Wait::Never)
            .unwrap_or(false)
        {
            let count = conn.peek(&mut front).unwrap_or(0);
            self.observe(&front[..count]);
        }
        self.recognised.load(Ordering::Relaxed)
    }

    fn recognise(&self) {
        self.recognised.store(true, Ordering::Relaxed);
        self.stop.raise();
    }

    /// A flow has ended; returns whether it was no test, since the server is iperf3's.
    pub(crate) fn ended(&self, conn: &TcpConn, cell: &CounterCell, ending: &Ending) -> bool {
        let failed = matches!(ending.cause, Cause::Failed(..) | Cause::Vanished(_));
        match received(cell) {
            Some(count) if is_answer(count) && (failed || self.both_ways) => self.recognise(),
            Some(_) => {}
            None => {
                // Nobody may have looked yet.
                self.look(conn);
                if failed && self.both_ways && self.receiver_was_answered() {
                    self.recognise();
                }
            }
        }
        self.recognised.load(Ordering::Relaxed)
    }

    /// Whether a receiver has got an answer. One that has counted nothing may be about to: it is
    /// waited for, since the reset ends it too.
    fn receiver_was_answered(&self) -> bool {
        let waits = 0..(COUNTED_WITHIN.as_millis() / POLL_INTERVAL.as_millis());
        for _ in waits {
            let counts: Vec<u64> = {
                let receivers = self.receivers.lock_unpoisoned();
                receivers.iter().filter_map(received).collect()
            };
            if counts.iter().any(|count| *count > 0) {
                return counts.into_iter().any(is_answer);
            }
            std::thread::sleep(POLL_INTERVAL);
        }
        false
    }

    /// How long the server has kept silent, where a flow of `start` ended because it has never
    /// answered, nor taken more than the buffers on the way hold. The system of a silent server
    /// fills its buffer and closes the window; one that is still open shows a lost path instead.
    pub(crate) fn silence(
        &self,
        conn: &TcpConn,
        cell: &CounterCell,
        start: MonoTime,
        ending: &Ending,
    ) -> Option<Duration> {
        let Cause::Vanished(silent_for) = ending.cause else {
            return None;
        };
        let unanswered = match (received(cell), cell) {
            (Some(bytes), _) => bytes == 0,
            (None, CounterCell::TcpSend(cell)) => {
                cell.read().last.since(start) < FILLING && has_closed_window(conn)
            }
            (None, _) => false,
        };
        (self.silence_is_failure && unanswered).then_some(silent_for)
    }

    /// Waits for the ends of all flows; an iperf3 server's answer ends them at once. Returns
    /// whether anything failed.
    pub(crate) fn wait(&self, plan: &ClientPlan, context: &Arc<Context>, tally: &Tally) -> bool {
        // Where the watch cannot be had, the ends of the flows show it.
        let _ = self.listen(tally);
        let failed = tally.wait();
        if self.recognised.load(Ordering::Relaxed) {
            context.notice(Notice::WrongProtocol {
                host: plan.host.clone(),
                port: plan.ports.0,
            });
        }
        failed
    }

    /// Waits for an answer on flows that only send, or for the ends of all.
    fn listen(&self, tally: &Tally) -> std::io::Result<()> {
        let senders = self.senders.lock_unpoisoned();
        let waker = Arc::new(Waker::new()?);
        tally.watch(Arc::clone(&waker));
        let mut poller = Poller::new()?;
        poller.register(&waker, WAKER, Interest::READ)?;
        for (conn, token) in senders.iter().zip(0..) {
            poller.register(&**conn, token, Interest::READ)?;
        }
        let mut events = Events::with_capacity(16);
        let mut looks = Looks::default();
        while tally.pending() > 0 {
            let looks_on = self.blocks_are_longer && looks.left > 0;
            let wait = match looks_on {
                true => Wait::AtMost(LOOK_INTERVAL),
                false => Wait::Forever,
            };
            if poller.wait(&mut events, wait)? == 0 && looks_on {
                let receivers = self.receivers.lock_unpoisoned();
                if looks.shows_answer(receivers.iter().filter_map(received).collect()) {
                    self.recognise();
                }
            }
            waker.drain();
            for event in events.iter() {
                let index = usize::try_from(event.token).unwrap_or(usize::MAX);
                let Some(conn) = senders.get(index) else {
                    continue;
                };
                self.look(conn);
                // Once is enough: what iperf 2 servers send is for the flow.
                poller.deregister(&**conn)?;
            }
        }
        Ok(())
    }
}

/// Looks at what receivers have counted, as long as a test begins. A server that sends a test
/// does not stop after so few bytes; iperf3's waits for parameters.
#[derive(Debug)]
struct Looks {
    left: u32,
    before: Vec<u64>,
}

impl Default for Looks {
    /// None has taken place.
    fn default() -> Self {
        Self {
            left: LOOKS,
            before: Vec::new(),
        }
    }
}

impl Looks {
    /// Takes the bytes of each receiver; whether one has got an answer and nothing since.
    fn shows_answer(&mut self, bytes: Vec<u64>) -> bool {
        self.left = self.left.saturating_sub(1);
        let mut both = bytes.iter().zip(&self.before);
        let is_answered = both.any(|(now, before)| now == before && is_answer(*now));
        self.before = bytes;
        is_answered
    }
}

/// Whether the peer takes no further segment (RFC 9293, 3.8.6.1).
fn has_closed_window(conn: &TcpConn) -> bool {
    let window = conn
        .tcp_info()
        .and_then(|info| info.snd_wnd.zip(info.snd_mss));
    window.is_some_and(|(bytes, segment)| bytes < segment)
}

/// Whether these are the first bytes of an iperf3 server. iperf 2's acknowledgement begins with
/// zeros.
fn begins_answer(bytes: &[u8]) -> bool {
    let states = [State::ParameterExchange.byte(), State::AccessDenied.byte()];
    match bytes {
        [state] => states.contains(state),
        [state, error, ..] => {
            states.contains(state)
                && *error == State::ServerError.byte()
                && bytes.len() <= LONGEST_ANSWER
        }
        [] => false,
    }
}

/// Bytes that a flow has received, where it receives.
fn received(cell: &CounterCell) -> Option<u64> {
    match cell {
        CounterCell::TcpReceive(cell) => Some(cell.read().bytes),
        CounterCell::TcpBursts(cell, _) => Some(cell.read().receive.bytes),
        CounterCell::Exchange(cell) => Some(cell.read().received),
        CounterCell::TcpSend(_) | CounterCell::UdpSend(_) | CounterCell::UdpReceive(_) => None,
    }
}

/// Whether an iperf3 server says so much.
fn is_answer(bytes: u64) -> bool {
    bytes == 1 || bytes == LONGEST_ANSWER as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_with_nothing_behind_it_shows_an_iperf3_server() {
        let mut looks = Looks::default();
        assert!(!looks.shows_answer(vec![0, 1]));
        assert!(looks.shows_answer(vec![0, 1]));
        let mut data = Looks::default();
        assert!(!data.shows_answer(vec![0, 1]));
        assert!(!data.shows_answer(vec![0, 1448]));
        assert!(!data.shows_answer(vec![0, 1448]));
    }

    #[test]
    fn answers_of_iperf3_are_distinguished_from_those_of_iperf2_and_from_data() {
        let refused = [9, 0xfe, 0, 0, 0, 111, 0, 0, 0, 0];
        for answer in [&[9][..], &[0xff], &refused, &refused[..5]] {
            assert!(begins_answer(answer), "{answer:?}");
        }
        for other in [&[][..], &[0, 0, 0, 8], b"0123456789", &[9, 9], &[9; 11]] {
            assert!(!begins_answer(other), "{other:?}");
        }
    }
}
