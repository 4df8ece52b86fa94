//! What comes back for datagrams that a socket without a peer of its own has sent.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::atomic::Ordering;

use super::UdpSocket;
use crate::platform::returned;
use crate::socket_call::retry;

/// What the network says of a datagram that was sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Returned {
    /// Nobody has the port that it was sent to (ICMP and ICMPv6: port unreachable).
    ///
    /// Who forges such a message must know both addresses and ports, as for a datagram; it is as
    /// little proof as a datagram is.
    Refused {
        /// Where it was sent to.
        peer: SocketAddr,
        /// Where it came from, if the socket was asked for
        /// [`destination`](crate::ReceiveFeatures::destination).
        source: Option<IpAddr>,
    },
    /// Anything else, such as a host that cannot be reached for now.
    Otherwise,
}

/// Most times that a call is made again because of what came back for other datagrams. Each
/// message of the network costs one call, so that this is a flood's share of a call.
const AGAIN: usize = 64;

impl UdpSocket {
    /// Asks the system to keep what comes back for datagrams that are sent with an address
    /// (Linux: `IP_RECVERR`, `IPV6_RECVERR`); returns whether it does. A poller tells of it as of
    /// data. Whoever asks must fetch it by [`UdpSocket::next_returned`].
    pub fn hear_refusals(&self) -> bool {
        let heard = returned::hear(&self.socket, self.is_v6);
        self.hears_refusals.store(heard, Ordering::Relaxed);
        heard
    }

    /// Takes the oldest message of the network that has not been fetched; never waits.
    #[must_use]
    pub fn next_returned(&self) -> Option<Returned> {
        if !self.hears() {
            return None;
        }
        returned::next(&self.socket)
    }

    #[inline]
    fn hears(&self) -> bool {
        self.hears_refusals.load(Ordering::Relaxed)
    }

    /// Sends `length` bytes by `call`.
    #[inline]
    pub(super) fn dispatch(
        &self,
        length: usize,
        mut call: impl FnMut() -> io::Result<usize>,
    ) -> io::Result<usize> {
        match retry(&mut call) {
            Err(error) if self.hears() => self.dispatch_again(error, length, &mut call),
            other => other,
        }
    }

    /// A system that keeps what comes back tells it by the next call, too, whoever that sends to.
    #[cold]
    fn dispatch_again(
        &self,
        mut error: io::Error,
        length: usize,
        call: &mut dyn FnMut() -> io::Result<usize>,
    ) -> io::Result<usize> {
        for _ in 0..AGAIN {
            if returned::is_drop(&error) {
                // Sockets that do not ask count what a full queue of the host drops as sent.
                return Ok(length);
            }
            if !returned::may_be_anothers(&error) {
                break;
            }
            match retry(&mut *call) {
                Err(next) => error = next,
                sent => return sent,
            }
        }
        Err(error)
    }

    /// Whether a receive that failed for the `failures`th time in a row is to be made again.
    pub(crate) fn receives_again(&self, error: &io::Error, failures: usize) -> bool {
        self.hears() && failures < AGAIN && returned::may_be_anothers(error)
    }
}

#[cfg(all(test, any(target_os = "linux", target_os = "android")))]
mod tests;
