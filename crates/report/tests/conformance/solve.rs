//! Finds exact values behind rounded figures: bytes and a length that print as recorded.

use tapeline_base::{FormatLetter, format_quantity};
use tapeline_report::Build;

/// Bytes and seconds.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Solution {
    pub(crate) bytes: u64,
    pub(crate) seconds: f64,
}

impl Solution {
    /// Bytes per second as a row computes them.
    pub(crate) fn rate(self, start: f64, build: Build) -> f64 {
        if start + self.seconds < least_end(build) || self.seconds <= 0.0 {
            0.0
        } else {
            self.bytes as f64 / self.seconds
        }
    }
}

/// A row that ends before this has rate 0 in iperf 2.2.1, whatever was transferred.
fn least_end(build: Build) -> f64 {
    match build {
        Build::Plain => 0.005,
        Build::FastSampling => 0.000_05,
    }
}

/// All candidates that print `transfer`, `rate`, and an end of `end` seconds after a
/// start of `start`, within a rate of `limits` (bytes per second).
pub(crate) fn solutions(
    (start, end): (f64, f64),
    (transfer, rate): (&str, &str),
    (format, build): (FormatLetter, Build),
    limits: (f64, f64),
) -> Vec<Solution> {
    let (low, high) = bounds(transfer);
    let (slow, fast) = bounds(rate);
    let (slow, fast) = (slow.max(limits.0), fast.min(limits.1));
    let mut found = Vec::new();
    let decimals = build.decimals();
    let fine = 0.05 * 10f64.powi(-(decimals as i32));
    let around = (-20..=20).map(|step| end - start + f64::from(step) * fine + fine / 50.0);
    let exact = (low + high) / (slow + fast);
    let about = [1.0, 1.002, 0.998, 1.004, 0.996].map(|factor| exact * factor);
    for seconds in about.into_iter().chain(around) {
        let seconds = (seconds * 1e9).round() / 1e9;
        if seconds.is_nan()
            || seconds < 0.0
            || format!("{:.decimals$}", start + seconds) != format!("{end:.decimals$}")
        {
            continue;
        }
        let unmeasurable = fast <= 0.0 || start + seconds < least_end(build);
        let least = if unmeasurable {
            low
        } else {
            low.max(slow * seconds)
        };
        let most = if unmeasurable {
            high
        } else {
            high.min(fast * seconds)
        };
        for part in [10, 5, 15, 1, 19, 11, 12, 13, 8].map(|part| f64::from(part) / 20.0) {
            let bytes = (least + (most - least) * part).round().max(0.0) as u64;
            let solution = Solution { bytes, seconds };
            if prints(solution, start, (transfer, rate), (format, build)) {
                found.push(solution);
            }
        }
    }
    found
}

fn prints(
    solution: Solution,
    start: f64,
    (transfer, rate): (&str, &str),
    (format, build): (FormatLetter, Build),
) -> bool {
    let bytes = format_quantity(solution.bytes as f64, format.in_bytes());
    let speed = format_quantity(solution.rate(start, build), format);
    bytes.trim_start().to_owned() + "s" == transfer
        && speed.trim_start().to_owned() + "s/sec" == rate
}

/// The bytes (or bytes per second) between which a quantity prints like this.
fn bounds(text: &str) -> (f64, f64) {
    let (number, unit) = text.split_once(' ').expect("a quantity");
    let value: f64 = number.parse().expect("a number");
    let decimals = number
        .split_once('.')
        .map_or(0, |(_, decimals)| decimals.len());
    let half = 0.5 * 10f64.powi(-(decimals as i32));
    let base: f64 = if unit.contains("bit") { 1000.0 } else { 1024.0 };
    let exponent = match unit.as_bytes()[0] {
        b'K' => 1,
        b'M' => 2,
        b'G' => 3,
        b'T' => 4,
        _ => 0,
    };
    let scale = base.powi(exponent) / if unit.contains("bit") { 8.0 } else { 1.0 };
    ((value - half) * scale, (value + half) * scale)
}

/// Between which a printed number lies.
pub(crate) fn number_bounds(text: &str) -> (f64, f64) {
    let value: f64 = text.parse().expect("a number");
    let decimals = text
        .split_once('.')
        .map_or(0, |(_, decimals)| decimals.len());
    let half = 0.5 * 10f64.powi(-(decimals as i32));
    (value - half, value + half)
}
