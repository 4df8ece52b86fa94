//! Sending and receiving without Linux's extras.

pub(crate) use super::SEND_FLAGS;

#[path = "../posix/stream.rs"]
mod common;
#[path = "../portable/discard.rs"]
mod discard;

pub(crate) use common::{
    connect_is_pending, is_timeout, recv_nonblocking, send_nonblocking, send_vectored_nonblocking,
    timed_out,
};
pub(crate) use discard::recv_discard;

/// Accepted sockets take the listener's mode here.
pub(crate) const ACCEPTED_INHERITS_NONBLOCKING: bool = true;

pub(crate) fn unacknowledged_bytes(_socket: &socket2::Socket) -> Option<u64> {
    None
}
