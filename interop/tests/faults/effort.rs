//! How busy the threads of a process are, as the kernel counts it.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::DirEntry;
use std::time::{Duration, Instant};

/// What a thread has done so far, as its scheduler counts it.
#[derive(Clone, Copy, Debug, Default)]
struct Effort {
    /// On a processor.
    used: Duration,
    /// Waiting for one.
    awaited: Duration,
}

/// The efforts of a process's threads by their numbers.
fn efforts(pid: u32) -> BTreeMap<OsString, Effort> {
    let tasks = std::fs::read_dir(format!("/proc/{pid}/task"));
    let tasks = tasks.into_iter().flatten().flatten();
    let effort = |task: &DirEntry| {
        let text = std::fs::read_to_string(task.path().join("schedstat")).ok()?;
        let mut nanos = text.split_whitespace().map_while(|word| word.parse().ok());
        Some(Effort {
            used: Duration::from_nanos(nanos.next()?),
            awaited: Duration::from_nanos(nanos.next()?),
        })
    };
    tasks
        .filter_map(|task| Some((task.file_name(), effort(&task)?)))
        .collect()
}

/// How busy the busiest thread of a process is during `watch`: its share of the processor time that
/// it could have had. Time in which others kept it from running is left out, so that a thread that
/// never rests has 1 on a busy machine too.
pub(crate) fn busiest_thread(pid: u32, watch: Duration) -> f64 {
    let (began, before) = (Instant::now(), efforts(pid));
    std::thread::sleep(watch);
    let (after, elapsed) = (efforts(pid), began.elapsed());
    let share = |(thread, now): (&OsString, &Effort)| {
        let before = before.get(thread).copied().unwrap_or_default();
        let used = now.used.saturating_sub(before.used);
        let had = elapsed.saturating_sub(now.awaited.saturating_sub(before.awaited));
        used.as_secs_f64() / had.max(used).as_secs_f64().max(f64::EPSILON)
    };
    after.iter().map(share).fold(0.0, f64::max)
}
