//! Reading the clocks of a Unix system.

use rustix::time::{ClockId, Timespec, clock_gettime};

#[inline]
pub(crate) fn monotonic_nanos() -> u64 {
    let time = clock_gettime(ClockId::Monotonic);
    (time.tv_sec as u64).wrapping_mul(1_000_000_000).wrapping_add(time.tv_nsec as u64)
}

#[inline]
pub(crate) fn wall_nanos() -> i64 {
    nanos(clock_gettime(ClockId::Realtime))
}

#[inline]
fn nanos(time: Timespec) -> i64 {
    (time.tv_sec as i64).saturating_mul(1_000_000_000).saturating_add(time.tv_nsec as i64)
}
