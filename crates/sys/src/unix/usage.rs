//! Processor time, memory and limits, from `getrusage(2)` and `getrlimit(2)`.

use std::mem::MaybeUninit;
use std::time::Duration;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use crate::process::CpuTime;

pub(crate) fn raise_descriptor_limit() -> u64 {
    let limit = getrlimit(Resource::Nofile);
    if limit.current != limit.maximum {
        let raised = Rlimit {
            current: limit.maximum,
            maximum: limit.maximum,
        };
        // A refusal leaves the old limit, which is read below.
        let _ = setrlimit(Resource::Nofile, raised);
    }
    getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX)
}

pub(crate) fn usage() -> libc::rusage {
    let mut usage = MaybeUninit::<libc::rusage>::zeroed();
    // SAFETY: `usage` is valid for writing; all-zero is a valid `rusage`, should the call fail.
    unsafe {
        libc::getrusage(libc::RUSAGE_SELF, usage.as_mut_ptr());
        usage.assume_init()
    }
}

pub(crate) fn process_cpu_time() -> CpuTime {
    let usage = usage();
    let span = |time: libc::timeval| {
        Duration::from_secs(u64::try_from(time.tv_sec).unwrap_or(0))
            + Duration::from_micros(u64::try_from(time.tv_usec).unwrap_or(0))
    };
    CpuTime {
        user: span(usage.ru_utime),
        system: span(usage.ru_stime),
    }
}

pub(crate) fn thread_cpu_time() -> Duration {
    let mut time = MaybeUninit::<libc::timespec>::zeroed();
    // SAFETY: `time` is valid for writing; all-zero is a valid `timespec`, should the call fail.
    let time = unsafe {
        libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, time.as_mut_ptr());
        time.assume_init()
    };
    Duration::from_secs(u64::try_from(time.tv_sec).unwrap_or(0))
        + Duration::from_nanos(u64::try_from(time.tv_nsec).unwrap_or(0))
}

pub(crate) fn exit_now(code: i32) -> ! {
    // SAFETY: ends the process without running anything of it.
    unsafe { libc::_exit(code) }
}

/// Whether signal 0 reaches it, or is refused by somebody else's process.
pub(crate) fn is_running(process: u32) -> bool {
    let number = i32::try_from(process)
        .ok()
        .and_then(rustix::process::Pid::from_raw);
    number.is_some_and(|pid| {
        !matches!(
            rustix::process::test_kill_process(pid),
            Err(rustix::io::Errno::SRCH)
        )
    })
}
