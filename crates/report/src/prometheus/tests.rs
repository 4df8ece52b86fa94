//! Small tests of a server, reported as events; a probe.

use std::net::SocketAddr;
use std::time::Duration;

use tapeline_base::{FlowId, FlowTag, Placement, Role, Transport, WallTime};

use super::*;
use crate::document::{self, ReportTracker, RunInfo, Step};
use crate::model::{
    ClientTest, Connected, DelayClock, Endpoints, Event, LoadedLatency, Measure, Notice,
    OneWayDelay, Phase, ProbeSeries, Row, Span, Subject, TcpReceive, TcpSend, TcpState, UdpReceive,
};
use crate::style::Style;

fn run_info(role: Role) -> RunInfo {
    RunInfo {
        version: "0.1.0".to_owned(),
        command: "tapeline -s".to_owned(),
        role,
        planned: None,
        style: Style::default(),
    }
}

fn tag(id: u32) -> FlowTag {
    FlowTag {
        id: FlowId(id),
        reversed: false,
    }
}

fn ends() -> (SocketAddr, SocketAddr) {
    let socket = |text: &str| text.parse().expect("an address");
    (socket("192.0.2.1:5001"), socket("192.0.2.2:40000"))
}

fn connected(id: u32, test: u32) -> Event {
    let (local, peer) = ends();
    Event::Connected(Connected {
        test: Some(ClientTest {
            number: test,
            flows: Some(1),
        }),
        ..Connected::new(tag(id), Transport::Tcp, local, peer)
    })
}

fn row(id: u32, phase: Phase, (start, end): (u64, u64), bytes: u64, measure: Measure) -> Event {
    let (local, peer) = ends();
    Event::Row(Row {
        subject: Subject::Flow(tag(id)),
        phase,
        span: Span {
            start: Duration::from_secs(start),
            end: Duration::from_secs(end),
        },
        ended: WallTime::from_nanos(1_795_215_956_000_000_000),
        bytes,
        endpoints: Some(Endpoints {
            local,
            peer,
            local_sends: matches!(measure, Measure::TcpSend(_)),
        }),
        trip_times: false,
        placement: Placement::default(),
        measure,
    })
}

fn tcp() -> Measure {
    Measure::TcpReceive(TcpReceive::default())
}

fn udp(received: u64, lost: u64) -> Measure {
    Measure::UdpReceive(UdpReceive {
        received,
        total: received + lost,
        lost,
        lost_in_host: Some(lost.min(1)),
        jitter: Some(0.001),
        ..UdpReceive::default()
    })
}

#[track_caller]
fn has(text: &str, lines: &[&str]) {
    for line in lines {
        assert!(
            text.lines().any(|observed| observed == *line),
            "{line} in\n{text}"
        );
    }
}

fn observed(events: impl IntoIterator<Item = Event>) -> ServerMetrics {
    let mut metrics = ServerMetrics::new(run_info(Role::Server));
    for event in events {
        metrics.observe(&event);
    }
    metrics
}

#[test]
fn a_server_that_has_served_nobody_says_so() {
    let text = observed([]).text(&[]);
    has(
        &text,
        &[
            r#"tapeline_build_info{version="0.1.0"} 1.0"#,
            "tapeline_server_streams_active 0.0",
            "tapeline_server_tests_active 0.0",
            r#"tapeline_server_refused_total{reason="client-refused"} 0"#,
            r#"tapeline_server_bytes_total{transport="udp",direction="sent"} 0"#,
            "# EOF",
        ],
    );
    assert!(!text.contains("tapeline_test_"), "{text}");
}

#[test]
fn bytes_are_counted_once_at_intervals_and_ends() {
    let mut metrics = observed([
        connected(1, 7),
        row(1, Phase::Interval, (0, 1), 1000, tcp()),
        row(1, Phase::Interval, (1, 2), 500, tcp()),
    ]);
    has(
        &metrics.text(&[FlowId(1)]),
        &[
            r#"tapeline_server_bytes_total{transport="tcp",direction="received"} 1500"#,
            "tapeline_server_tests_active 1.0",
        ],
    );
    metrics.observe(&row(1, Phase::Total, (0, 3), 2000, tcp()));
    metrics.observe(&Event::TestOver(vec![tag(1)]));
    metrics.observe(&Event::Idle);
    has(
        &metrics.text(&[]),
        &[
            r#"tapeline_server_bytes_total{transport="tcp",direction="received"} 2000"#,
            r#"tapeline_server_tests_total{protocol="iperf2",transport="tcp",direction="forward",result="complete"} 1"#,
            r#"tapeline_test_received_bytes{transport="tcp",test_direction="forward",direction="forward"} 2000.0"#,
            r#"tapeline_test_complete{transport="tcp",test_direction="forward"} 1.0"#,
            r#"tapeline_test_end_time_seconds{transport="tcp",test_direction="forward"} 1795215956.0"#,
        ],
    );
}

