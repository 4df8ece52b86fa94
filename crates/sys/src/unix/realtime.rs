//! `SCHED_RR` where the system has it for ordinary processes, and `mlockall(2)`.

use std::io;

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
