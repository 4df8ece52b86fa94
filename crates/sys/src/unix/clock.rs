//! Reading the clocks of a Unix system.

use rustix::time::{ClockId, Timespec, clock_gettime};

#[inline]
pub(crate) fn monotonic_nanos() -> u64 {
    // The monotonic clock is never negative.
    nanos(clock_gettime(ClockId::Monotonic)).unsigned_abs()
}

#[inline]
pub(crate) fn wall_nanos() -> i64 {
    nanos(clock_gettime(ClockId::Realtime))
}

#[inline]
fn nanos(time: Timespec) -> i64 {
    #[allow(clippy::useless_conversion, reason = "the widths depend on the system")]
    let (seconds, nanos) = (i64::from(time.tv_sec), i64::from(time.tv_nsec));
    seconds.saturating_mul(1_000_000_000).saturating_add(nanos)
}
