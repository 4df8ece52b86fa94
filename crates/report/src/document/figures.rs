//! Numbers and times as documents write them.

use std::time::Duration;

use tapeline_base::WallTime;

use crate::calendar::Calendar;

/// A span in seconds, to the nanosecond.
pub(crate) fn seconds(span: Duration) -> f64 {
    (span.as_secs_f64() * 1e9).round() / 1e9
}

/// Seconds to the nanosecond.
pub(crate) fn rounded_seconds(seconds: f64) -> f64 {
    (seconds * 1e9).round() / 1e9
}

/// Seconds as milliseconds, to the nanosecond; `None` when they are no number.
pub(crate) fn millis(seconds: f64) -> Option<f64> {
    seconds.is_finite().then(|| (seconds * 1e9).round() / 1e6)
}

/// Microseconds as milliseconds.
pub(crate) fn micros_as_millis(micros: u32) -> f64 {
    f64::from(micros) / 1e3
}

/// Percent to a thousandth.
pub(crate) fn rounded(percent: f64) -> f64 {
    (percent * 1e3).round() / 1e3
}

/// Bits per second, to a thousandth; unknown over no time.
pub(crate) fn rate(bytes: u64, seconds: f64) -> Option<f64> {
    (seconds > 0.0).then(|| (bytes as f64 * 8e3 / seconds).round() / 1e3)
}

/// RFC 3339, universal time.
pub(crate) fn time(at: WallTime) -> String {
    Calendar::new(true).rfc3339(at)
}
