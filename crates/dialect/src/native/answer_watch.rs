//! Waiting for a server's answer on sockets that only send.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tapeline_base::FlowId;
use tapeline_sys::{Interest, Poller, TcpConn, UdpSocket};
use tapeline_wire::iperf2::limits;

use super::answer::Answer;

/// A socket on which the server may answer and nobody else reads yet.
#[derive(Debug)]
pub(super) enum Watched {
    Tcp(Arc<TcpConn>),
    Udp(LentSocket),
}

/// A socket that may be read here until its flow reads by itself.
#[derive(Clone, Debug)]
pub(super) struct LentSocket(Arc<Mutex<Option<Arc<UdpSocket>>>>);

impl LentSocket {
    pub(super) fn new(socket: Arc<UdpSocket>) -> Self {
        Self(Arc::new(Mutex::new(Some(socket))))
    }

    /// It is read here no more, and not being read when this returns.
    pub(super) fn take_back(&self) {
        self.lock().take();
    }

    fn lock(&self) -> MutexGuard<'_, Option<Arc<UdpSocket>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The sockets of a test's flows, by their tokens in a poller.
#[derive(Debug, Default)]
pub(super) struct AnswerWatch {
    watched: Vec<(FlowId, Option<Watched>)>,
}

impl AnswerWatch {
    /// Waits for answers on the sockets of new flows.
    pub(super) fn take_over(&mut self, poller: &mut Poller, new: Vec<(FlowId, Watched)>) {
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
    pub(super) fn look(
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
