//! Processes that get a part of a processor only.

use std::fs;
use std::io;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};

/// Period of the scheduler's accounts, microseconds.
const PERIOD: u32 = 100_000;

static NUMBER: AtomicU32 = AtomicU32::new(0);

/// A control group with a quota of processor time; removed when dropped, which its processes must
/// not outlive.
#[derive(Debug)]
pub struct ProcessorQuota {
    directory: PathBuf,
}

impl ProcessorQuota {
    /// A group that gets `percent` of one processor.
    ///
    /// # Errors
    /// No control groups for processors, or no right to make one.
    pub fn new(percent: u32) -> io::Result<Self> {
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let name = format!("tapeline-{}-{number}", std::process::id());
        let quota = PERIOD / 100 * percent;
        // Version 1 has a tree for each controller, version 2 one for all.
        let first = PathBuf::from("/sys/fs/cgroup/cpu");
        let (tree, limits) = if first.is_dir() {
            let limits = [
                ("cpu.cfs_period_us", PERIOD.to_string()),
                ("cpu.cfs_quota_us", quota.to_string()),
            ];
            (first, limits.to_vec())
        } else {
            let limits = vec![("cpu.max", format!("{quota} {PERIOD}"))];
            (PathBuf::from("/sys/fs/cgroup"), limits)
        };
        let group = Self {
            directory: tree.join(name),
        };
        fs::create_dir(&group.directory)?;
        for (file, value) in limits {
            fs::write(group.directory.join(file), value)?;
        }
        Ok(group)
    }

    /// Puts a process with all its threads under the quota.
    ///
    /// # Errors
    /// It has ended.
    pub fn confine(&self, process: u32) -> io::Result<()> {
        fs::write(self.directory.join("cgroup.procs"), process.to_string())
    }
}

impl Drop for ProcessorQuota {
    fn drop(&mut self) {
        let _ = fs::remove_dir(&self.directory);
    }
}
