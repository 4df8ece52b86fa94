//! The rounds of a row, in which the contenders take turns.

use super::contender::Contender;
use super::quantity::Sample;
use super::record::{Circumstances, Entry, Record};
use super::row::{Row, Workload};
use super::session::Site;
use super::{datagrams, exchange, standing, streams};
use crate::shell::Result;

/// Rounds up to which each sample is printed; the figures of more say less one by one.
const FEW: usize = 20;
/// Failures after which a contender no longer takes part in a row.
const MAX_FAILURES: usize = 2;

/// Runs all contenders in every round, forwards and backwards in turn, and judges the bars. A
/// failure costs its contender the round.
pub(crate) fn hold(row: &Row, site: &Site<'_>, circumstances: Circumstances) -> Record {
    let kind = (!row.paths.is_empty()).then(|| site.path.kind());
    let mut record = Record {
        row: row.name.clone(),
        title: row.title.clone(),
        path: kind.map(|kind| kind.to_string()),
        congestion: site.congestion.map(|congestion| congestion.to_string()),
        absent: row.absent.to_owned(),
        entries: row.contenders.iter().map(entry).collect(),
        circumstances,
        verdicts: Vec::new(),
    };
    println!("{}", record.heading());
    let rounds = record.circumstances.rounds;
    rounds_of(&mut record.entries, rounds, |index| {
        run(row, &row.contenders[index], site)
    });
    record.judge(&row.bars_on(kind, site.congestion));
    record
}

fn entry(contender: &Contender) -> Entry {
    let mut entry = Entry::new(contender.label(), contender.is_peer());
    entry.failure = contender
        .missing()
        .map(|tool| format!("{} is not here", tool.label()));
    entry
}

/// Fills the entries, one sample for each round; a contender that is missing or fails again and
/// again is left out.
fn rounds_of(entries: &mut [Entry], rounds: usize, run: impl Fn(usize) -> Result<Sample>) {
    let missing: Vec<bool> = entries
        .iter()
        .map(|entry| entry.failure.is_some())
        .collect();
    for round in 0..rounds {
        let mut order: Vec<usize> = (0..entries.len()).collect();
        if round % 2 == 1 {
            order.reverse();
        }
        for index in order {
            let entry = &mut entries[index];
            let failures = entry.samples.iter().filter(|sample| sample.is_none());
            let sample = if missing[index] || failures.count() >= MAX_FAILURES {
                None
            } else {
                run(index)
                    .inspect(|sample| {
                        if rounds <= FEW {
                            println!("  {} {}: {}", round + 1, entry.name, shown(sample));
                        }
                    })
                    .inspect_err(|error| {
                        println!("  {} {}: {error}", round + 1, entry.name);
                        entry.failure = Some(error.clone());
                    })
                    .ok()
            };
            entry.samples.push(sample);
        }
    }
}

fn shown(sample: &Sample) -> String {
    let figures: Vec<String> = sample
        .iter()
        .map(|(quantity, value)| {
            let (name, unit) = (quantity.name(), quantity.unit());
            format!("{name} {} {unit}", quantity.shown(*value))
        })
        .collect();
    figures.join("; ")
}

fn run(row: &Row, contender: &Contender, site: &Site<'_>) -> Result<Sample> {
    match row.workload {
        Workload::Streams(plan) => streams::run(&plan, contender, site),
        Workload::Flood { length, flows } => datagrams::flood(length, flows, contender, site),
        Workload::Paced { rate } => datagrams::paced(rate, contender, site),
        Workload::Exchange { transport, place } => exchange::run(transport, place, contender, site),
        Workload::Connects => exchange::connects(contender, site),
        Workload::Starts => standing::starts(contender),
        Workload::StartMemory => standing::start_memory(contender),
        Workload::Idle => standing::idle(contender, site),
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use super::*;
    use crate::bench::quantity::Quantity;

    fn entries() -> Vec<Entry> {
        ["a", "b"]
            .map(|name| Entry::new(name.to_owned(), true))
            .into()
    }

    #[test]
    fn the_contenders_alternate() {
        let order = RefCell::new(Vec::new());
        let mut entries = entries();
        rounds_of(&mut entries, 2, |index| {
            order.borrow_mut().push(index);
            Ok(Sample::from([(Quantity::Loss, index as f64)]))
        });
        assert_eq!(order.into_inner(), [0, 1, 1, 0]);
        assert_eq!(entries[1].figures(Quantity::Loss), Some((1.0, 1.0)));
    }

    #[test]
    fn a_contender_that_fails_does_not_hold_the_others_up() {
        let calls = RefCell::new([0; 2]);
        let mut entries = entries();
        rounds_of(&mut entries, 5, |index| {
            calls.borrow_mut()[index] += 1;
            if index == 0 {
                Err("it hangs".to_owned())
            } else {
                Ok(Sample::new())
            }
        });
        assert_eq!(calls.into_inner(), [MAX_FAILURES, 5]);
        assert_eq!(entries[0].failure.as_deref(), Some("it hangs"));
        assert!(entries.iter().all(|entry| entry.samples.len() == 5));
    }
}
