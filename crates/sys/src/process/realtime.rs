//! Running before all other programs (`-z`).

use std::io;

use crate::platform::process as system;

/// What the system granted of a wish for realtime; the run goes on without the rest.
#[derive(Debug)]
pub struct Realtime {
    /// Round-robin realtime scheduling at the highest priority (Linux, FreeBSD: `SCHED_RR`).
    pub scheduling: io::Result<()>,
    /// All memory stays resident (`mlockall(2)`), also what is allocated later. A process
    /// whose locked memory is limited locks only what it has: an allocation above the limit
    /// would fail.
    pub memory: io::Result<()>,
}

impl Realtime {
    /// Asks for it, for the calling thread and all threads that it starts from now on. Both
    /// parts usually need privileges (Linux: `CAP_SYS_NICE` and `CAP_IPC_LOCK`).
    #[must_use]
    pub fn enter() -> Self {
        Self {
            scheduling: system::schedule(),
            memory: system::lock_memory(),
        }
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;
    use std::thread;

    fn policy() -> i64 {
        let stat = std::fs::read_to_string("/proc/thread-self/stat").unwrap();
        // Field 41 of proc_pid_stat(5); the name in field 2 may hold blanks.
        let fields = stat.rsplit_once(')').unwrap().1;
        fields.split_whitespace().nth(38).unwrap().parse().unwrap()
    }

    #[test]
    fn threads_inherit_what_was_granted_and_a_refusal_says_why() {
        // On a thread of its own: the other tests keep their scheduling.
        let (granted, inherited) = thread::spawn(|| {
            let granted = system::schedule();
            (granted, thread::spawn(policy).join().unwrap())
        })
        .join()
        .unwrap();
        match granted {
            Ok(()) => assert_eq!(inherited, i64::from(libc::SCHED_RR)),
            Err(error) => assert_eq!(error.kind(), io::ErrorKind::PermissionDenied),
        }
        assert_eq!(policy(), i64::from(libc::SCHED_OTHER));
    }
}
