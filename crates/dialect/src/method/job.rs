//! One order at a server, on a thread of its own: from the key that is shown to what is done.

use std::num::NonZeroU64;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::Duration;

use tapeline_base::MonoTime;
use tapeline_sys::UdpSocket;
use tapeline_wire::native::{Done, LoadParameters, OrderEnd};

use super::desk::OPENING;
use super::terms::Terms;
use crate::native::orders::{Customer, OrderLink, Senders};
use crate::policy::Slot;
use crate::run::context::Context;

/// Longest wait between two looks at whether the order goes on: a broken control connection has to end it
/// within a fifth of a second.
pub(crate) const LOOK: Duration = Duration::from_millis(20);

/// What an order needs.
pub(crate) struct Job {
    pub(crate) context: Arc<Context>,
    pub(crate) terms: Terms,
    pub(crate) parameters: LoadParameters,
    pub(crate) customer: Customer,
    pub(crate) link: Arc<OrderLink>,
    /// What datagrams must carry, and where the socket comes from once that was shown.
    pub(crate) door: Option<(NonZeroU64, Receiver<UdpSocket>)>,
    pub(crate) senders: Arc<Senders>,
    /// Its place among the server's tests.
    pub(crate) _slot: Option<Slot>,
}

impl Job {
    /// Waits for the key to be shown.
    pub(crate) fn open(
        &self,
        sockets: &Receiver<UdpSocket>,
        began: MonoTime,
    ) -> Result<UdpSocket, OrderEnd> {
        loop {
            match sockets.recv_timeout(LOOK) {
                Ok(socket) => return Ok(socket),
                Err(RecvTimeoutError::Disconnected) => return Err(OrderEnd::NotOpened),
                Err(RecvTimeoutError::Timeout) => {}
            }
            if let Some(end) = self.stopped() {
                return Err(end);
            }
            if self.context.now().since(began) >= OPENING {
                return Err(OrderEnd::NotOpened);
            }
        }
    }

    /// Why the order is to end at once, if it is.
    pub(crate) fn stopped(&self) -> Option<OrderEnd> {
        if self.context.stop().is_raised() {
            Some(OrderEnd::ServerStopped)
        } else if self.link.stop.is_raised() {
            Some(OrderEnd::Stopped)
        } else {
            None
        }
    }
}

/// What was done of an order that a fault has ended.
pub(crate) fn failed(why: &str) -> Done {
    Done {
        end: OrderEnd::Failed,
        why: Some(why.to_owned()),
        ..Done::default()
    }
}
