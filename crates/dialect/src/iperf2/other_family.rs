//! Clients that have reached an iperf3 server.
//!
//! Such a server takes the first 37 bytes, whatever they are, for a cookie. It asks for
//! parameters, or says that it is busy, and soon closes. A client that only sends would not
//! notice before its time is over; one that receives gets a few bytes that are no data.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use tapeline_engine::Stop;
use tapeline_report::{Measure, Notice, Row};
use tapeline_sys::{Events, Interest, Poller, TcpConn, Wait, Waker};
use tapeline_wire::iperf3::State;

use super::client::SharedContext;
use super::flows::AfterEnd;
use super::tcp_connector::Ready;
use crate::context::Tally;
use crate::plan::{Arrangement, ClientPlan, ClientWorkload};

const WAKER: u64 = u64::MAX;
/// A state, with an error behind it at most (a byte and two numbers).
const LONGEST_ANSWER: usize = 10;

/// Looks for the answers of an iperf3 server.
#[derive(Debug)]
pub(super) struct FamilyWatch {
    /// Ends all flows.
    stop: Stop,
    /// Connections of flows that only send.
    senders: Mutex<Vec<Arc<TcpConn>>>,
    /// A flow that receives got as much as an iperf3 server sends.
    received: Arc<AtomicBool>,
}

impl FamilyWatch {
    /// For flows that `stop` ends.
    pub(super) fn new(stop: Stop) -> Self {
        Self {
            stop,
            senders: Mutex::default(),
            received: Arc::default(),
        }
    }

    /// Takes a connection before its header is sent.
    pub(super) fn add(&self, plan: &ClientPlan, flow: &Ready) {
        let only_sends = matches!(
            plan.workload,
            ClientWorkload::Stream(
                Arrangement::Forward | Arrangement::Dual { .. } | Arrangement::Tradeoff { .. }
            )
        );
        if only_sends {
            let mut senders = self.senders.lock().unwrap_or_else(PoisonError::into_inner);
            senders.push(Arc::clone(&flow.conn));
        }
    }

    /// Looks at the total of a flow that receives.
    pub(super) fn after_receiver(&self) -> AfterEnd {
        let (received, stop) = (Arc::clone(&self.received), self.stop.clone());
        Box::new(move |total, failed| {
            if total.is_some_and(is_answer) {
                received.store(true, Ordering::Relaxed);
                if failed {
                    stop.raise();
                }
            }
        })
    }

    /// Waits for the ends of all flows; an iperf3 server's answer ends them at once. Returns
    /// whether anything failed.
    pub(super) fn wait(&self, plan: &ClientPlan, context: &SharedContext, tally: &Tally) -> bool {
        let heard = self.hears(tally).unwrap_or(false);
        if heard {
            tally.fail();
            self.stop.raise();
        }
        let failed = tally.wait();
        // In full duplex the sender may be the one that is told of the reset.
        if heard || (failed && self.received.load(Ordering::Relaxed)) {
            context.notice(Notice::OtherFamily {
                host: plan.host.clone(),
                port: plan.ports.0,
            });
        }
        failed
    }

    /// Whether a server answered so before all flows have ended.
    fn hears(&self, tally: &Tally) -> std::io::Result<bool> {
        let senders = self.senders.lock().unwrap_or_else(PoisonError::into_inner);
        let waker = Arc::new(Waker::new()?);
        tally.watch(Arc::clone(&waker));
        let mut poller = Poller::new()?;
        poller.register(&waker, WAKER, Interest::READ)?;
        for (conn, token) in senders.iter().zip(0..) {
            poller.register(&**conn, token, Interest::READ)?;
        }
        let mut events = Events::with_capacity(16);
        while tally.pending() > 0 {
            poller.wait(&mut events, Wait::Forever)?;
            waker.drain();
            for event in events.iter() {
                let index = usize::try_from(event.token).unwrap_or(usize::MAX);
                let Some(conn) = senders.get(index) else {
                    continue;
                };
                let mut front = [0; LONGEST_ANSWER + 1];
                if matches!(conn.peek(&mut front), Ok(count) if begins_answer(&front[..count])) {
                    return Ok(true);
                }
                // Once is enough: what iperf 2 servers send is for the flow.
                poller.deregister(&**conn)?;
            }
        }
        Ok(false)
    }
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

/// Whether a flow that the peer has ended received no more than an iperf3 server says.
fn is_answer(total: &Row) -> bool {
    match &total.measure {
        Measure::RequestResponse(exchange) => exchange.received == 0,
        _ => total.bytes == 1 || total.bytes == LONGEST_ANSWER as u64,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_of_iperf3_are_told_from_those_of_iperf2_and_from_data() {
        let refused = [9, 0xfe, 0, 0, 0, 111, 0, 0, 0, 0];
        for answer in [&[9][..], &[0xff], &refused, &refused[..5]] {
            assert!(begins_answer(answer), "{answer:?}");
        }
        for other in [&[][..], &[0, 0, 0, 8], b"0123456789", &[9, 9], &[9; 11]] {
            assert!(!begins_answer(other), "{other:?}");
        }
    }
}
