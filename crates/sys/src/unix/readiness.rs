//! `poll(2)` on a few handles.

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, RawFd};
use std::time::Instant;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use socket2::Socket;

use crate::poller::{Event, Handle, Interest, Wait};

/// The system's name of an open socket or descriptor.
pub(crate) type RawHandle = RawFd;

/// One handle to wait for.
pub(crate) type Entry<'a> = PollFd<'a>;

pub(crate) fn raw_handle(socket: &Socket) -> RawHandle {
    socket.as_raw_fd()
}

pub(crate) fn borrowed(handle: Handle<'_>) -> BorrowedFd<'_> {
    // SAFETY: the lifetime of a `Handle` guarantees that the descriptor stays open.
    unsafe { BorrowedFd::borrow_raw(handle.raw()) }
}

pub(crate) fn entry(handle: Handle<'_>, interest: Interest) -> Entry<'_> {
    let mut flags = PollFlags::empty();
    flags.set(PollFlags::IN, interest.read);
    flags.set(PollFlags::OUT, interest.write);
    PollFd::from_borrowed_fd(borrowed(handle), flags)
}

/// Waits until an entry is ready or the time has passed; a signal does not end it.
pub(crate) fn wait(entries: &mut [Entry<'_>], wait: Wait) -> io::Result<()> {
    let started = Instant::now();
    loop {
        let timeout = match wait {
            Wait::Never => Some(Timespec {
                tv_sec: 0,
                tv_nsec: 0,
            }),
            // A span beyond the system's range is for ever.
            Wait::AtMost(span) => Timespec::try_from(span.saturating_sub(started.elapsed())).ok(),
            Wait::Forever => None,
        };
        match poll(entries, timeout.as_ref()) {
            Ok(_) => return Ok(()),
            Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
}

/// What a waited-for entry reports; `None` when it is not ready. The token is the caller's.
pub(crate) fn outcome(entry: &Entry<'_>) -> Option<Event> {
    let flags = entry.revents();
    if flags.is_empty() {
        return None;
    }
    let error = flags.intersects(PollFlags::ERR | PollFlags::HUP | PollFlags::NVAL);
    Some(Event {
        token: 0,
        readable: error || flags.contains(PollFlags::IN),
        writable: error || flags.contains(PollFlags::OUT),
        error,
    })
}
