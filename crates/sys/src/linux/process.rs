//! Process facts from `/proc`, the rest as on every Unix.

use std::fs;
use std::io;
use std::time::Duration;

use rustix::thread::{CpuSet, sched_setaffinity};

pub(crate) use super::usage::{
    exit_now, is_running, process_cpu_time, raise_descriptor_limit, thread_cpu_time,
};

/// `VmHWM` of this process. Not `ru_maxrss`: that inherits the parent's footprint.
pub(crate) fn peak_memory() -> Option<u64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kibibytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    kibibytes.checked_mul(1024)
}

pub(crate) fn thread_run_delay() -> Option<Duration> {
    let text = fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    let nanos = text.split_whitespace().nth(1)?.parse().ok()?;
    Some(Duration::from_nanos(nanos))
}

pub(crate) fn run_on_processor(number: u32) -> io::Result<()> {
    let number = number as usize;
    if number >= CpuSet::MAX_CPU {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    let mut only = CpuSet::new();
    only.set(number);
    Ok(sched_setaffinity(None, &only)?)
}
