//! Tests between many hosts in words: the matrix, what stands out, and what has no result.

use std::fmt::Write as _;

use super::cell::{Cell, Outcome};
use super::document::{HostState, MeshDocument};
use super::finding::MatrixQuantity;
use super::numbers::Numbers;
use super::{summary, table};
use crate::render::tame;

/// Columns of a terminal that a matrix may take.
const WIDTH: usize = 100;
/// Findings about paths, and failed tests, that have a line of their own.
const MOST_LINES: usize = 10;
/// Tests that fail alike and are said together.
const LEAST_GROUP: usize = 3;

/// The text, with a line end behind each line.
#[must_use]
pub fn render(document: &MeshDocument) -> String {
    let mut out = String::new();
    for quantity in MatrixQuantity::ALL {
        if let Some(numbers) = Numbers::new(document, quantity) {
            // The narrowest form is no matrix.
            let text = table::of_width(&numbers, WIDTH);
            out.push_str(&text.unwrap_or_else(|| summary::text(&numbers)));
            out.push('\n');
        }
    }
    lines(
        &mut out,
        document.findings.iter().map(|one| one.text.clone()),
        "findings",
    );
    if document.findings.is_empty() && document.notes.is_empty() && measured(document) > 0 {
        out.push_str("No host and no path stands out.\n");
    }
    for note in &document.notes {
        let _ = writeln!(out, "{note}");
    }
    lines(
        &mut out,
        failures(document).into_iter(),
        "tests without a result",
    );
    let (measured, all) = (measured(document), document.run.cells.len());
    let tests = if all == 1 { "test" } else { "tests" };
    let resume = document.run.journal.as_ref().filter(|_| measured < all);
    let resume = resume.map_or_else(String::new, |journal| {
        format!(
            "; `tapeline mesh --resume {}` tries the rest",
            tame(journal)
        )
    });
    let _ = writeln!(out, "{measured} of {all} {tests} measured{resume}");
    out
}

/// The first of some lines, and how many more there are.
fn lines(out: &mut String, all: impl ExactSizeIterator<Item = String>, what: &str) {
    let more = all.len().saturating_sub(MOST_LINES);
    for line in all.take(MOST_LINES) {
        let _ = writeln!(out, "{line}");
    }
    if more > 0 {
        let _ = writeln!(out, "… and {more} more {what}");
    }
}

fn measured(document: &MeshDocument) -> usize {
    let cells = document.run.cells.iter();
    cells.filter(|cell| cell.measured().is_some()).count()
}

/// What has no result, and why: a host in one line, then tests between hosts that were reached.
fn failures(document: &MeshDocument) -> Vec<String> {
    let mut said = Vec::new();
    let mut lost = Vec::new();
    for host in &document.run.hosts {
        let (word, text) = match &host.state {
            HostState::Reached => continue,
            HostState::Unreachable { text } => ("unreachable", text),
            HostState::Dropped { text } => ("dropped", text),
        };
        lost.push(host.name.as_str());
        said.push(format!("{}: {word}: {}", host.name, tame(text)));
    }
    // A host that is lost explains why its tests were not tried.
    let explained = |cell: &&Cell| {
        let untried = matches!(
            cell.outcome,
            Outcome::Unreachable { .. } | Outcome::Skipped { .. }
        );
        untried && (lost.contains(&cell.from.as_str()) || lost.contains(&cell.to.as_str()))
    };
    let failed = document.run.cells.iter();
    let failed = failed.filter(|cell| cell.measured().is_none() && !explained(cell));
    said.extend(grouped(failed.collect()));
    said
}

/// Failed tests with their reasons: those with the same reason and the same receiver, or the same
/// sender, in one line.
fn grouped(failed: Vec<&Cell>) -> Vec<String> {
    let mut said = Vec::new();
    let mut rest = failed;
    while let Some(first) = rest.first().copied() {
        let alike = |cell: &&Cell| cell.outcome == first.outcome;
        let received = rest
            .iter()
            .filter(|cell| alike(cell) && cell.to == first.to)
            .count();
        let sent = rest
            .iter()
            .filter(|cell| alike(cell) && cell.from == first.from)
            .count();
        let by_receiver = received >= sent;
        let ends = match received.max(sent) {
            few if few < LEAST_GROUP => format!("{} → {}", first.from, first.to),
            many if by_receiver => format!("{many} hosts → {}", first.to),
            many => format!("{} → {many} hosts", first.from),
        };
        let is_said = |cell: &&Cell| {
            let is_first = cell.from == first.from && cell.to == first.to;
            let in_group = if by_receiver {
                cell.to == first.to
            } else {
                cell.from == first.from
            };
            is_first || alike(cell) && in_group && received.max(sent) >= LEAST_GROUP
        };
        rest.retain(|cell| !is_said(cell));
        said.push(match first.outcome.reason() {
            Some(reason) => format!("{ends}: {}", tame(reason)),
            None => format!("{ends}: {} before its end", first.outcome.word()),
        });
    }
    said
}
