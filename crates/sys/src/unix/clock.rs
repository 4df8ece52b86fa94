//! Clocks without absolute sleeps.

#[path = "../posix/clock_reading.rs"]
mod clock_reading;
#[path = "../portable/sleep.rs"]
mod sleep;

pub(crate) use clock_reading::{monotonic_nanos, wall_nanos};
pub(crate) use sleep::{set_timer_slack_minimal, sleep_until};
