//! Files that are opened for one process alone.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::windows::fs::OpenOptionsExt as _;
use std::path::Path;

/// The file is open already, in another sharing mode (`ERROR_SHARING_VIOLATION`).
const SHARING_VIOLATION: i32 = 32;

#[derive(Debug)]
pub(crate) struct Held {
    _file: File,
}

impl Held {
    pub(crate) fn take(path: &Path) -> io::Result<Option<Self>> {
        let mut options = OpenOptions::new();
        options
            .create(true)
            .truncate(false)
            .write(true)
            .share_mode(0);
        match options.open(path) {
            Ok(file) => Ok(Some(Self { _file: file })),
            Err(error) if error.raw_os_error() == Some(SHARING_VIOLATION) => Ok(None),
            Err(error) => Err(error),
        }
    }

    pub(crate) fn inherited<T>(&self, start: impl FnOnce() -> io::Result<T>) -> io::Result<T> {
        start()
    }
}