#[test]
fn flows_of_a_test_are_one_test() {
    let metrics = observed([connected(1, 7), connected(2, 7), connected(3, 8)]);
    let text = metrics.text(&[FlowId(1), FlowId(2), FlowId(3), FlowId(4)]);
    has(
        &text,
        &[
            "tapeline_server_streams_active 4.0",
            "tapeline_server_tests_active 3.0",
        ],
    );
}

#[test]
fn datagrams_and_their_losses_are_reported_by_place() {
    let text = observed([
        connected(1, 1),
        row(1, Phase::Total, (0, 1), 9000, udp(9, 3)),
        Event::TestOver(vec![tag(1)]),
        Event::Idle,
    ])
    .text(&[]);
    has(
        &text,
        &[
            r#"tapeline_server_datagrams_total{direction="received"} 9"#,
            "tapeline_server_datagrams_lost_total 3",
            "tapeline_server_datagrams_lost_in_host_total 1",
            r#"tapeline_test_datagrams_lost{transport="udp",test_direction="forward",direction="forward"} 3.0"#,
            r#"tapeline_test_datagrams_lost_at{transport="udp",test_direction="forward",direction="forward",place="receiver_host"} 1.0"#,
            r#"tapeline_test_trust{transport="udp",test_direction="forward",level="partial"} 1.0"#,
            r#"tapeline_test_jitter_seconds{transport="udp",test_direction="forward",direction="forward"} 0.001"#,
        ],
    );
    assert!(!text.contains(r#"place="network""#), "unknown is no number");
}

#[test]
fn refusals_and_missed_rows_are_counted() {
    let mut metrics = observed([Event::Notice(Notice::PeerRefused {
        peer: ends().1,
        reason: "16 tests of its address run, which is the limit".to_owned(),
    })]);
    metrics.missed(5);
    has(
        &metrics.text(&[]),
        &[
            r#"tapeline_server_refused_total{reason="client-refused"} 1"#,
            r#"tapeline_server_warnings_total{id="client-refused"} 1"#,
            "tapeline_server_intervals_dropped_total 5",
        ],
    );
}

#[test]
fn round_trips_are_counted_at_the_ends_of_intervals() {
    let send = || {
        Measure::TcpSend(TcpSend {
            retransmits: Some(2),
            state: Some(TcpState {
                rtt_micros: Some(300),
                ..TcpState::default()
            }),
            ..TcpSend::default()
        })
    };
    let text = observed([
        connected(1, 1),
        row(1, Phase::Interval, (0, 1), 10, send()),
        row(1, Phase::Interval, (1, 2), 10, send()),
        row(1, Phase::Total, (0, 2), 20, send()),
    ])
    .text(&[]);
    has(
        &text,
        &[
            "tapeline_server_rtt_seconds_count 2",
            r#"tapeline_server_rtt_seconds_bucket{le="0.0005"} 2"#,
            "tapeline_server_tcp_retransmits_total 4",
        ],
    );
}

#[test]
fn delays_are_reported_in_buckets() {
    let delay = Event::OneWayDelay(OneWayDelay {
        tag: tag(1),
        samples: 4,
        min: 0.002,
        mean: 0.0135,
        max: 0.04,
        deviation: 0.016,
        counts: [2_000_000, 4_000_000, 8_000_000, 40_000_000]
            .into_iter()
            .collect(),
        clock: DelayClock::AssumedSynchronised,
        bound_single: None,
    });
    let served = |delay: Event| {
        let events = [
            connected(1, 1),
            row(1, Phase::Total, (0, 1), 9000, udp(9, 0)),
            delay,
            Event::TestOver(vec![tag(1)]),
            Event::Idle,
        ];
        observed(events).text(&[])
    };
    let labels = r#"transport="udp",test_direction="forward",direction="forward",stream="1""#;
    let name = "tapeline_test_one_way_delay_distribution_seconds";
    let text = served(delay.clone());
    let bucket =
        |bound: &str, count: u64| format!(r#"{name}_bucket{{le="{bound}",{labels}}} {count}"#);
    let count = format!("{name}_count{{{labels}}} 4");
    for line in [
        count,
        bucket("0.001", 0),
        bucket("0.0025", 1),
        bucket("0.01", 3),
        bucket("+Inf", 4),
    ] {
        has(&text, &[&line]);
    }
    // Clocks that disagree.
    let Event::OneWayDelay(mut wrong) = delay else {
        return;
    };
    wrong.counts = wrong.counts.shifted(-5_000_000);
    let text = served(Event::OneWayDelay(wrong));
    assert!(!text.contains(name), "{text}");
    has(
        &text,
        &[&format!(
            r#"tapeline_test_one_way_delay_mean_seconds{{{labels}}} 0.0135"#
        )],
    );
}

#[test]
fn a_probe_reports_what_the_load_adds() {
    let probes = |nanos: [i64; 3]| ProbeSeries {
        sent: 4,
        round_trips: nanos.into_iter().collect(),
    };
    let latency = LoadedLatency {
        idle: probes([1_000_000, 1_100_000, 1_200_000]),
        loaded: probes([20_000_000, 21_000_000, 60_000_000]),
        increase: Some(0.02),
        grade: Some(tapeline_stats::BufferbloatGrade::A),
        ..LoadedLatency::default()
    };
    let mut tracker = ReportTracker::new(run_info(Role::Client));
    for event in [
        connected(1, 1),
        row(1, Phase::Total, (0, 6), 9000, udp(9, 0)),
        Event::LoadedLatency(Box::new(latency)),
    ] {
        tracker.observe(&event);
    }
    let steps = tracker.finish();
    let report = steps.iter().find_map(|step| match step {
        Step::End { report, .. } => Some(report),
        _ => None,
    });
    let probe = ProbeResult {
        target: "host",
        port: 5001,
        success: true,
        duration: Duration::from_secs(6),
        report: report.expect("a document"),
    };
    has(
        &probe.text(),
        &[
            r#"tapeline_test_probe_rtt_seconds{target="host",port="5001",path="loaded",quantile="0"} 0.02"#,
            r#"tapeline_test_probe_rtt_distribution_seconds_bucket{le="0.025",target="host",port="5001",path="loaded"} 2"#,
            r#"tapeline_test_probe_rtt_distribution_seconds_count{target="host",port="5001",path="idle"} 3"#,
            r#"tapeline_test_latency_increase_seconds{target="host",port="5001"} 0.02"#,
            r#"tapeline_test_bufferbloat_grade{target="host",port="5001",grade="A"} 1.0"#,
        ],
    );
}

#[test]
fn a_probe_names_the_program_that_answered() {
    let named = |tapeline: bool| {
        let mut tracker = ReportTracker::new(run_info(Role::Client));
        let mut line = connected(1, 1);
        if let Event::Connected(line) = &mut line {
            line.peer_is_tapeline = tapeline;
        }
        tracker.observe(&line);
        tracker.observe(&row(1, Phase::Total, (0, 6), 9000, tcp()));
        let steps = tracker.finish();
        let report = steps.iter().find_map(|step| match step {
            Step::End { report, .. } => Some(report),
            _ => None,
        });
        let probe = ProbeResult {
            target: "host",
            port: 5001,
            success: true,
            duration: Duration::from_secs(6),
            report: report.expect("a document"),
        };
        probe.text()
    };
    for (tapeline, program) in [(true, "tapeline"), (false, "iperf 2")] {
        let line =
            format!(r#"tapeline_test_peer{{target="host",port="5001",program="{program}"}} 1.0"#);
        has(&named(tapeline), &[&line]);
    }
}

#[test]
fn a_probe_has_the_names_of_the_known_exporter() {
    let report = document::refused(&run_info(Role::Client), "no such host");
    let failed = ProbeResult {
        target: "host \"x\"",
        port: 5201,
        success: false,
        duration: Duration::from_millis(1500),
        report: &report,
    };
    let text = failed.text();
    has(
        &text,
        &[
            r#"iperf3_up{target="host \"x\"",port="5201"} 0.0"#,
            r#"tapeline_probe_duration_seconds{target="host \"x\"",port="5201"} 1.5"#,
            r#"tapeline_probe_failure{target="host \"x\"",port="5201",id="usage"} 1.0"#,
        ],
    );
    assert!(!text.contains("iperf3_sent_bytes"), "{text}");
}

#[test]
fn an_exporter_counts_its_probes() {
    let mut metrics = ExporterMetrics::new("0.1.0");
    assert!(metrics.begin(2) && metrics.begin(2));
    assert!(!metrics.begin(2), "two run");
    metrics.end(true, Duration::from_secs(5));
    metrics.refused();
    has(
        &metrics.text(),
        &[
            "tapeline_exporter_probes_active 1.0",
            "iperf3_exporter_errors_total 1",
            "iperf3_exporter_duration_seconds_count 1",
            "iperf3_exporter_duration_seconds_sum 5.0",
            r#"iperf3_exporter_duration_seconds_bucket{le="5.0"} 1"#,
        ],
    );
}
