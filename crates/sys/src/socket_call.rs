//! What the calls on all sockets have in common: interruptions, timeouts, buffers.

use std::io;
use std::mem::MaybeUninit;
use std::time::Duration;

use crate::platform::stream;

/// A timeout of zero would mean "for ever" to the system.
pub(crate) fn at_least_a_microsecond(timeout: Option<Duration>) -> Option<Duration> {
    timeout.map(|span| span.max(Duration::from_micros(1)))
}

/// Repeats a call that a signal interrupted, and unifies the error of a passed timeout.
#[inline]
pub(crate) fn retry<T>(mut call: impl FnMut() -> io::Result<T>) -> io::Result<T> {
    loop {
        match call() {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) if stream::is_timeout(&error) => {
                return Err(io::ErrorKind::WouldBlock.into());
            }
            other => return other,
        }
    }
}

/// The same bytes as memory that a receive call may fill.
#[inline]
pub(crate) fn as_uninit(buffer: &mut [u8]) -> &mut [MaybeUninit<u8>] {
    let (start, length) = (buffer.as_mut_ptr(), buffer.len());
    // SAFETY: same address, length and lifetime; `MaybeUninit<u8>` has the layout of `u8`.
    // The callers pass it only to system calls, which write initialised bytes or nothing.
    unsafe { std::slice::from_raw_parts_mut(start.cast::<MaybeUninit<u8>>(), length) }
}
