//! What a running process uses.

use std::time::Duration;

/// Clock ticks a second, as `/proc/PID/stat` counts them (`USER_HZ` of Linux).
const TICKS: u64 = 100;

/// What a process uses at a moment.
#[derive(Clone, Copy, Debug)]
pub struct Vitals {
    /// Open descriptors.
    pub descriptors: usize,
    /// Threads.
    pub threads: usize,
    /// Resident bytes.
    pub memory: u64,
    /// The most bytes that were ever resident.
    pub peak_memory: u64,
    /// User and system time so far.
    pub cpu: Duration,
}

impl Vitals {
    /// Of a process that runs; `None` if it does not.
    #[must_use]
    pub fn read(pid: u32) -> Option<Self> {
        let status = std::fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
        let number = |name: &str| {
            let line = status.lines().find_map(|line| line.strip_prefix(name))?;
            line.split_whitespace().next()?.parse::<u64>().ok()
        };
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        // The name before it may hold anything.
        let (_, rest) = stat.rsplit_once(')')?;
        let ticks = rest.split_whitespace().skip(11).take(2);
        let ticks: u64 = ticks.map_while(|word| word.parse::<u64>().ok()).sum();
        Some(Self {
            descriptors: std::fs::read_dir(format!("/proc/{pid}/fd")).ok()?.count(),
            threads: usize::try_from(number("Threads:")?).ok()?,
            memory: number("VmRSS:")? * 1024,
            peak_memory: number("VmHWM:")? * 1024,
            cpu: Duration::from_millis(ticks * 1000 / TICKS),
        })
    }
}

/// The processes below a process, at any depth.
#[must_use]
pub fn descendants(pid: u32) -> Vec<u32> {
    let mut found = Vec::new();
    let mut open = vec![pid];
    while let Some(pid) = open.pop() {
        let tasks = std::fs::read_dir(format!("/proc/{pid}/task"));
        for task in tasks.into_iter().flatten().flatten() {
            let text = std::fs::read_to_string(task.path().join("children")).unwrap_or_default();
            let children = text
                .split_whitespace()
                .filter_map(|word| word.parse::<u32>().ok());
            let before = found.len();
            found.extend(children);
            open.extend_from_slice(&found[before..]);
        }
    }
    found
}
