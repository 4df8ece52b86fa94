//! `WSAPoll` on a few sockets.

use std::io;
use std::marker::PhantomData;
use std::os::windows::io::AsRawSocket;
use std::time::{Duration, Instant};

use socket2::Socket;
use windows_sys::Win32::Networking::WinSock::{
    POLLERR, POLLHUP, POLLNVAL, POLLRDNORM, POLLWRNORM, SOCKET, WSAPOLLFD, WSAPoll,
};

use crate::poller::{Event, Handle, Interest, Wait};

/// The system's name of an open socket.
pub(crate) type RawHandle = SOCKET;

/// One socket to wait for.
#[repr(transparent)]
pub(crate) struct Entry<'a> {
    raw: WSAPOLLFD,
    owner: PhantomData<&'a ()>,
}

pub(crate) fn raw_handle(socket: &Socket) -> RawHandle {
    socket.as_raw_socket() as SOCKET
}

pub(crate) fn entry(handle: Handle<'_>, interest: Interest) -> Entry<'_> {
    let mut events = 0;
    if interest.read {
        events |= POLLRDNORM;
    }
    if interest.write {
        events |= POLLWRNORM;
    }
    let raw = WSAPOLLFD {
        fd: handle.raw(),
        events,
        revents: 0,
    };
    Entry {
        raw,
        owner: PhantomData,
    }
}

/// Waits until an entry is ready or the time has passed.
pub(crate) fn wait(entries: &mut [Entry<'_>], wait: Wait) -> io::Result<()> {
    let started = Instant::now();
    loop {
        let left = match wait {
            Wait::Never => Some(Duration::ZERO),
            Wait::AtMost(span) => Some(span.saturating_sub(started.elapsed())),
            Wait::Forever => None,
        };
        let millis = left.map_or(-1, |span| {
            i32::try_from(span.as_nanos().div_ceil(1_000_000)).unwrap_or(i32::MAX)
        });
        if entries.is_empty() {
            // `WSAPoll` refuses an empty set.
            std::thread::sleep(left.unwrap_or(Duration::MAX));
            return Ok(());
        }
        // SAFETY: `Entry` has the layout of `WSAPOLLFD`; pointer and count describe the slice.
        let count = unsafe { WSAPoll(entries.as_mut_ptr().cast(), entries.len() as u32, millis) };
        match count {
            0 if millis == i32::MAX => {}
            0.. => return Ok(()),
            _ => return Err(io::Error::last_os_error()),
        }
    }
}

/// What a waited-for entry reports; `None` when it is not ready. The token is the caller's.
pub(crate) fn outcome(entry: &Entry<'_>) -> Option<Event> {
    let flags = entry.raw.revents;
    if flags == 0 {
        return None;
    }
    let error = flags & (POLLERR | POLLHUP | POLLNVAL) != 0;
    Some(Event {
        token: 0,
        readable: error || flags & POLLRDNORM != 0,
        writable: error || flags & POLLWRNORM != 0,
        error,
    })
}
