//! A file that one holder has at a time.

use std::io;
use std::path::Path;

use crate::platform::file_lock::Held;

/// A file that one holder has at a time, as long as this or a process that inherited it lives. On Unix the lock
/// is flock(2)'s: of this opening of the file, so that one process may ask twice and is refused.
#[derive(Debug)]
pub struct FileLock(Held);

impl FileLock {
    /// Takes the lock of a file, which is made if it is missing; `None` if somebody has it.
    ///
    /// # Errors
    /// The file cannot be had.
    pub fn take(path: &Path) -> io::Result<Option<Self>> {
        Ok(Held::take(path)?.map(Self))
    }

    /// Lets what `start` starts inherit the lock (Unix); other processes do not. Only one thread at a time may
    /// start processes meanwhile.
    ///
    /// # Errors
    /// What `start` says, or the lock cannot be inherited.
    pub fn inherited<T>(&self, start: impl FnOnce() -> io::Result<T>) -> io::Result<T> {
        self.0.inherited(start)
    }
}

#[cfg(all(test, unix))]
mod tests {
    use std::process::{Command, Stdio};

    use super::*;

    fn path(name: &str) -> std::path::PathBuf {
        std::env::temp_dir().join(format!("tapeline-{}-{name}", std::process::id()))
    }

    fn take(path: &Path) -> Option<FileLock> {
        FileLock::take(path).expect("a file")
    }

    #[test]
    fn it_is_held_until_the_last_process_has_gone() {
        let path = path("lock");
        let lock = take(&path).expect("it is free");
        assert!(take(&path).is_none());
        let cat = || Command::new("cat").stdin(Stdio::piped()).spawn();
        let mut heir = lock.inherited(cat).expect("a process");
        let mut other = cat().expect("a process");
        drop(lock);
        assert!(take(&path).is_none(), "the process has it");
        drop(heir.stdin.take());
        heir.wait().expect("an end");
        assert!(take(&path).is_some(), "the other one has not inherited it");
        drop(other.stdin.take());
        other.wait().expect("an end");
        std::fs::remove_file(path).expect("a file");
    }

    #[test]
    fn what_cannot_be_opened_is_an_error() {
        assert!(FileLock::take(Path::new("/nowhere/at/all")).is_err());
    }
}
