//! The grammar knows every line that iperf 2.2.1 printed in the recorded runs.

use crate::recorded;
use tapeline_report::Build;
use tapeline_testkit::iperf2_text::{self, Columns, LineKind, Remark, Setting, Who};

#[test]
fn every_recorded_line_is_classified() {
    let mut unknown = Vec::new();
    let mut known = 0;
    for transcript in recorded::transcripts() {
        for line in &transcript.lines {
            if iperf2_text::classify(line, transcript.build).is_some() {
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
    let kind = |line: &str| iperf2_text::classify(line, Build::Plain).expect(line);
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
        assert_eq!(iperf2_text::classify(wrong, Build::Plain), None, "{wrong}");
    }
}

#[test]
fn each_build_has_a_text_of_its_own() {
    for (plain, fast) in [
        (
            "[  1] 0.00-1.00 sec  2.67 GBytes  23.0 Gbits/sec",
            "[  1] 0.0000-1.0000 sec  2.67 GBytes  23.0 Gbits/sec",
        ),
        (
            "[ ID] Interval        Transfer    Bandwidth       Reads=Dist",
            "[ ID] Interval            Transfer    Bandwidth       Reads=Dist",
        ),
    ] {
        let known = |line| {
            [Build::Plain, Build::FastSampling]
                .map(|build| iperf2_text::classify(line, build).is_some())
        };
        assert_eq!(
            (known(plain), known(fast)),
            ([true, false], [false, true]),
            "{plain}"
        );
    }
}

#[test]
fn pieces_of_lines_do_not_panic() {
    let transcripts = recorded::transcripts();
    let lines = transcripts.iter().flat_map(|transcript| {
        let lines = transcript.lines.iter();
        lines.map(move |line| (transcript, line))
    });
    for (transcript, line) in lines.step_by(29) {
        for (at, _) in line.char_indices() {
            let _ = iperf2_text::parse(&line[..at], transcript.build);
            let _ = iperf2_text::parse(&line[at..], transcript.build);
            let _ = iperf2_text::parse(
                &format!("{}\u{fffd}{}", &line[..at], &line[at..]),
                transcript.build,
            );
        }
    }
}

#[test]
fn fields_come_in_their_order() {
    let (_, fields) = iperf2_text::parse(
        "[  1] 0.00-2.02 sec   260 KBytes  1.05 Mbits/sec   0.004 ms 0/181 (0%)",
        Build::Plain,
    )
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
