//! The tables for people, made from the records alone.

use std::fmt::Write;

use super::record::{Entry, Record, Standing, Verdict};

const FOOT: &str = "
How to read the table:

- The programs take turns within each round, in reversed order in every second one. Only neighbours
  in time compare on a machine whose speed varies.
- *tapeline* and *Peer* are medians of all rounds. *Ratio* is the median of the rounds' ratios
  tapeline / peer, and what the target bounds. Without a peer the target bounds the median itself.
- *Peer* is the program that the target names, else the one with the best median. *#* is the number
  of the target; 0 compares tapeline with itself without one technique.
- Rates and bytes are the receiver's. CPU time is that of both processes, from their clocks, over
  what the receiver got. Memory is `VmHWM`.
- A packet socket at the receiver's interface saw the gaps of paced datagrams, with the kernel's
  timestamps. Datagrams of one segmented send arrive as one packet there. The gap after such a
  packet is compared with the time of all its datagrams.
- tapeline runs under the name `iperf` at both ends unless the table names another.
- The rate error is compared with 0.005 % or one datagram, whichever is more.
- netperf and neper are not in Debian. Their rows compare with the best program that is available.
";

/// The records as parts of a Markdown page.
pub(crate) fn markdown(records: &[Record]) -> String {
    let mut text = String::new();
    let line = |text: &mut String, words: String| writeln!(text, "{words}").expect("memory");
    let counts = |standing| {
        let verdicts = records.iter().flat_map(|record| &record.verdicts);
        verdicts
            .filter(|verdict| verdict.standing() == standing)
            .count()
    };
    line(
        &mut text,
        format!(
            "{} targets: {} missed, {} met, {} of these with the stretch goal; {} could not be judged.",
            records
                .iter()
                .map(|record| record.verdicts.len())
                .sum::<usize>(),
            counts(Standing::Missed),
            counts(Standing::Must) + counts(Standing::Stretch),
            counts(Standing::Stretch),
            counts(Standing::Unknown),
        ),
    );
    for circumstances in circumstances(records) {
        line(&mut text, circumstances);
    }
    line(
        &mut text,
        "\n| # | Workload | Figure | tapeline | Peer | Ratio | Must | Stretch | |\n\
         |--:|---|---|--:|---|--:|---|---|---|"
            .to_owned(),
    );
    let mut verdicts: Vec<(&Record, &Verdict)> = records
        .iter()
        .flat_map(|record| record.verdicts.iter().map(move |verdict| (record, verdict)))
        .collect();
    // Those of techniques have no number in the targets.
    verdicts.sort_by_key(|(_, verdict)| (verdict.number == 0, verdict.number));
    for (record, verdict) in verdicts {
        line(&mut text, bar_line(record, verdict));
    }
    text += FOOT;
    text + &failures(records)
}

/// When and where the records were measured, each once.
fn circumstances(records: &[Record]) -> Vec<String> {
    let mut all: Vec<String> = records
        .iter()
        .map(|record| &record.circumstances)
        .map(|about| {
            format!(
                "{} rounds of {} s on {}; {}, Linux {}.",
                about.rounds, about.seconds, about.date, about.machine, about.kernel
            )
        })
        .collect();
    all.sort_unstable();
    all.dedup();
    all
}

/// A bar as a line of a table.
pub(crate) fn bar_line(record: &Record, verdict: &Verdict) -> String {
    let quantity = verdict.quantity;
    let median = |entry: &Entry| {
        let figures = entry.figures(quantity);
        figures.map_or("-".to_owned(), |(median, _)| quantity.shown(median))
    };
    let ours = record.entries.first().map_or("-".to_owned(), median);
    let peer = verdict.against.as_ref().map_or("-".to_owned(), |name| {
        let entry = record.entries.iter().find(|entry| entry.name == *name);
        format!("{name}: {}", entry.map_or("-".to_owned(), median))
    });
    let unit = match quantity.unit() {
        "" => String::new(),
        unit => format!(", {unit}"),
    };
    let ratio = verdict.value.filter(|_| verdict.against.is_some());
    let stretch = verdict.stretch.map(|bound| bound.to_string());
    let standing = match verdict.standing() {
        Standing::Stretch => "met, stretch too",
        Standing::Must => "met",
        Standing::Missed => "**missed**",
        Standing::Unknown => "not judged",
    };
    format!(
        "| {} | {} | {}{unit} | {ours} | {peer} | {} | {} | {} | {standing} |",
        verdict.number,
        record.heading(),
        quantity.name(),
        ratio.map_or("-".to_owned(), significant),
        verdict.must,
        stretch.unwrap_or_default(),
    )
}

/// Three digits that matter.
fn significant(value: f64) -> String {
    let digits = match value.abs() {
        0.0 => 0,
        value if value >= 100.0 => 0,
        value if value >= 10.0 => 1,
        value if value >= 1.0 => 2,
        value if value >= 0.1 => 3,
        _ => 4,
    };
    format!("{value:.digits$}")
}

/// Programs that failed in a round.
fn failures(records: &[Record]) -> String {
    let mut text = String::new();
    for record in records {
        let failed = |entry: &&Entry| entry.failure.is_some();
        for entry in record.entries.iter().filter(failed) {
            let (name, heading) = (&entry.name, record.heading());
            writeln!(text, "- {name} failed in a round of \"{heading}\".").expect("memory");
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::quantity::{Bound, Quantity};
    use crate::bench::record::tests::record;
    use crate::bench::row::Bar;

    #[test]
    fn targets_are_shown_with_their_figures() {
        let quantity = Quantity::Throughput;
        let bars = [
            Bar::new(1, quantity, Bound::AtLeast(1.0)).stretch(Bound::AtLeast(1.4)),
            Bar::new(2, quantity, Bound::AtLeast(3.0)),
        ];
        let entries: [(&str, &[f64]); 2] = [("tapeline", &[2.0, 3.0]), ("peer", &[1.0, 2.0])];
        let text = markdown(&[record(quantity, &entries, &bars)]);
        for part in [
            "2 targets: 1 missed, 1 met, 1 of these with the stretch goal; 0 could not be judged.",
            "| 1 | A row, loopback | throughput, Gbit/s | 2.50 | peer: 1.50 | 1.75 | >= 1 | >= 1.4 | met, stretch too |",
            "| 2 | A row, loopback | throughput, Gbit/s | 2.50 | peer: 1.50 | 1.75 | >= 3 |  | **missed** |",
            "3 rounds of 1 s on 2026-11-21; m, Linux 6.18.",
        ] {
            assert!(text.contains(part), "{part}\n{text}");
        }
    }

    #[test]
    fn values_have_three_digits() {
        let shown = [0.0, 0.01234, 0.1234, 1.234, 12.34, 123.4].map(significant);
        assert_eq!(shown, ["0", "0.0123", "0.123", "1.23", "12.3", "123"]);
    }
}
