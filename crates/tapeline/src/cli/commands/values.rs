//! Values of these options.

use std::time::Duration;

/// Milliseconds of an age: `12h`, `90d`, `12w`, `1y`; a year has 365 days.
pub(crate) fn age(text: &str) -> Option<i64> {
    let unit = text.chars().last()?;
    let hours = match unit {
        'h' => 1,
        'd' => 24,
        'w' => 7 * 24,
        'y' => 365 * 24,
        _ => return None,
    };
    let number: i64 = text.strip_suffix(unit)?.parse().ok()?;
    number
        .checked_mul(hours * 3_600_000)
        .filter(|age| *age >= 0)
}

/// A share of one from a percentage, with or without its sign: 0 to 100.
pub(crate) fn share(text: &str) -> Option<f64> {
    let number = text.strip_suffix('%').unwrap_or(text).trim();
    let percent: f64 = number.parse().ok()?;
    (0.0..=100.0).contains(&percent).then_some(percent / 100.0)
}

/// A pause, at most a day.
pub(crate) fn pause(text: &str) -> Option<Duration> {
    let seconds: f64 = text.parse().ok()?;
    (0.0..=86_400.0)
        .contains(&seconds)
        .then(|| Duration::from_secs_f64(seconds))
}

/// A time of at least a minute: `90s`, `30m`, `6h`, `2d`, `4w`.
#[cfg(feature = "fleet")]
pub(crate) fn span(text: &str) -> Option<Duration> {
    let unit = text.chars().last()?;
    let seconds = match unit {
        's' => 1,
        'm' => 60,
        'h' => 3600,
        'd' => 86_400,
        'w' => 7 * 86_400,
        _ => return None,
    };
    let number: u32 = text.strip_suffix(unit)?.parse().ok()?;
    let seconds = u64::from(number) * seconds;
    (60..=366 * 86_400)
        .contains(&seconds)
        .then(|| Duration::from_secs(seconds))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_read_and_others_are_none() {
        assert_eq!(age("2h"), Some(7_200_000));
        assert_eq!(age("1y"), Some(365 * 86_400_000));
        for bad in ["", "h", "1", "1m", "-1d", "1.5d", "99999999999999999d"] {
            assert_eq!(age(bad), None, "{bad}");
        }
        assert_eq!(share("2.5%"), Some(0.025));
        assert_eq!((share("101"), share("-1"), share("x")), (None, None, None));
        assert_eq!(pause("0.5"), Some(Duration::from_millis(500)));
        assert_eq!((pause("-1"), pause("nan")), (None, None));
    }

    #[cfg(feature = "fleet")]
    #[test]
    fn spans_are_a_minute_or_longer() {
        assert_eq!(span("90s"), Some(Duration::from_secs(90)));
        assert_eq!(span("2w"), Some(Duration::from_secs(14 * 86_400)));
        for bad in ["", "m", "30", "59s", "-1h", "1.5h", "53w", "1y", "é"] {
            assert_eq!(span(bad), None, "{bad}");
        }
    }
}
