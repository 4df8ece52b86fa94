//! Locks of flock(2).

use std::fs::{File, OpenOptions};
use std::io;
use std::path::Path;

use rustix::fs::{FlockOperation, flock};
use rustix::io::{Errno, FdFlags, fcntl_setfd};

#[derive(Debug)]
pub(crate) struct Held(File);

impl Held {
    pub(crate) fn take(path: &Path) -> io::Result<Option<Self>> {
        let mut options = OpenOptions::new();
        let opened = options.create(true).truncate(false).write(true).open(path);
        let file = match opened {
            // Of another user: flock asks for no right to write.
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => File::open(path)?,
            opened => opened?,
        };
        match flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => Ok(Some(Self(file))),
            Err(Errno::WOULDBLOCK) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    pub(crate) fn inherited<T>(&self, start: impl FnOnce() -> io::Result<T>) -> io::Result<T> {
        fcntl_setfd(&self.0, FdFlags::empty())?;
        let started = start();
        fcntl_setfd(&self.0, FdFlags::CLOEXEC)?;
        started
    }
}
