//! A small disk for a spool, which can be filled.

use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A file system in memory, gone when dropped.
#[derive(Debug)]
pub(crate) struct TinyDisk(PathBuf);

impl TinyDisk {
    /// One of so many bytes in a folder, which is made.
    pub(crate) fn new(folder: &Path, bytes: u64) -> Self {
        fs::create_dir_all(folder).expect("a folder");
        let mounted = Command::new("mount")
            .args(["-t", "tmpfs", "-o", &format!("size={bytes}"), "tmpfs"])
            .arg(folder)
            .status();
        assert!(mounted.is_ok_and(|status| status.success()), "mount");
        Self(folder.to_owned())
    }

    /// Leaves room for nothing.
    pub(crate) fn fill(&self) {
        let mut file = File::create(self.0.join("filling")).expect("a file");
        while file.write_all(&[0; 4096]).is_ok() {}
    }

    /// Gives the room back.
    pub(crate) fn clear(&self) {
        // It may not have been filled.
        let _ = fs::remove_file(self.0.join("filling"));
    }
}

impl Drop for TinyDisk {
    fn drop(&mut self) {
        // Also while a process has a file of it open.
        let _ = Command::new("umount").arg("-l").arg(&self.0).status();
    }
}
