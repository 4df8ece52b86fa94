//! The file whose lock is the exclusive slot of a host.

use std::fs::{File, OpenOptions};
use std::io;
use std::path::PathBuf;

use rustix::fs::{FlockOperation, flock};
use rustix::io::{FdFlags, fcntl_setfd};

/// The lock file of a host. Processes of a test inherit it, so it stays locked until the last of them has gone,
/// whatever becomes of the agent.
#[derive(Debug)]
pub(crate) struct LockFile {
    path: PathBuf,
    /// Of an exclusive test.
    held: Option<File>,
}

impl LockFile {
    pub(crate) fn new(path: PathBuf) -> Self {
        Self { path, held: None }
    }

    /// Opens it anew and tries to lock it; whether it is held. A lock of this process that a test still has
    /// belongs to another opening of the file, and refuses this one.
    pub(crate) fn lock(&mut self) -> bool {
        self.held = None;
        let opened = OpenOptions::new()
            .create(true)
            .truncate(false)
            .write(true)
            .open(&self.path);
        self.held = opened.ok().filter(|file| {
            let locked = flock(file, FlockOperation::NonBlockingLockExclusive);
            locked.is_ok()
        });
        self.held.is_some()
    }

    /// Closes it without unlocking it.
    pub(crate) fn close(&mut self) {
        self.held = None;
    }

    /// Lets what is started meanwhile inherit it.
    pub(crate) fn inherited<T>(&self, start: impl FnOnce() -> io::Result<T>) -> io::Result<T> {
        let Some(file) = &self.held else {
            return start();
        };
        fcntl_setfd(file, FdFlags::empty())?;
        let started = start();
        fcntl_setfd(file, FdFlags::CLOEXEC)?;
        started
    }
}

#[cfg(test)]
mod tests {
    use std::process::{Command, Stdio};

    use super::*;

    #[test]
    fn it_stays_locked_until_the_last_process_has_gone() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("lock");
        let mut lock = LockFile::new(path.clone());
        assert!(lock.lock());
        let mut child = lock
            .inherited(|| Command::new("cat").stdin(Stdio::piped()).spawn())
            .expect("a process");
        lock.close();
        let mut again = LockFile::new(path);
        assert!(!again.lock() && !lock.lock(), "the process has it");
        drop(child.stdin.take());
        child.wait().expect("an end");
        assert!(again.lock());
        assert!(!lock.lock(), "it is held");
    }

    #[test]
    fn other_processes_do_not_inherit_it() {
        let folder = tempfile::tempdir().expect("a folder");
        let mut lock = LockFile::new(folder.path().join("lock"));
        assert!(lock.lock());
        let mut child = Command::new("cat").stdin(Stdio::piped()).spawn();
        lock.close();
        assert!(lock.lock());
        let child = child.as_mut().expect("a process");
        drop(child.stdin.take());
        child.wait().expect("an end");
    }
}
