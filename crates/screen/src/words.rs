//! Numbers and sentences of the view.

use std::time::Duration;

use tapeline_report::{LimitVerdict, finding_words, limit_words};
use tapeline_stats::Certainty;

/// A rate with its unit.
pub(crate) fn rate(bits_per_second: f64) -> String {
    scaled(
        bits_per_second,
        1000.0,
        ["bit/s", "kbit/s", "Mbit/s", "Gbit/s", "Tbit/s"],
    )
}

/// A size with its unit.
pub(crate) fn size(bytes: u64) -> String {
    scaled(bytes as f64, 1024.0, ["B", "KiB", "MiB", "GiB", "TiB"])
}

fn scaled(value: f64, step: f64, units: [&str; 5]) -> String {
    let mut index = 0;
    let mut shown = value;
    while shown >= step && index + 1 < units.len() {
        shown /= step;
        index += 1;
    }
    let decimals = match (index, shown) {
        (0, _) => 0,
        (_, shown) if shown < 10.0 => 2,
        (_, shown) if shown < 100.0 => 1,
        _ => 0,
    };
    format!("{shown:.decimals$} {}", units[index])
}

/// Milliseconds, in the digits that they need.
pub(crate) fn millis(millis: f64) -> String {
    let decimals = match millis.abs() {
        size if size < 10.0 => 3,
        size if size < 100.0 => 2,
        _ => 1,
    };
    format!("{millis:.decimals$} ms")
}

/// A share of one, in percent.
pub(crate) fn percent(share: f64) -> String {
    let percent = share * 100.0;
    match percent {
        0.0 => "0 %".to_owned(),
        small if small < 0.01 => "<0.01 %".to_owned(),
        small if small < 10.0 => format!("{small:.2} %"),
        large => format!("{large:.1} %"),
    }
}

/// Minutes and seconds; hours when there are any.
pub(crate) fn clock(span: Duration) -> String {
    let seconds = span.as_secs();
    let (hours, minutes, seconds) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    if hours > 0 {
        format!("{hours}:{minutes:02}:{seconds:02}")
    } else {
        format!("{minutes:02}:{seconds:02}")
    }
}

/// What limited a test, and what says so.
pub(crate) fn verdict(limit_verdict: &LimitVerdict) -> String {
    let verdict = &limit_verdict.verdict;
    let way = if limit_verdict.local_sends {
        "sending"
    } else {
        "receiving"
    };
    let mut text = match (verdict.limited_by, verdict.certainty) {
        (None, _) => format!("{way}: the limit is not known"),
        (Some(limit), certainty) => {
            let sure = match certainty {
                Certainty::High => "high confidence",
                Certainty::Medium => "medium confidence",
                Certainty::Low => "low confidence",
            };
            format!("{way} limited by {}, {sure}", limit_words(limit))
        }
    };
    for finding in &verdict.findings {
        text.push_str("; ");
        text.push_str(&finding_words(finding));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_fit_their_units() {
        assert_eq!(rate(0.0), "0 bit/s");
        assert_eq!(rate(941.5e6), "942 Mbit/s");
        assert_eq!(rate(9.414e9), "9.41 Gbit/s");
        assert_eq!(size(1536), "1.50 KiB");
        assert_eq!(millis(0.4216), "0.422 ms");
        assert_eq!(millis(123.45), "123.5 ms");
        assert_eq!(percent(0.0), "0 %");
        assert_eq!(percent(0.0123), "1.23 %");
        assert_eq!(clock(Duration::from_millis(67_900)), "01:07");
        assert_eq!(clock(Duration::from_secs(3661)), "1:01:01");
    }
}
