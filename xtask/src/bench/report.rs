//! The tables for people, made from the records alone.

use std::fmt::Write;

use super::record::{Record, Standing, Verdict};

const FOOT: &str = "
### How to read the tables

- The programs take turns within each round, in reversed order in every second one. Only neighbours
  in time compare on a machine whose speed varies.
- **Targets**: `value` is the ratio tapeline / peer, the median of the rounds' ratios. Without a
  peer it is the median itself. *Against* is the peer that the target names, else the peer with the
  best median of the row. *#* is the number of the target; 0 compares tapeline with itself without
  one technique.
- **Figures**: a cell is the median of the rounds and, in brackets, the best round, which is the
  closest to a quiet machine.
- Rates and bytes are the receiver's. CPU time is that of both processes, from their clocks, over
  what the receiver got. Memory is `VmHWM`.
- A packet socket at the receiver's interface saw the gaps of paced datagrams, with the kernel's
  timestamps. Datagrams of one segmented send arrive as one packet there. The gap after such a
  packet is compared with the time of all its datagrams.
- tapeline runs under the name `iperf` at both ends unless the table says otherwise. A program that
  failed has its last message below its table.
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
            "### Targets\n\n{} targets: {} missed, {} met, {} of these with the stretch goal; {} could not be judged.\n",
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
    line(
        &mut text,
        "| # | Workload | Figure | Against | Value | Must | Stretch | |\n|--:|---|---|---|--:|---|---|---|".to_owned(),
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
    line(&mut text, "\n### Figures".to_owned());
    for record in records {
        text += &figures(record);
    }
    text += FOOT;
    text
}

/// A bar as a line of a table.
pub(crate) fn bar_line(record: &Record, verdict: &Verdict) -> String {
    let value = verdict.value.map_or("-".to_owned(), significant);
    let stretch = verdict.stretch.map(|bound| bound.to_string());
    let standing = match verdict.standing() {
        Standing::Stretch => "met, stretch too",
        Standing::Must => "met",
        Standing::Missed => "**missed**",
        Standing::Unknown => "not judged",
    };
    format!(
        "| {} | {} | {} | {} | {value} | {} | {} | {standing} |",
        verdict.number,
        record.heading(),
        verdict.quantity.name(),
        verdict.against.as_deref().unwrap_or("-"),
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

/// The table of a record.
fn figures(record: &Record) -> String {
    let mut text = String::new();
    let about = &record.circumstances;
    let mut quantities: Vec<_> = record
        .entries
        .iter()
        .flat_map(|entry| entry.samples.iter().flatten())
        .flat_map(|sample| sample.keys().copied())
        .collect();
    quantities.sort_unstable();
    quantities.dedup();
    write!(text, "\n#### {} (`{}`)\n\n|", record.heading(), record.row).expect("memory");
    for quantity in &quantities {
        let unit = match quantity.unit() {
            "" => String::new(),
            unit => format!(", {unit}"),
        };
        write!(text, " | {}{unit}", quantity.name()).expect("memory");
    }
    let columns = "--:|".repeat(quantities.len());
    writeln!(text, " |\n|---|{columns}").expect("memory");
    for entry in &record.entries {
        write!(text, "| {}", entry.name).expect("memory");
        for quantity in &quantities {
            let cell = match entry.figures(*quantity) {
                Some((median, best)) => {
                    format!("{} ({})", quantity.shown(median), quantity.shown(best))
                }
                None => "-".to_owned(),
            };
            write!(text, " | {cell}").expect("memory");
        }
        writeln!(text, " |").expect("memory");
    }
    writeln!(
        text,
        "\n{} rounds of {} s on {}, load average {} before;\n{}, Linux {}.",
        about.rounds, about.seconds, about.date, about.load, about.machine, about.kernel
    )
    .expect("memory");
    if !record.absent.is_empty() {
        writeln!(text, "Not here: {}.", record.absent).expect("memory");
    }
    for entry in &record.entries {
        if let Some(failure) = &entry.failure {
            let first: String = failure.lines().take(2).collect::<Vec<_>>().join("; ");
            writeln!(text, "{}: `{}`", entry.name, first.replace('`', "'")).expect("memory");
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
    fn targets_and_figures_are_shown() {
        let quantity = Quantity::Throughput;
        let bars = [
            Bar::new(1, quantity, Bound::AtLeast(1.0)).stretch(Bound::AtLeast(1.4)),
            Bar::new(2, quantity, Bound::AtLeast(3.0)),
        ];
        let entries: [(&str, &[f64]); 2] = [("tapeline", &[2.0, 3.0]), ("peer", &[1.0, 2.0])];
        let text = markdown(&[record(quantity, &entries, &bars)]);
        for part in [
            "2 targets: 1 missed, 1 met, 1 of these with the stretch goal; 0 could not be judged.",
            "| 1 | A row, loopback | throughput | peer | 1.75 | >= 1 | >= 1.4 | met, stretch too |",
            "| 2 | A row, loopback | throughput | peer | 1.75 | >= 3 |  | **missed** |",
            "| tapeline | 2.50 (3.00) |",
            "3 rounds of 1 s on 2026-11-21, load average 0.1 before;\nm, Linux 6.18.",
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
