//! Figures as iperf 2.2.1 prints them.

use tapeline_base::{BitRate, FormatLetter, format_quantity};
use tapeline_stats::Moments;

use crate::model::Span;
use crate::style::Build;

/// Delays outside these bounds, in seconds, come from clocks that disagree.
const PLAUSIBLE_TRANSIT: std::ops::RangeInclusive<f64> = -1e4..=6e7;
/// Power and bytes on their way below this come from such clocks too.
const OUT_OF_BOUNDS: f64 = -1e7;

/// `0.00-1.00 sec`, with four decimals in the text of the other build.
pub(crate) fn interval(span: Span, build: Build) -> String {
    format!(
        "{:4.decimals$}-{:4.decimals$} sec",
        span.start.as_secs_f64(),
        span.end.as_secs_f64(),
        decimals = build.decimals()
    )
}

/// `1.26 GBytes`.
pub(crate) fn transfer(bytes: u64, format: FormatLetter) -> String {
    format_quantity(bytes as f64, format.in_bytes()) + "s"
}

/// Bytes per second of a row; 0 for one without length. (2.2.1 shows 0 for every row that
/// ends within 5 ms, however much was transferred.)
pub(crate) fn bytes_per_second(bytes: u64, span: Span) -> f64 {
    let seconds = span.length().as_secs_f64();
    if seconds <= 0.0 {
        return 0.0;
    }
    bytes as f64 / seconds
}

/// `10.9 Gbits/sec`.
pub(crate) fn rate(bytes: u64, span: Span, format: FormatLetter) -> String {
    format_quantity(bytes_per_second(bytes, span), format) + "s/sec"
}

/// Adaptive bytes without plural: `1.95 KByte`.
pub(crate) fn size(bytes: u64) -> String {
    format_quantity(bytes as f64, FormatLetter::BYTES)
}

/// Adaptive bits of a rate without plural: `50.0 Mbit`.
pub(crate) fn rate_of(rate: BitRate) -> String {
    bits(rate.0 as f64)
}

/// Adaptive bits without plural, of bits per second.
pub(crate) fn bits(per_second: f64) -> String {
    format_quantity(per_second / 8.0, FormatLetter::BITS)
}

/// Bytes on their way: `2.43 KByte`; `OBL` when clocks disagree.
pub(crate) fn in_progress(bytes: Option<f64>) -> String {
    match bytes {
        Some(bytes) if bytes < OUT_OF_BOUNDS => "OBL".to_owned(),
        bytes => format_quantity(bytes.unwrap_or(0.0), FormatLetter::BYTES),
    }
}

/// Packets per second over a span.
pub(crate) fn packets_per_second(packets: u64, span: Span) -> f64 {
    bytes_per_second(packets, span)
}

/// Lost share in percent with two significant digits, as C's `%.2g`.
pub(crate) fn percent(lost: u64, total: u64) -> String {
    if total == 0 {
        return "0".to_owned();
    }
    percentage(100.0 * lost as f64 / total as f64)
}

/// A number of percent with two significant digits, as C's `%.2g`.
pub(crate) fn percentage(value: f64) -> String {
    let scientific = format!("{value:.1e}");
    let Some((mantissa, exponent)) = scientific.split_once('e') else {
        return scientific;
    };
    let exponent: i32 = exponent.parse().unwrap_or(0);
    if (-4..2).contains(&exponent) {
        let decimals = usize::try_from(1 - exponent).unwrap_or(0);
        let fixed = format!("{value:.decimals$}");
        return trim_zeros(&fixed).to_owned();
    }
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{}e{sign}{:02}", trim_zeros(mantissa), exponent.abs())
}

fn trim_zeros(text: &str) -> &str {
    if text.contains('.') {
        text.trim_end_matches('0').trim_end_matches('.')
    } else {
        text
    }
}

/// Network power: 10⁻⁶ · (bytes per second) / (delay in seconds).
pub(crate) fn network_power(bytes_per_second: f64, delay: f64) -> String {
    if delay == 0.0 || !delay.is_finite() {
        return "NAN".to_owned();
    }
    let power = 1e-6 * bytes_per_second / delay;
    if power < OUT_OF_BOUNDS {
        "OBL".to_owned()
    } else if power > 100.0 {
        format!("{power:.0}")
    } else if power > 10.0 {
        format!("{power:.2}")
    } else {
        format!("{power:.6}")
    }
}

/// `avg/min/max/stdev` in milliseconds with three decimals.
pub(crate) fn latency(moments: &Moments) -> String {
    let [mean, min, max] = average_minimum_maximum(moments);
    let deviation = moments.stdev() * 1e3;
    format!("{mean:.3}/{min:.3}/{max:.3}/{deviation:.3}")
}

/// Mean, smallest and largest in milliseconds; zeros without a sample.
pub(crate) fn average_minimum_maximum(moments: &Moments) -> [f64; 3] {
    if moments.count == 0 {
        return [0.0; 3];
    }
    [moments.mean, moments.min, moments.max].map(|seconds| seconds * 1e3)
}

/// Whether receive time minus send stamp may be shown as a delay.
pub(crate) fn plausible_transit(transit: &Moments) -> bool {
    transit.count > 0 && PLAUSIBLE_TRANSIT.contains(&transit.min)
}

/// A count, or `-` when the kernel does not report it.
pub(crate) fn count(value: Option<u64>) -> String {
    value.map_or_else(|| "-".to_owned(), |value| value.to_string())
}

/// Whole KiB of so many bytes.
pub(crate) fn kib(bytes: Option<u64>) -> Option<u64> {
    bytes.map(|bytes| bytes / 1024)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn shares_have_two_significant_digits() {
        for (lost, total, text) in [
            (0, 0, "0"),
            (0, 181, "0"),
            (1, 181, "0.55"),
            (1, 91, "1.1"),
            (1, 98, "1"),
            (90, 181, "50"),
            (834, 836, "1e+02"),
            (1, 1, "1e+02"),
            (77057, 162_788, "47"),
            (9996, 10_000, "1e+02"),
            (994, 1000, "99"),
            (1, 1_000_000, "0.0001"),
            (1, 10_000_000, "1e-05"),
        ] {
            assert_eq!(percent(lost, total), text, "{lost}/{total}");
        }
    }

    #[test]
    fn power_changes_its_precision_with_its_size() {
        assert_eq!(network_power(1e9, 1e-3), "1000000");
        assert_eq!(network_power(1.3e6, 29_690e-6), "43.79");
        assert_eq!(network_power(56_270.0, 29_690e-6), "1.895251");
        assert_eq!(network_power(1e9, 0.0), "NAN");
        assert_eq!(network_power(1e9, -1e-6), "OBL");
    }

    #[test]
    fn a_short_row_has_a_rate_and_one_without_length_none() {
        let mut span = Span {
            start: Duration::ZERO,
            end: Duration::from_millis(4),
        };
        let shown = |span| rate(1 << 20, span, FormatLetter::BITS);
        assert_eq!(shown(span), "2.10 Gbits/sec");
        span.end = Duration::ZERO;
        assert_eq!(shown(span), "0.000 bits/sec");
    }
}
