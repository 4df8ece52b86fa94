//! Process facts from `getrusage(2)`.

use std::io;
use std::time::Duration;

pub(crate) use super::usage::{
    exit_now, is_running, process_cpu_time, raise_descriptor_limit, thread_cpu_time,
};

/// Apple counts the peak in bytes, the BSDs in kibibytes.
const PEAK_UNIT: u64 = if cfg!(target_vendor = "apple") {
    1
} else {
    1024
};

pub(crate) fn share_one_heap() {}

pub(crate) fn release_free_memory() {}

pub(crate) fn peak_memory() -> Option<u64> {
    let peak = u64::try_from(super::usage::usage().ru_maxrss).ok()?;
    Some(peak.saturating_mul(PEAK_UNIT)).filter(|peak| *peak > 0)
}

pub(crate) fn cpu_time_of(_process: u32) -> Option<Duration> {
    None
}

pub(crate) fn thread_run_delay() -> Option<Duration> {
    None
}

pub(crate) fn run_on_processor(_number: u32) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}
