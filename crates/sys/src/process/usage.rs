//! Resources of this process and of its threads.

use std::time::Duration;

use tapeline_base::{Bytes, Placement};

use crate::platform::process;

/// Processor time used by the process.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CpuTime {
    /// In the program's own code.
    pub user: Duration,
    /// In the kernel on its behalf.
    pub system: Duration,
}

impl CpuTime {
    /// Both together.
    #[must_use]
    pub fn total(self) -> Duration {
        self.user.saturating_add(self.system)
    }
}

/// Raises the limit of open descriptors to the most that this user may have and returns
/// the limit now in force; `u64::MAX` where there is none.
pub fn raise_descriptor_limit() -> u64 {
    process::raise_descriptor_limit()
}

/// Lets all threads take memory from one heap. By default glibc gives each of up to eight threads a
/// processor a heap of its own, and each of these keeps what its busiest moment took: a server would
/// grow for hours. Threads that move traffic take no memory, so they do not wait for each other.
///
/// Other C libraries have one heap anyway, or return memory by themselves: nothing is done.
pub fn share_one_heap() {
    process::share_one_heap();
}

/// Gives memory that nothing uses back to the system, also from the middle of the heap, which glibc
/// by itself cuts at its upper end only. Takes tens of microseconds for each mebibyte in use.
///
/// Other C libraries are left to themselves.
pub fn release_free_memory() {
    process::release_free_memory();
}

/// Processor time that the calling thread has used.
#[must_use]
pub fn thread_cpu_time() -> Duration {
    process::thread_cpu_time()
}

/// Time that the calling thread was runnable but waited for a processor, the time in which a
/// quota held it back included (Linux: second field of `/proc/thread-self/schedstat`).
#[must_use]
pub fn thread_run_delay() -> Option<Duration> {
    process::thread_run_delay()
}

/// How a thread got on with the processors, since it began or since an earlier reading.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ThreadTime {
    /// It ran.
    pub used: Duration,
    /// It could have run, but had no processor; `None` where the system does not report it.
    pub waited: Option<Duration>,
}

impl ThreadTime {
    /// Of the calling thread. Opens a file on Linux: for beginnings and ends.
    #[must_use]
    pub fn now() -> Self {
        Self {
            used: thread_cpu_time(),
            waited: thread_run_delay(),
        }
    }

    /// What was added since `earlier`, a reading of the same thread.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        let waited = self.waited.zip(earlier.waited);
        Self {
            used: self.used.saturating_sub(earlier.used),
            waited: waited.map(|(now, then)| now.saturating_sub(then)),
        }
    }

    /// Both together: what two threads did one after the other.
    #[must_use]
    pub fn plus(&self, other: &Self) -> Self {
        let waited = self.waited.zip(other.waited);
        Self {
            used: self.used + other.used,
            waited: waited.map(|(one, other)| one + other),
        }
    }
}

/// Processor time that the whole process has used.
#[must_use]
pub fn process_cpu_time() -> CpuTime {
    process::process_cpu_time()
}

/// Processor time that another process has used, its ended threads included, until it is reaped
/// (Linux: its clock, see `clock_getcpuclockid(3)`).
#[must_use]
pub fn cpu_time_of(process: u32) -> Option<Duration> {
    process::cpu_time_of(process)
}

/// The most memory that the process ever had resident (Linux: `VmHWM`).
#[must_use]
pub fn peak_memory() -> Option<Bytes> {
    process::peak_memory().map(Bytes)
}

/// Lets the calling thread, and those that it starts from now on, run on one processor only
/// (`sched_setaffinity(2)`).
///
/// # Errors
/// No such processor, or no such call on this system.
pub fn run_on_processor(number: u32) -> std::io::Result<()> {
    process::run_on_processor(number)
}

/// The CPU that the calling thread runs on, and its memory node (`getcpu(2)`).
#[must_use]
pub fn current_placement() -> Placement {
    process::current_placement()
}

/// Whether a process with this number runs.
#[must_use]
pub fn is_running(process: u32) -> bool {
    process::is_running(process)
}

