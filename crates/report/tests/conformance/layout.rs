//! The grammar knows every line that iperf 2.2.1 printed in the recorded runs.

use crate::recorded;
use tapeline_report::layout::{self, Columns, LineKind, Remark, Setting, Who};

#[test]
fn every_recorded_line_is_classified() {
    let mut unknown = Vec::new();
    let mut known = 0;
    for transcript in recorded::transcripts() {
        for line in &transcript.lines {
            if layout::classify(line).is_some() {
                known += 1;
            } else {
                unknown.push(format!("{}: {line}", transcript.name));
            }
        }
    }
    assert!(
        unknown.is_empty(),
        "{} unknown:\n{}",
        unknown.len(),
        unknown.join("\n")
    );
    assert!(known > 5000, "{known} lines");
}

#[test]
fn kinds_name_what_a_line_is() {
    let kind = |line: &str| layout::classify(line).expect(line);
    assert_eq!(
        kind("[ *1] 0.00-1.00 sec  2.67 GBytes  23.0 Gbits/sec"),
        LineKind::Row(Who::Reversed, Columns::Plain)
    );
    assert_eq!(
        kind("[SUM-2] 0.00-1.00 sec  3.54 GBytes  30.4 Gbits/sec  28982/0         3"),
        LineKind::Row(Who::CountedSum, Columns::SumWrites)
    );
    assert_eq!(
        kind("[SUM] 0.00-1.00 sec   258 KBytes  2.12 Mbits/sec   1/181 (0.55%)"),
        LineKind::Row(Who::Sum, Columns::Loss)
    );
    assert_eq!(
        kind(
            "[  1] local 192.168.77.2 port 5001 connected with 192.168.77.1 port 4 (reverse) (no-udp-fin)"
        ),
        LineKind::Connection(Who::Flow, vec![Remark::Reverse, Remark::NoUdpFin])
    );
    assert_eq!(
        kind("TCP window size: 16.0 KByte (default)"),
        LineKind::Setting(Setting::Buffer)
    );
}

#[test]
fn one_blank_makes_the_difference() {
    for wrong in [
        "[ 1] 0.00-1.00 sec  2.67 GBytes  23.0 Gbits/sec",
        "[  1] 0.00-1.00 sec 2.67 GBytes  23.0 Gbits/sec",
        "[  1] 0.00-1.00 sec  2.67 GBytes 23.0 Gbits/sec",
        "[  1] 0.0-1.0 sec  2.67 GBytes  23.0 Gbits/sec",
        "[  1] 0.00-1.00 sec  2.670 GBytes  23.0 Gbits/sec",
        "[SUM-2] 0.00-1.00 sec  3.54 GBytes  30.4 Gbits/sec  28982/0        3",
        "[ ID] Interval      Transfer     Bandwidth",
        "[  1] local 1.2.3.4 port 1 connected with 1.2.3.5 port 2 (Reverse!)",
    ] {
        assert_eq!(layout::classify(wrong), None, "{wrong}");
    }
}

#[test]
fn pieces_of_lines_do_not_panic() {
    let transcripts = recorded::transcripts();
    let lines = transcripts.iter().flat_map(|transcript| &transcript.lines);
    for line in lines.step_by(29) {
        for (at, _) in line.char_indices() {
            let _ = layout::parse(&line[..at]);
            let _ = layout::parse(&line[at..]);
            let _ = layout::parse(&format!("{}\u{fffd}{}", &line[..at], &line[at..]));
        }
    }
}

#[test]
fn fields_come_in_their_order() {
    let (_, fields) =
        layout::parse("[  1] 0.00-2.02 sec   260 KBytes  1.05 Mbits/sec   0.004 ms 0/181 (0%)")
            .expect("a row");
    assert_eq!(
        fields,
        [
            "1",
            "0.00",
            "2.02",
            "260 KBytes",
            "1.05 Mbits/sec",
            "0.004",
            "0",
            "181",
            "0"
        ]
    );
}
