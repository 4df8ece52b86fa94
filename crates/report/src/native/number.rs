//! Numbers as people read them: three significant digits, with the unit that suits.

use tapeline_base::FormatLetter;

use super::unit::{Unit, rate_units, size_units};

/// Decimals that leave three significant digits, at most three of them.
pub(crate) fn decimals(value: f64) -> usize {
    match value.abs() {
        small if small < 0.9995 => 3,
        units if units < 9.995 => 2,
        tens if tens < 99.95 => 1,
        _ => 0,
    }
}

/// `939`, `94.1`, `9.41`, `0.195`; whole from 1000 on. What the decimals would hide is `<0.001`.
#[must_use]
pub fn digits(value: f64) -> String {
    if value == 0.0 {
        return "0".to_owned();
    }
    if value > 0.0 && value < 0.0005 {
        return "<0.001".to_owned();
    }
    let decimals = decimals(value);
    format!("{value:.decimals$}")
}

/// A share of one: `0.195 %`.
#[must_use]
pub fn percent(share: f64) -> String {
    format!("{} %", digits(share * 100.0))
}

/// A rate in a sentence: `939 Mbit/s`, `5.89 Gbit/s`.
#[must_use]
pub fn rate(bits_per_second: f64, format: FormatLetter) -> String {
    shown(rate_unit(bits_per_second, format), bits_per_second)
}

/// The unit that suits a rate, or that `-f` names.
pub(crate) fn rate_unit(bits_per_second: f64, format: FormatLetter) -> Unit {
    suited(&rate_units(format), bits_per_second, format)
}

/// A size in a sentence: `561 MiB`, `1.10 GiB`.
pub(crate) fn size(bytes: u64, format: FormatLetter) -> String {
    let bytes = bytes as f64;
    shown(suited(&size_units(), bytes, format), bytes)
}

/// The size of a buffer or of a write: `16 KiB`; whole where it is whole in its unit.
pub(crate) fn whole_size(bytes: u64) -> String {
    let unit = suited(&size_units(), bytes as f64, FormatLetter::BITS);
    let value = unit.of(bytes as f64);
    if value.fract() == 0.0 {
        format!("{value} {}", unit.label)
    } else {
        shown(unit, bytes as f64)
    }
}

fn shown(unit: Unit, value: f64) -> String {
    format!("{} {}", in_unit(unit, value), unit.label)
}

/// A value in a unit, without its name; single bits and bytes are exact.
#[must_use]
pub fn in_unit(unit: Unit, value: f64) -> String {
    if unit.is_single() {
        return format!("{value:.0}");
    }
    digits(unit.of(value))
}

fn suited(units: &[Unit; 5], value: f64, format: FormatLetter) -> Unit {
    match Unit::named(format) {
        Some(named) => units[named],
        None => {
            let fits = |unit: &&Unit| unit.of(value) >= 0.9995;
            units.iter().rev().find(fits).copied().unwrap_or(units[0])
        }
    }
}

/// Milliseconds of a time in seconds, which is not below 0.
#[must_use]
pub fn millis(seconds: f64) -> String {
    digits(seconds.max(0.0) * 1e3)
}

/// A delay by two clocks with its unit: `1.06 ms`, or `below 0.02 ms` where the error, which is not below 0, is
/// larger than the delay. All in seconds.
pub(crate) fn delay(seconds: f64, error: f64) -> String {
    if seconds > error {
        return format!("{} ms", millis(seconds));
    }
    let most = (seconds.max(0.0) + error).max(0.000_001);
    format!("below {} ms", small(most * 1e3))
}

/// An error or the offset of a clock: two decimals, three below 0.01.
pub(crate) fn small(value: f64) -> String {
    match value {
        tiny if tiny < 0.0005 => "0.001".to_owned(),
        fine if fine < 0.01 => format!("{fine:.3}"),
        large if large < 10.0 => format!("{large:.2}"),
        _ => digits(value),
    }
}

/// Seconds as they were requested: `5`, `0.2`.
pub(crate) fn seconds(seconds: f64) -> String {
    format!("{seconds}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_significant_digits() {
        for (value, expected) in [
            (0.0, "0"),
            (0.000_1, "<0.001"),
            (0.0005, "0.001"),
            (0.042_3, "0.042"),
            (0.195_2, "0.195"),
            (0.999_4, "0.999"),
            (0.999_6, "1.00"),
            (9.414, "9.41"),
            (9.996, "10.0"),
            (94.12, "94.1"),
            (99.94, "99.9"),
            (99.96, "100"),
            (938.5, "938"),
            (999.6, "1000"),
            (5888.8, "5889"),
            (123_456.7, "123457"),
            (-4.923, "-4.92"),
        ] {
            assert_eq!(digits(value), expected, "{value}");
        }
    }

    #[test]
    fn units_of_sentences() {
        let bits = |value| rate(value, FormatLetter::BITS);
        for (value, expected) in [
            (0.0, "0 bit/s"),
            (64e3, "64.0 kbit/s"),
            (1.048e6, "1.05 Mbit/s"),
            (938.7e6, "939 Mbit/s"),
            (999.7e6, "1.00 Gbit/s"),
            (5.8888e9, "5.89 Gbit/s"),
            (25e12, "25.0 Tbit/s"),
        ] {
            assert_eq!(bits(value), expected, "{value}");
        }
        assert_eq!(rate(5e9, FormatLetter::new('m')), "5000 Mbit/s");
        assert_eq!(rate(8e6, FormatLetter::new('B')), "1000000 B/s");
        for (bytes, expected) in [
            (0, "0 B"),
            (1470, "1.44 KiB"),
            (131_072, "128 KiB"),
            (588_251_136, "561 MiB"),
            (1_176_502_272, "1.10 GiB"),
        ] {
            assert_eq!(size(bytes, FormatLetter::BITS), expected, "{bytes}");
        }
        for (bytes, expected) in [
            (0, "0 B"),
            (16_384, "16 KiB"),
            (131_072, "128 KiB"),
            (1470, "1.44 KiB"),
        ] {
            assert_eq!(whole_size(bytes), expected, "{bytes}");
        }
    }

    #[test]
    fn a_delay_is_never_below_nothing() {
        for (seconds, error, expected) in [
            (0.001_06, 0.000_05, "1.06 ms"),
            (0.047_31, 0.0, "47.3 ms"),
            (0.000_008, 0.000_02, "below 0.03 ms"),
            (-0.000_4, 0.000_02, "below 0.02 ms"),
            (-0.000_4, 0.0, "below 0.001 ms"),
        ] {
            assert_eq!(delay(seconds, error), expected, "{seconds} {error}");
        }
        assert_eq!(millis(-0.001), "0");
    }

    #[test]
    fn shares_and_errors() {
        for (share, expected) in [
            (0.0, "0 %"),
            (0.001_952, "0.195 %"),
            (0.0055, "0.550 %"),
            (0.47, "47.0 %"),
            (1e-9, "<0.001 %"),
        ] {
            assert_eq!(percent(share), expected, "{share}");
        }
        for (value, expected) in [
            (0.0, "0.001"),
            (0.004, "0.004"),
            (0.05, "0.05"),
            (1.234, "1.23"),
            (12.34, "12.3"),
        ] {
            assert_eq!(small(value), expected, "{value}");
        }
        assert_eq!(seconds(5.0), "5");
        assert_eq!(seconds(0.2), "0.2");
    }
}
