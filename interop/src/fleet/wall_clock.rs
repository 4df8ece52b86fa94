//! A wall clock for each host: the hosts of one machine share that machine's.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// A shift of the wall clock of a host's processes, which libfaketime reads at each look at the
/// clock. Monotonic clocks go on as they are.
#[derive(Debug)]
pub(crate) struct WallClock {
    library: PathBuf,
    shift: PathBuf,
}

impl WallClock {
    /// The library, where it is installed (Debian: `libfaketime`).
    pub(crate) fn library() -> Option<PathBuf> {
        let folders = fs::read_dir("/usr/lib").ok()?.flatten();
        let mut places = folders.map(|folder| folder.path().join("faketime/libfaketimeMT.so.1"));
        places.find(|place| place.is_file())
    }

    /// A right one, which keeps its shift in `folder`.
    pub(crate) fn new(folder: &Path) -> io::Result<Self> {
        let library = Self::library().ok_or(io::ErrorKind::NotFound)?;
        let clock = Self {
            library,
            shift: folder.join("clock"),
        };
        clock.set(0)?;
        Ok(clock)
    }

    /// So many seconds ahead of the machine's.
    pub(crate) fn set(&self, ahead: i64) -> io::Result<()> {
        // Whole at any time: it may be read now.
        let new = self.shift.with_extension("new");
        fs::write(&new, format!("{ahead:+}\n"))?;
        fs::rename(new, &self.shift)
    }

    /// What a process needs to see it.
    pub(crate) fn environment(&self) -> [(&'static str, String); 4] {
        [
            ("LD_PRELOAD", self.library.display().to_string()),
            ("FAKETIME_TIMESTAMP_FILE", self.shift.display().to_string()),
            ("FAKETIME_NO_CACHE", "1".to_owned()),
            ("FAKETIME_DONT_FAKE_MONOTONIC", "1".to_owned()),
        ]
    }
}
