//! Waiting for many sockets at once.

use std::fmt;
use std::io;
use std::marker::PhantomData;
use std::time::Duration;

use socket2::Socket;

use crate::platform::{poller as system, readiness};

/// How long a call may wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wait {
    /// Not at all.
    Never,
    /// At most so long.
    AtMost(Duration),
    /// Until something happens.
    Forever,
}

/// What to wait for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Interest {
    /// Data, a connection, or the end of either.
    pub read: bool,
    /// Room for sending, or a completed connect.
    pub write: bool,
}

impl Interest {
    /// Nothing but errors.
    pub const NONE: Self = Self {
        read: false,
        write: false,
    };
    /// Reading only.
    pub const READ: Self = Self {
        read: true,
        write: false,
    };
    /// Writing only.
    pub const WRITE: Self = Self {
        read: false,
        write: true,
    };
    /// Both.
    pub const BOTH: Self = Self {
        read: true,
        write: true,
    };
}

/// A ready source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event {
    /// The token of its registration.
    pub token: u64,
    /// Reading will not wait (there may be data, an end or an error).
    pub readable: bool,
    /// Writing will not wait.
    pub writable: bool,
    /// The source has an error or was hung up; readable and writable are then set too.
    pub error: bool,
}

/// A borrowed system handle, as opaque to callers as the platform that it comes from.
#[derive(Clone, Copy)]
pub struct Handle<'a> {
    raw: readiness::RawHandle,
    owner: PhantomData<&'a ()>,
}

impl<'a> Handle<'a> {
    pub(crate) fn of(socket: &'a Socket) -> Self {
        Self::from_raw(readiness::raw_handle(socket))
    }

    /// The caller guarantees by the lifetime that `raw` stays open.
    pub(crate) fn from_raw(raw: readiness::RawHandle) -> Self {
        Self {
            raw,
            owner: PhantomData,
        }
    }

    pub(crate) fn raw(self) -> readiness::RawHandle {
        self.raw
    }
}

impl fmt::Debug for Handle<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Handle({})", self.raw)
    }
}

/// Something that a [`Poller`] can wait for.
pub trait Pollable {
    /// The system handle to wait on.
    fn handle(&self) -> Handle<'_>;
}

impl<T: Pollable> Pollable for &T {
    fn handle(&self) -> Handle<'_> {
        (**self).handle()
    }
}

impl<T: Pollable> Pollable for std::sync::Arc<T> {
    fn handle(&self) -> Handle<'_> {
        (**self).handle()
    }
}

/// Level-triggered readiness: a source is reported again as long as it is ready.
/// Owned by one thread; other threads reach it through a registered [`crate::Waker`].
///
/// Linux: `epoll`; elsewhere `poll(2)` or `WSAPoll`.
#[derive(Debug)]
pub struct Poller {
    system: system::SystemPoller,
}

impl Poller {
    /// An empty set.
    ///
    /// # Errors
    /// Running out of descriptors.
    pub fn new() -> io::Result<Self> {
        Ok(Self {
            system: system::SystemPoller::new()?,
        })
    }

    /// Adds `source`; its events carry `token`. A source must be deregistered before it is closed.
    ///
    /// # Errors
    /// `AlreadyExists` when it is registered; others of the system.
    pub fn register(
        &mut self,
        source: &impl Pollable,
        token: u64,
        interest: Interest,
    ) -> io::Result<()> {
        self.system.register(source.handle().raw(), token, interest)
    }

    /// Changes token and interest of a registered source.
    ///
    /// # Errors
    /// `NotFound` when it is not registered.
    pub fn modify(
        &mut self,
        source: &impl Pollable,
        token: u64,
        interest: Interest,
    ) -> io::Result<()> {
        self.system.modify(source.handle().raw(), token, interest)
    }

    /// Removes a registered source.
    ///
    /// # Errors
    /// `NotFound` when it is not registered.
    pub fn deregister(&mut self, source: &impl Pollable) -> io::Result<()> {
        self.system.deregister(source.handle().raw())
    }

    /// Waits until a source is ready and replaces the contents of `events`. Returns the
    /// number of events; 0 when the time passed or a signal arrived.
    ///
    /// # Errors
    /// Those of the system, none of them expected.
    pub fn wait(&mut self, events: &mut Events, wait: Wait) -> io::Result<usize> {
        events.ready.clear();
        match self.system.wait(&mut events.ready, events.capacity, wait) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => Ok(0),
            other => other.map(|()| events.ready.len()),
        }
    }
}

/// The result list of [`Poller::wait`], allocated once.
#[derive(Debug)]
pub struct Events {
    ready: Vec<Event>,
    capacity: usize,
}

impl Events {
    /// Room for `capacity` events (at least 1) per wait; more ready sources come with the next.
    #[must_use]
    pub fn with_capacity(capacity: usize) -> Self {
        let capacity = capacity.max(1);
        Self {
            ready: Vec::with_capacity(capacity),
            capacity,
        }
    }

    /// The events of the last wait.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = Event> + '_ {
        self.ready.iter().copied()
    }

    /// How many there were.
    #[must_use]
    pub fn len(&self) -> usize {
        self.ready.len()
    }

    /// Whether there were none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.ready.is_empty()
    }
}

/// Waits for a single source without a poller; `false` when the time passed.
pub(crate) fn wait_one(handle: Handle<'_>, interest: Interest, wait: Wait) -> io::Result<bool> {
    let mut entries = [readiness::entry(handle, interest)];
    readiness::wait(&mut entries, wait)?;
    Ok(readiness::outcome(&entries[0]).is_some())
}

/// Waits for the first of two sources; returns which are ready.
pub(crate) fn wait_two(
    first: (Handle<'_>, Interest),
    second: (Handle<'_>, Interest),
    wait: Wait,
) -> io::Result<(bool, bool)> {
    let mut entries = [
        readiness::entry(first.0, first.1),
        readiness::entry(second.0, second.1),
    ];
    readiness::wait(&mut entries, wait)?;
    Ok((
        readiness::outcome(&entries[0]).is_some(),
        readiness::outcome(&entries[1]).is_some(),
    ))
}

#[cfg(test)]
mod tests;
