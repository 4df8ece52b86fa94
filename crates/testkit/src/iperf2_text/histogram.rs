//! The grammar of histogram lines.

use super::kind::{Distribution, LineKind};
use super::template::{matches, prefix};

/// Names as 2.2.1 prints them; three of them bring a blank of their own.
const NAMES: &[(Distribution, &str)] = &[
    (Distribution::Transit, "T8"),
    (Distribution::Frame, "F8"),
    (Distribution::Jitter, "J8"),
    (Distribution::Write, "W8"),
    (Distribution::RoundTrip, " BB8"),
    (Distribution::OneWaySent, " OWD-TX"),
    (Distribution::OneWayReceived, " OWD-RX"),
];

/// Parses what follows the interval and one blank. Fields: width with its unit, count,
/// bins as printed (`1:44,2:1`, or nothing), lower and upper share, first bin beyond the
/// lower share, beyond the upper share and beyond 99.7 %, outliers, samples below and
/// above, and, when they are known, the maximum in milliseconds and its time.
pub(crate) fn parse(rest: &str) -> Option<(LineKind, Vec<&str>)> {
    let (distribution, rest) = NAMES
        .iter()
        .find_map(|(kind, name)| Some((*kind, rest.strip_prefix(name)?)))?;
    let (kind, rest) = match rest.strip_prefix("(f)") {
        Some(rest) => (LineKind::FinalHistogram(distribution), rest),
        None => (LineKind::Histogram(distribution), rest),
    };
    let mut fields = Vec::new();
    let rest = prefix("-PDF: bin(w={text}):cnt({n})", rest, &mut fields)?;
    let (bins, rest) = rest.split_once(" (")?;
    let bins = if bins.is_empty() {
        bins
    } else {
        bins.strip_prefix('=').filter(|bins| are_bins(bins))?
    };
    fields.push(bins);
    let more = FORMS.iter().find_map(|form| matches(form, rest))?;
    fields.extend(more);
    Some((kind, fields))
}

const FORMS: &[&str] = &[
    "{f2}/{f2}/99.7%={n}/{n}/{n},Outliers={n},obl/obu={n}/{n})",
    "{f2}/{f2}/99.7%={n}/{n}/{n},Outliers={n},obl/obu={n}/{n}) ({f3} ms/{n}.{n})",
    "{f2}/99.7/{f2}/%={n}/{n}/{n},Outliers={n},obl/obu={n}/{n})",
    "{f2}/99.7/{f2}/%={n}/{n}/{n},Outliers={n},obl/obu={n}/{n}) ({f3} ms/{n}.{n})",
];

/// `1:44,2:1`, ascending.
fn are_bins(text: &str) -> bool {
    let mut last = 0;
    text.split(',').all(|bin| {
        let numbers = bin
            .split_once(':')
            .and_then(|(bin, count)| Some((bin.parse::<u32>().ok()?, count.parse::<u64>().ok()?)));
        numbers.is_some_and(|(bin, _)| std::mem::replace(&mut last, bin) < bin)
    })
}
