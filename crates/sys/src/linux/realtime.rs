//! `SCHED_RR` and `mlockall(2)`.

use std::fs;
use std::io;
use std::mem::zeroed;

use rustix::process::{Resource, getrlimit};

/// `CAP_IPC_LOCK` (`capabilities(7)`).
const CAP_IPC_LOCK: u32 = 14;

/// Of the calling thread; threads that it starts inherit it. A plain system call: musl's
/// function of that name refuses always.
pub(crate) fn schedule() -> io::Result<()> {
    // SAFETY: pure look-up.
    let highest = unsafe { libc::sched_get_priority_max(libc::SCHED_RR) };
    // SAFETY: all-zero is a valid set of parameters.
    let mut parameters: libc::sched_param = unsafe { zeroed() };
    parameters.sched_priority = highest;
    // SAFETY: the kernel reads the first `int` behind the pointer, which outlives the call.
    let result = unsafe {
        libc::syscall(
            libc::SYS_sched_setscheduler,
            0,
            libc::SCHED_RR,
            &raw const parameters,
        )
    };
    if result == 0 {
        Ok(())
    } else {
        Err(io::Error::last_os_error())
    }
}

pub(crate) fn lock_memory() -> io::Result<()> {
    // What is reserved but never touched (stacks, arenas) need not become resident.
    let flags = if is_unlimited() {
        libc::MCL_CURRENT | libc::MCL_FUTURE | libc::MCL_ONFAULT
    } else {
        libc::MCL_CURRENT | libc::MCL_ONFAULT
    };
    // SAFETY: changes no memory, only whether it may be paged out.
    if unsafe { libc::mlockall(flags) } == 0 {
        Ok(())
    } else {
        Err(io::Error::last_os_error())
    }
}

/// Whether this process may lock as much as it likes.
fn is_unlimited() -> bool {
    let capable = || {
        let status = fs::read_to_string("/proc/self/status").ok()?;
        let line = status
            .lines()
            .find_map(|line| line.strip_prefix("CapEff:"))?;
        let set = u64::from_str_radix(line.trim(), 16).ok()?;
        Some(set & 1 << CAP_IPC_LOCK != 0)
    };
    getrlimit(Resource::Memlock).current.is_none() || capable() == Some(true)
}
