//! Process facts from the Windows API, and the highest priority class that needs no privileges; memory is
//! not locked.

use std::io;
use std::mem::size_of;
use std::time::Duration;

use tapeline_base::Placement;
use windows_sys::Win32::Foundation::FILETIME;
use windows_sys::Win32::System::ProcessStatus::{K32GetProcessMemoryInfo, PROCESS_MEMORY_COUNTERS};
use windows_sys::Win32::System::Threading::{
    ExitProcess, GetCurrentProcess, GetCurrentThread, GetProcessTimes, GetThreadTimes,
    HIGH_PRIORITY_CLASS, SetPriorityClass,
};

use crate::process::CpuTime;

const NEVER: FILETIME = FILETIME {
    dwLowDateTime: 0,
    dwHighDateTime: 0,
};

/// A count of 100-nanosecond steps.
fn span(time: FILETIME) -> Duration {
    let steps = u64::from(time.dwHighDateTime) << 32 | u64::from(time.dwLowDateTime);
    Duration::from_nanos(steps.saturating_mul(100))
}

pub(crate) fn share_one_heap() {}

pub(crate) fn release_free_memory() {}

pub(crate) fn raise_descriptor_limit() -> u64 {
    u64::MAX
}

pub(crate) fn thread_cpu_time() -> Duration {
    let [mut created, mut ended, mut kernel, mut user] = [NEVER; 4];
    // SAFETY: the pseudo handle is always valid; all pointers are to live variables.
    unsafe {
        GetThreadTimes(
            GetCurrentThread(),
            &raw mut created,
            &raw mut ended,
            &raw mut kernel,
            &raw mut user,
        );
    }
    span(kernel) + span(user)
}

pub(crate) fn thread_run_delay() -> Option<Duration> {
    None
}

pub(crate) fn process_cpu_time() -> CpuTime {
    let [mut created, mut ended, mut kernel, mut user] = [NEVER; 4];
    // SAFETY: as above.
    unsafe {
        GetProcessTimes(
            GetCurrentProcess(),
            &raw mut created,
            &raw mut ended,
            &raw mut kernel,
            &raw mut user,
        );
    }
    CpuTime {
        user: span(user),
        system: span(kernel),
    }
}

pub(crate) fn peak_memory() -> Option<u64> {
    let mut counters = PROCESS_MEMORY_COUNTERS::default();
    let size = size_of::<PROCESS_MEMORY_COUNTERS>() as u32;
    // SAFETY: the pseudo handle is always valid; the size is that of the structure.
    let done = unsafe { K32GetProcessMemoryInfo(GetCurrentProcess(), &raw mut counters, size) };
    (done != 0).then_some(counters.PeakWorkingSetSize as u64)
}

pub(crate) fn cpu_time_of(_process: u32) -> Option<Duration> {
    None
}

pub(crate) fn exit_now(code: i32) -> ! {
    // SAFETY: ends the process.
    unsafe { ExitProcess(code as u32) }
}

pub(crate) fn current_placement() -> Placement {
    Placement::default()
}

pub(crate) fn run_on_processor(_number: u32) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

/// Process numbers are not looked up here: a file that holds one is written anew.
pub(crate) fn is_running(process: u32) -> bool {
    process == std::process::id()
}

pub(crate) fn schedule() -> io::Result<()> {
    // SAFETY: the pseudo handle is always valid.
    if unsafe { SetPriorityClass(GetCurrentProcess(), HIGH_PRIORITY_CLASS) } == 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(())
}

pub(crate) fn lock_memory() -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}
