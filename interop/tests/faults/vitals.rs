//! What a process costs, as the kernel counts it.

use std::time::Duration;

/// Descriptors, threads and memory of a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Vitals {
    pub(crate) descriptors: usize,
    pub(crate) threads: usize,
    /// Resident bytes.
    pub(crate) memory: u64,
    /// The most bytes that were ever resident.
    pub(crate) peak_memory: u64,
}

impl Vitals {
    /// Of a process that runs.
    pub(crate) fn of(pid: u32) -> Option<Self> {
        let status = std::fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
        let number = |name: &str| {
            let line = status.lines().find_map(|line| line.strip_prefix(name))?;
            line.split_whitespace().next()?.parse::<u64>().ok()
        };
        Some(Self {
            descriptors: std::fs::read_dir(format!("/proc/{pid}/fd")).ok()?.count(),
            threads: usize::try_from(number("Threads:")?).ok()?,
            memory: number("VmRSS:")? * 1024,
            peak_memory: number("VmHWM:")? * 1024,
        })
    }
}

/// Processor time of a process so far.
pub(crate) fn cpu_time(pid: u32) -> Duration {
    tapeline_sys::cpu_time_of(pid).unwrap_or_default()
}
