//! Process facts from `/proc`, `SCHED_RR` and `mlockall(2)`; the rest as on every Unix.

use std::fs;
use std::io;
use std::mem::zeroed;
use std::time::Duration;

use rustix::process::{Resource, getrlimit};
use rustix::thread::{CpuSet, sched_setaffinity};
use tapeline_base::Placement;

pub(crate) use super::usage::{
    exit_now, is_running, process_cpu_time, raise_descriptor_limit, thread_cpu_time,
};

/// Bytes from which a block of memory has pages of its own.
#[cfg(target_env = "gnu")]
const LARGE_BLOCK: libc::c_int = 128 << 10;

pub(crate) fn share_one_heap() {
    #[cfg(target_env = "gnu")]
    // SAFETY: the call takes two integers and sets a parameter of the allocator.
    unsafe {
        // Refused, it changes nothing.
        libc::mallopt(libc::M_ARENA_MAX, 1);
        // Large blocks go back to the system when they are freed. By itself the bound grows with the
        // largest block that was ever freed, and later ones leave holes in the heap.
        libc::mallopt(libc::M_MMAP_THRESHOLD, LARGE_BLOCK);
    }
}

pub(crate) fn release_free_memory() {
    #[cfg(target_env = "gnu")]
    // SAFETY: the call takes an integer, and gives back only what is free.
    unsafe {
        libc::malloc_trim(0);
    }
}

/// `VmHWM` of this process. Not `ru_maxrss`: that inherits the parent's footprint.
pub(crate) fn peak_memory() -> Option<u64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kibibytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    kibibytes.checked_mul(1024)
}

pub(crate) fn cpu_time_of(process: u32) -> Option<Duration> {
    let process = libc::pid_t::try_from(process).ok()?;
    let mut clock = 0;
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: both pointers are to living values of the right type.
    let read = unsafe {
        libc::clock_getcpuclockid(process, &raw mut clock) == 0
            && libc::clock_gettime(clock, &raw mut time) == 0
    };
    let seconds = u64::try_from(time.tv_sec).ok()?;
    let nanos = u32::try_from(time.tv_nsec).ok()?;
    read.then(|| Duration::new(seconds, nanos))
}

pub(crate) fn thread_run_delay() -> Option<Duration> {
    let text = fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    let nanos = text.split_whitespace().nth(1)?.parse().ok()?;
    Some(Duration::from_nanos(nanos))
}

pub(crate) fn current_placement() -> Placement {
    let (mut cpu, mut node) = (0_u32, 0_u32);
    let none = std::ptr::null_mut::<u8>();
    // SAFETY: the kernel writes a number to each of the two; its third argument is unused.
    let result = unsafe { libc::syscall(libc::SYS_getcpu, &raw mut cpu, &raw mut node, none) };
    let known = |number: u32| (result == 0).then_some(number);
    Placement {
        cpu: known(cpu),
        numa_node: known(node),
        ..Placement::default()
    }
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
