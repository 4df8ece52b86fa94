//! Reading what is peculiar to a mode.

/// Frames of an isochronous sender: sent, missed, slipped.
pub(crate) fn frames_sent(output: &str) -> Option<[u64; 3]> {
    last_row(output, |row| {
        // A receiver's row counts reads in such a form.
        let mut words = row.split_whitespace();
        if row.contains("%)") {
            return None;
        }
        words.find(|word| *word == "us" || *word == "pps")?;
        words.find_map(slashed::<3>)
    })
}

/// Frames of an isochronous UDP receiver: received, lost.
pub(crate) fn frames_received(output: &str) -> Option<[u64; 2]> {
    last_row(output, |row| {
        let (_, rest) = row.split_once(" pps  ")?;
        slashed::<2>(rest.split_whitespace().next()?)
    })
}

/// Number of round trips, and the bytes sent and received, which 2.1.8 does not print.
pub(crate) fn round_trips(output: &str) -> Option<(u64, Option<(u64, u64)>)> {
    last_row(output, |row| {
        let mut pairs = row
            .split_whitespace()
            .filter_map(|word| word.split_once('='));
        let (count, delays) = pairs.next()?;
        delays.contains('/').then_some(())?;
        let sizes = row.split_once("  Tx=").and_then(|(_, rest)| {
            let (sent, rest) = rest.split_once(" Rx=")?;
            let (received, _) = rest.split_once("  RPS=")?;
            Some((size(sent)?, size(received)?))
        });
        Some((count.parse().ok()?, sizes))
    })
}

/// Quantities print with a unit: `1000 Byte`, `1.95 KByte`.
fn size(text: &str) -> Option<u64> {
    let (number, unit) = text.trim().split_once(' ')?;
    let scale = match unit.trim() {
        "Byte" => 1.0,
        "KByte" => 1024.0,
        "MByte" => 1_048_576.0,
        _ => return None,
    };
    Some((number.parse::<f64>().ok()? * scale).round() as u64)
}

/// The latest row of which `read` can make something.
fn last_row<T>(output: &str, read: impl Fn(&str) -> Option<T>) -> Option<T> {
    let rows = output.lines().filter(|line| line.contains(" sec "));
    rows.rev().find_map(read)
}

/// Numbers between slashes, exactly so many.
fn slashed<const N: usize>(word: &str) -> Option<[u64; N]> {
    let numbers: Option<Vec<u64>> = word.split('/').map(|number| number.parse().ok()).collect();
    numbers?.try_into().ok()
}
