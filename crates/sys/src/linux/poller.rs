//! Readiness by `epoll`.

use std::io;
use std::os::fd::OwnedFd;
use std::time::Duration;

use rustix::buffer::spare_capacity;
use rustix::event::epoll::{self, CreateFlags, EventData, EventFlags};
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::readiness::{RawHandle, borrowed};
use crate::poller::{Event, Handle, Interest, Wait};

pub(crate) struct SystemPoller {
    epoll: OwnedFd,
    buffer: Vec<epoll::Event>,
}

impl std::fmt::Debug for SystemPoller {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SystemPoller")
            .field("epoll", &self.epoll)
            .finish_non_exhaustive()
    }
}

impl SystemPoller {
    pub(crate) fn new() -> io::Result<Self> {
        Ok(Self {
            epoll: epoll::create(CreateFlags::CLOEXEC)?,
            buffer: Vec::new(),
        })
    }

    pub(crate) fn register(
        &mut self,
        raw: RawHandle,
        token: u64,
        interest: Interest,
    ) -> io::Result<()> {
        let source = borrowed(Handle::from_raw(raw));
        Ok(epoll::add(
            &self.epoll,
            source,
            EventData::new_u64(token),
            flags(interest),
        )?)
    }

    pub(crate) fn modify(
        &mut self,
        raw: RawHandle,
        token: u64,
        interest: Interest,
    ) -> io::Result<()> {
        let source = borrowed(Handle::from_raw(raw));
        Ok(epoll::modify(
            &self.epoll,
            source,
            EventData::new_u64(token),
            flags(interest),
        )?)
    }

    pub(crate) fn deregister(&mut self, raw: RawHandle) -> io::Result<()> {
        Ok(epoll::delete(&self.epoll, borrowed(Handle::from_raw(raw)))?)
    }

    pub(crate) fn wait(
        &mut self,
        ready: &mut Vec<Event>,
        capacity: usize,
        wait: Wait,
    ) -> io::Result<()> {
        let timeout = match wait {
            Wait::Never => Some(Duration::ZERO),
            Wait::AtMost(span) => Some(self.sleep_fraction(span)?),
            Wait::Forever => None,
        };
        // A span beyond the system's range is for ever.
        let timeout = timeout.and_then(|span| Timespec::try_from(span).ok());
        self.buffer.clear();
        self.buffer.reserve(capacity);
        epoll::wait(
            &self.epoll,
            spare_capacity(&mut self.buffer),
            timeout.as_ref(),
        )?;
        ready.extend(self.buffer.iter().take(capacity).map(|event| {
            let flags = event.flags;
            let error = flags.intersects(EventFlags::ERR | EventFlags::HUP);
            Event {
                token: event.data.u64(),
                readable: error || flags.intersects(EventFlags::IN | EventFlags::RDHUP),
                writable: error || flags.contains(EventFlags::OUT),
                error,
            }
        }));
        Ok(())
    }

    /// `epoll_wait` counts in milliseconds. A span with a finer part is waited out by `ppoll` on
    /// the epoll descriptor, which counts in nanoseconds; then nothing is left to wait.
    fn sleep_fraction(&self, span: Duration) -> io::Result<Duration> {
        if span.subsec_nanos().is_multiple_of(1_000_000) {
            return Ok(span);
        }
        let Ok(timeout) = Timespec::try_from(span) else {
            return Ok(span);
        };
        poll(
            &mut [PollFd::new(&self.epoll, PollFlags::IN)],
            Some(&timeout),
        )?;
        Ok(Duration::ZERO)
    }
}

fn flags(interest: Interest) -> EventFlags {
    let mut flags = EventFlags::empty();
    flags.set(EventFlags::IN | EventFlags::RDHUP, interest.read);
    flags.set(EventFlags::OUT, interest.write);
    flags
}