/// Ends the process at once: no destructors, no flushing. For a second interrupt.
pub fn exit_now(code: i32) -> ! {
    process::exit_now(code)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_costs_thread_and_process_time() {
        let (thread, process) = (thread_cpu_time(), process_cpu_time());
        let mut sum = 0_u64;
        while thread_cpu_time() < thread + Duration::from_millis(20) {
            for step in 0..10_000_u64 {
                sum = std::hint::black_box(sum.wrapping_mul(31).wrapping_add(step));
            }
        }
        let used = process_cpu_time().total().saturating_sub(process.total());
        assert!(used >= Duration::from_millis(10), "{used:?} {sum}");
    }

    #[test]
    fn processes_are_found_by_number() {
        assert!(is_running(std::process::id()));
        assert!(!is_running(u32::MAX));
        assert!(!is_running(0));
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_thread_stays_on_its_processor() {
        let allowed = || {
            let status = std::fs::read_to_string("/proc/thread-self/status").unwrap();
            let line = status
                .lines()
                .find(|line| line.starts_with("Cpus_allowed_list:"));
            line.unwrap().split_whitespace().last().unwrap().to_owned()
        };
        let first: u32 = allowed().split(['-', ',']).next().unwrap().parse().unwrap();
        let own = std::thread::spawn(move || {
            run_on_processor(first).unwrap();
            std::thread::spawn(allowed).join().unwrap()
        });
        assert_eq!(own.join().unwrap(), first.to_string());
        assert!(run_on_processor(1 << 20).is_err());
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_thread_knows_its_cpu_and_that_cpus_node() {
        let place = current_placement();
        let (cpu, node) = (place.cpu.unwrap(), place.numa_node.unwrap());
        let folder = format!("/sys/devices/system/cpu/cpu{cpu}");
        assert!(std::fs::exists(&folder).unwrap(), "{folder}");
        // A kernel without NUMA has no such folders, and one node.
        let nodes = std::fs::read_dir(folder).unwrap().flatten();
        let mut nodes = nodes.filter_map(|entry| {
            let name = entry.file_name().into_string().ok()?;
            name.strip_prefix("node")?.parse::<u32>().ok()
        });
        assert_eq!(nodes.next().unwrap_or(0), node);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn another_process_has_a_clock_too() {
        let own = cpu_time_of(std::process::id()).unwrap();
        let later = process_cpu_time().total();
        assert!(
            own <= later + Duration::from_millis(10),
            "{own:?} {later:?}"
        );
        let script = "i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done";
        let mut child = std::process::Command::new("sh")
            .args(["-c", script])
            .spawn()
            .unwrap();
        let id = child.id();
        while cpu_time_of(id).unwrap() < Duration::from_micros(100) {
            std::thread::yield_now();
        }
        child.wait().unwrap();
        assert_eq!(cpu_time_of(id), None);
    }

    #[test]
    fn limits_and_memory_are_plausible() {
        let limit = raise_descriptor_limit();
        assert!(limit >= 64, "{limit}");
        assert_eq!(raise_descriptor_limit(), limit);
        if let Some(peak) = peak_memory() {
            assert!(peak.0 > 100_000 && peak.0 < 1 << 40, "{peak:?}");
        }
    }

    /// Holes between blocks that are in use; glibc alone would keep them.
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    #[test]
    fn free_memory_in_the_middle_of_the_heap_is_given_back() {
        const BLOCK: usize = 64 << 10;
        let resident = || {
            let status = std::fs::read_to_string("/proc/self/status").expect("a state");
            let line = status
                .lines()
                .find_map(|line| line.strip_prefix("RssAnon:"));
            let kib = line.and_then(|line| line.split_whitespace().next()?.parse::<usize>().ok());
            kib.expect("a size") << 10
        };
        let mut blocks: Vec<Vec<u8>> = (0..512).map(|_| vec![1; BLOCK]).collect();
        let mut odd = false;
        blocks.retain(|_| {
            odd = !odd;
            odd
        });
        let before = resident();
        release_free_memory();
        let freed = before.saturating_sub(resident());
        assert!(freed > 128 * BLOCK, "{freed} of {} bytes", 256 * BLOCK);
        assert_eq!(std::hint::black_box(blocks).len(), 256);
    }
}
