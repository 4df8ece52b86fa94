//! Comparing the kinds of lines.

use std::collections::{BTreeMap, BTreeSet};

use tapeline_report::Build;
use tapeline_report::iperf2::Header;
use tapeline_testkit::iperf2_text::{Complaint, LineKind, Who, parse};

use crate::exceptions;

/// Longest pattern of lines that repeats itself in every interval.
const LONGEST_PATTERN: usize = 6;

/// The lines of a side as sequences: one for each flow, one for each header, one for the rest.
type Sequences = Vec<Vec<LineKind>>;

/// Compares one side of a run with its recording: every line must be one that this build prints,
/// and each flow's kinds must follow each other as they did in the recording. Flows are not
/// ordered among each other, and how often a pattern is repeated depends on the time that a run
/// took.
pub(crate) fn compare(name: &str, side: &'static str, build: Build, recorded: &str, printed: &str) {
    let shown = || format!("{name}, {side}\n--- recorded\n{recorded}--- printed\n{printed}");
    for line in printed.lines().filter(|line| !line.is_empty()) {
        assert!(
            parse(line, build).is_some(),
            "not a line of iperf 2.2.1: {line}\n{}",
            shown()
        );
    }
    if exceptions::differs(name, side) {
        return;
    }
    let [expected, found] = [recorded, printed].map(|text| sequences(name, build, text));
    assert_eq!(found, expected, "{}", shown());
    // The kind of a CSV header is the number of its columns; their names must be the same, too.
    let [expected, found] = [recorded, printed].map(csv_headers);
    assert_eq!(found, expected, "{}", shown());
}

fn csv_headers(text: &str) -> BTreeSet<&str> {
    let lines = text.lines();
    lines.filter(|line| line.starts_with("time,")).collect()
}

fn sequences(name: &str, build: Build, text: &str) -> Sequences {
    let mut flows: BTreeMap<String, Vec<LineKind>> = BTreeMap::new();
    for line in text.lines() {
        let Some((kind, _)) = parse(line, build) else {
            continue;
        };
        if is_comparable(name, &kind) {
            flows.entry(flow_of(line, &kind)).or_default().push(kind);
        }
    }
    let mut sequences: Vec<_> = flows.into_values().map(collapsed).collect();
    sequences.sort();
    // Flows that do the same are as good as one: how many there are is tested elsewhere.
    sequences.dedup();
    sequences
}

/// What a line belongs to: what stands between the brackets, or a kind of its own for a header,
/// which comes before whichever flow is the first to have such rows.
fn flow_of(line: &str, kind: &LineKind) -> String {
    match kind {
        LineKind::Header(header) => format!("{header:?}"),
        LineKind::CsvHeader(columns) => format!("header of {columns}"),
        // Carries the plain number of a reversed flow.
        LineKind::Sent(_) => "sent".to_owned(),
        LineKind::CsvRow(columns) => format!("rows of {columns}"),
        _ => {
            let inside = line.strip_prefix('[').and_then(|line| line.split_once(']'));
            inside.map_or_else(String::new, |(inside, _)| inside.trim().to_owned())
        }
    }
}

/// Removes immediate repetitions of short patterns.
fn collapsed(mut kinds: Vec<LineKind>) -> Vec<LineKind> {
    for length in 1..=LONGEST_PATTERN {
        let mut begin = 0;
        while begin + 2 * length <= kinds.len() {
            if kinds[begin..begin + length] == kinds[begin + length..begin + 2 * length] {
                kinds.drain(begin..begin + length);
            } else {
                begin += 1;
            }
        }
    }
    kinds
}

/// Whether a kind of line must be the same in the recording and here.
fn is_comparable(name: &str, kind: &LineKind) -> bool {
    match kind {
        // What the limit was depends on the machine's other work.
        LineKind::Complaint(Complaint::CpuBound | Complaint::Ours) => false,
        // 2.2.1's servers see reordering where there is none when flows begin at the same time.
        LineKind::OutOfOrder(_) => name.starts_with("udp_crafted"),
        // 2.2.1 sums senders in a server under the header of receivers, with all counts 0.
        LineKind::Row(Who::CountedSum, _)
        | LineKind::Header(Header::SumTcpSend | Header::SumTcpReceive) => name != "tcp_R_P2_e",
        _ => true,
    }
}

#[test]
fn patterns_collapse() {
    let [a, b] = [LineKind::Rule, LineKind::ServerReport];
    let lines = |kinds: &[&LineKind]| kinds.iter().map(|kind| (*kind).clone()).collect::<Vec<_>>();
    assert_eq!(collapsed(lines(&[&a, &a, &a])), lines(&[&a]));
    assert_eq!(
        collapsed(lines(&[&a, &b, &a, &b, &a, &b])),
        lines(&[&a, &b])
    );
    assert_eq!(collapsed(lines(&[&a, &b, &a])), lines(&[&a, &b, &a]));
}
