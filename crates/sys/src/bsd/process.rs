//! Process facts from `getrusage(2)`, `SCHED_RR` where the system has it for ordinary processes, and
//! `mlockall(2)`.

use std::io;
use std::time::Duration;

use tapeline_base::Placement;

use super::usage::usage;
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
    let peak = u64::try_from(usage().ru_maxrss).ok()?;
    Some(peak.saturating_mul(PEAK_UNIT)).filter(|peak| *peak > 0)
}

pub(crate) fn cpu_time_of(_process: u32) -> Option<Duration> {
    None
}

pub(crate) fn thread_run_delay() -> Option<Duration> {
    None
}

pub(crate) fn current_placement() -> Placement {
    Placement::default()
}

pub(crate) fn run_on_processor(_number: u32) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

#[cfg(target_os = "freebsd")]
pub(crate) fn schedule() -> io::Result<()> {
    // SAFETY: pure look-up.
    let highest = unsafe { libc::sched_get_priority_max(libc::SCHED_RR) };
    let parameters = libc::sched_param {
        sched_priority: highest,
    };
    // SAFETY: the parameters outlive the call.
    if unsafe { libc::sched_setscheduler(0, libc::SCHED_RR, &raw const parameters) } == -1 {
        return Err(io::Error::last_os_error());
    }
    Ok(())
}

#[cfg(not(target_os = "freebsd"))]
pub(crate) fn schedule() -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

/// Memory of today only: what a limit forbids later would make allocations fail.
pub(crate) fn lock_memory() -> io::Result<()> {
    // SAFETY: changes no memory, only whether it may be paged out.
    if unsafe { libc::mlockall(libc::MCL_CURRENT) } == 0 {
        Ok(())
    } else {
        Err(io::Error::last_os_error())
    }
}
