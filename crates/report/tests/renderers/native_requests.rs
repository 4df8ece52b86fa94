//! Requests and connections without data in tapeline's own text.

use std::net::SocketAddr;
use std::time::Duration;

use tapeline_base::Transport::Tcp;
use tapeline_base::WallTime;
use tapeline_report::{
    Amount, ClientBanner, ConnectTimes, Connected, Event, HistogramKind, HistogramRow, InitialTcp,
    Measure, NativeText, Notice, OneWayTimes, Output, PeerProgram, Phase, Renderer, RequestPlan,
    RequestResponse, Span, Style, Subject, Terminal,
};
use tapeline_stats::{HistogramShape, LinearHistogram, Moments};

use crate::scenario::{round_trips, row, tag, tcp_send, total};

fn render(style: Style, events: &[Event]) -> Output {
    let style = Style { utc: true, ..style };
    let mut renderer = NativeText::new(style, Terminal::default());
    let mut out = Output::default();
    for event in events {
        renderer.render(event, &mut out);
    }
    renderer.finish(&mut out);
    out
}

fn plain(events: &[Event]) -> String {
    render(Style::default(), events).stdout
}

fn address(text: &str) -> SocketAddr {
    text.parse().expect("an address")
}

const PLAN: RequestPlan = RequestPlan {
    request: 100,
    response: 100,
    hold_micros: 0,
    quickack: true,
    burst: Some((10, Duration::from_secs(1))),
};

fn banner() -> ClientBanner {
    ClientBanner {
        request_response: Some(PLAN),
        ..ClientBanner::new("192.0.2.7", 5001, Tcp)
    }
}

fn connected(id: u32) -> Event {
    Event::Connected(Connected {
        device: Some("eth0".to_owned()),
        connect_time: Some(Duration::from_micros(20_300)),
        ..Connected::new(
            tag(id),
            Tcp,
            address("192.0.2.1:46976"),
            address("192.0.2.7:5001"),
        )
    })
}

fn program() -> Event {
    Event::PeerFound {
        program: PeerProgram {
            program: "tapeline".to_owned(),
            version: "0.1.0".to_owned(),
            system: "Linux".to_owned(),
        },
        flows: Vec::new(),
    }
}

/// So many requests with mean, least and largest round trip, microseconds.
fn requests(count: u64, [mean, min, max]: [u32; 3]) -> RequestResponse {
    let seconds = |micros: u32| f64::from(micros) * 1e-6;
    RequestResponse {
        round_trips: Moments {
            count,
            mean: seconds(mean),
            m2: 0.0,
            min: seconds(min),
            max: seconds(max),
        },
        retransmits: Some(0),
        ..RequestResponse::default()
    }
}

fn interval(second: u64, micros: [u32; 3]) -> Event {
    let span = (second * 1000, (second + 1) * 1000);
    let measure = Measure::RequestResponse(requests(10, micros));
    Event::Row(row(Subject::Flow(tag(1)), span, 2000, measure))
}

fn whole(subject: Subject, requests: RequestResponse) -> Event {
    let measure = Measure::RequestResponse(requests);
    Event::Row(total(row(subject, (0, 3000), 6000, measure)))
}

fn thirty() -> RequestResponse {
    RequestResponse {
        percentiles: [Some(0.021_7), Some(0.022_2), None, None, None],
        ..requests(30, [21_600, 20_400, 23_200])
    }
}

fn one() -> Subject {
    Subject::Flow(tag(1))
}

#[test]
fn requests_have_round_trips_and_no_rate() {
    let events = [
        Event::Connecting(banner()),
        connected(1),
        program(),
        interval(0, [21_800, 21_000, 23_200]),
        interval(1, [21_500, 20_400, 22_100]),
        interval(2, [21_500, 20_700, 22_200]),
        whole(one(), thirty()),
    ];
    assert_eq!(
        plain(&events),
        include_str!("../golden/native/requests.txt")
    );
}

#[test]
fn many_requests_have_a_99th_percentile() {
    let many = RequestResponse {
        percentiles: [Some(0.002_1), Some(0.002_4), None, Some(0.002_87), None],
        retransmits: Some(12),
        ..requests(23_093, [2_120, 2_010, 3_300])
    };
    let shown = plain(&[connected(1), whole(one(), many)]);
    let lines: Vec<&str> = shown.lines().rev().take(2).collect();
    assert_eq!(
        lines,
        [
            "Trust        good: one clock measured both ways",
            "Round trip   2.10 ms median, 2.01 min, 2.87 p99, 3.30 max (23093 requests)",
        ]
    );
}

#[test]
fn few_requests_are_not_trusted_and_none_have_no_result() {
    let few = requests(3, [21_600, 20_400, 23_200]);
    let shown = plain(&[connected(1), whole(one(), few)]);
    assert!(
        shown.ends_with("\nTrust        poor: 3 requests are too few\n"),
        "{shown}"
    );
    let none = plain(&[
        Event::Connecting(banner()),
        whole(one(), requests(0, [0; 3])),
    ]);
    assert!(!none.contains("Round trip  "), "{none}");
    assert!(!none.contains("Trust"), "{none}");
}

#[test]
fn an_interrupt_and_a_busy_cpu_are_no_surprise() {
    let events = [
        Event::Connecting(banner()),
        connected(1),
        Event::Notice(Notice::CpuSaturated {
            tag: tag(1),
            share: 0.93,
        }),
        whole(one(), thirty()),
        Event::Notice(Notice::Interrupted),
    ];
    let out = render(Style::default(), &events);
    assert_eq!(out.stderr, "");
    let trust = "\nTrust        partial: interrupted after 3.0 s; valid up to then\n";
    assert!(out.stdout.ends_with(trust), "{}", out.stdout);
}

#[test]
fn several_streams_are_summed() {
    let all = |id: u32| whole(Subject::Flow(tag(id)), thirty());
    let events = [
        Event::Connecting(ClientBanner {
            flows: 2,
            load_flows: 1,
            request_response: Some(RequestPlan {
                response: 2048,
                hold_micros: 50,
                burst: None,
                ..PLAN
            }),
            ..banner()
        }),
        connected(1),
        connected(2),
        interval(0, [21_800, 21_000, 23_200]),
        all(2),
        all(1),
        whole(
            Subject::Sum { flows: 2 },
            requests(60, [21_600, 20_400, 23_200]),
        ),
        Event::Row(total(row(
            Subject::Flow(tag(3)),
            (0, 3000),
            3_750_000,
            tcp_send(9, 0),
        ))),
    ];
    let expected = [
        "TCP requests to 192.0.2.7 port 5001: 100 B sent, 2 KiB back after 0.050 ms, back to back, 2 streams,",
        "",
        "    stream     seconds  round trips   mean ms   min ms   max ms",
        "         1   0.00-3.00           30      21.6     20.4     23.2  total",
        "         2   0.00-3.00           30      21.6     20.4     23.2  total",
        "       sum   0.00-3.00           60      21.6     20.4     23.2  total",
        "",
        "Round trip   21.6 ms mean, 20.4 min, 23.2 max (60 requests)",
        "Load         10.0 Mbit/s sent, 1 stream",
        "Trust        good: one clock measured both ways; p99 needs 100 requests",
    ];
    let shown = plain(&events);
    let lines: Vec<&str> = shown.lines().collect();
    assert!(
        lines[0].starts_with(expected[0].trim_end_matches(',')),
        "{shown}"
    );
    assert!(lines[1].starts_with("from 192.0.2.1 (eth0)"), "{shown}");
    assert_eq!(lines[2..], expected[1..], "{shown}");
}

#[test]
fn percentiles_and_connections_are_for_those_who_want_more() {
    let style = Style {
        enhanced: true,
        ..Style::default()
    };
    let events = [
        Event::Connecting(banner()),
        connected(1),
        whole(one(), thirty()),
    ];
    let shown = render(style, &events).stdout;
    let banner = "\nfrom 192.0.2.1 (eth0), connected in 20.3 ms\nlocal port 46976\n\n";
    assert!(shown.contains(banner), "{shown}");
    let header =
        "   seconds  round trips   mean ms   min ms   p50 ms   p90 ms   p99 ms   max ms  retrans\n";
    assert!(shown.contains(header), "{shown}");
    let cells = "      21.6     20.4     21.7     22.2        -     23.2        0  total\n";
    assert!(shown.contains(cells), "{shown}");
}

#[test]
fn histograms_come_where_they_are_requested() {
    let histogram = |phase| {
        let mut histogram = LinearHistogram::new(HistogramShape::DELAY);
        for sample in [21_000_000, 21_700_000] {
            histogram.record_at(sample, WallTime::from_nanos(1_795_215_956_108_000_000));
        }
        Event::Histogram(HistogramRow {
            tag: tag(1),
            phase,
            span: Span::default(),
            kind: HistogramKind::RoundTrip,
            in_micros: false,
            histogram,
        })
    };
    let shown = |histograms| {
        plain(&[
            Event::Connecting(ClientBanner {
                histograms,
                ..banner()
            }),
            connected(1),
            interval(0, [21_800, 21_000, 23_200]),
            histogram(Phase::Interval),
            whole(one(), thirty()),
            histogram(Phase::Total),
        ])
    };
    let with = shown(Some(HistogramShape::DELAY));
    let block = "\nstream 1, round trips: 2 samples\n  p50 <21.1 ms, max 21.7 ms at 23:05:56\n";
    assert!(with.contains(block), "{with}");
    assert!(!shown(None).contains("samples"));
}

#[test]
fn one_way_times_stand_beside_round_trips() {
    let moments = |sample: f64| [sample].into_iter().collect::<Moments>();
    let mut exchange = round_trips();
    if let Measure::RequestResponse(RequestResponse { one_way, .. }) = &mut exchange {
        *one_way = Some(OneWayTimes {
            transmit: moments(0.000_02),
            receive: moments(0.000_03),
            asymmetry: moments(0.000_01),
            clock_errors: 2,
        });
    }
    let out = render(
        Style::default(),
        &[Event::Row(total(row(one(), (0, 2000), 4000, exchange)))],
    );
    let header = "   max ms  to server ms  from server ms\n";
    assert!(out.stdout.contains(header), "{}", out.stdout);
    let line =
        "\nOne way      to server 0.020, from server 0.030 ms (clocks assumed synchronised)\n";
    assert!(out.stdout.contains(line), "{}", out.stdout);
    assert_eq!(out.stderr.matches("warning: ").count(), 1, "{}", out.stderr);
}

#[test]
fn connections_without_data_are_one_line() {
    let times = ConnectTimes {
        times: Moments {
            count: 5,
            mean: 0.000_05,
            m2: 0.0,
            min: 0.000_018,
            max: 0.000_173,
        },
        errors: 0,
    };
    let mut events = vec![Event::Connecting(ClientBanner {
        connect_only: true,
        ..ClientBanner::new("192.0.2.7", 5001, Tcp)
    })];
    events.extend((1..=5).map(|_| connected(1)));
    events.push(Event::ConnectTimes(times));
    assert_eq!(
        plain(&events),
        "TCP to 192.0.2.7 port 5001: connect only\n\
         from 192.0.2.1 (eth0)\n\
         \n\
         Connect      0.050 ms mean, 0.018 min, 0.173 max (5 connections, 0 failed)\n"
    );
    let failed = ConnectTimes {
        times: Moments::EMPTY,
        errors: 3,
    };
    assert_eq!(plain(&[Event::ConnectTimes(failed)]), "");
}

#[test]
fn connections_have_a_line_each_for_those_who_want_more() {
    let style = Style {
        enhanced: true,
        ..Style::default()
    };
    let begun = |id| {
        let Event::Connected(line) = connected(id) else {
            unreachable!("a connection")
        };
        Event::Connected(Connected {
            initial: Some(InitialTcp {
                mss: 1448,
                rtt_micros: 2100,
                cwnd_kib: 14,
            }),
            ..line
        })
    };
    let requests = ClientBanner {
        flows: 2,
        ..banner()
    };
    let events = [
        Event::Connecting(requests),
        begun(1),
        begun(2),
        program(),
        whole(one(), thirty()),
    ];
    let shown = render(style, &events).stdout;
    let lines: Vec<&str> = shown.lines().take(4).collect();
    assert_eq!(
        lines[1..],
        [
            "from 192.0.2.1 (eth0), connected in 20.3 ms, server is tapeline 0.1.0",
            "stream 1: RTT 2.10 ms, MSS 1448, connect time 20.3 ms, local port 46976",
            "stream 2: RTT 2.10 ms, MSS 1448, connect time 20.3 ms, local port 46976",
        ],
        "{shown}"
    );
    let connects = ClientBanner {
        connect_only: true,
        ..ClientBanner::new("192.0.2.7", 5001, Tcp)
    };
    let events = [Event::Connecting(connects), begun(1), begun(1)];
    assert_eq!(
        render(style, &events).stdout,
        "TCP to 192.0.2.7 port 5001: connect only\n\
         from 192.0.2.1 (eth0)\n\
         RTT 2.10 ms, MSS 1448, connect time 20.3 ms, local port 46976\n\
         RTT 2.10 ms, MSS 1448, connect time 20.3 ms, local port 46976\n"
    );
}

#[test]
fn quiet_and_brief_requests_are_their_result() {
    let events = [
        Event::Connecting(banner()),
        connected(1),
        program(),
        interval(0, [21_800, 21_000, 23_200]),
        whole(one(), thirty()),
    ];
    let shown = |amount| {
        let style = Style {
            amount,
            ..Style::default()
        };
        render(style, &events).stdout
    };
    let quiet = shown(Amount::Quiet);
    let labels: Vec<&str> = quiet.lines().map(|line| line[..10].trim()).collect();
    assert_eq!(labels, ["Round trip", "Trust"], "{quiet}");
    assert_eq!(
        shown(Amount::Brief),
        "tapeline host=192.0.2.7 proto=tcp dir=requests mbps=- bytes=- seconds=3.00 lost_pct=- \
         retrans=0 rtt_idle_ms=21.7 rtt_load_ms=- limited_by=- confidence=- trust=good\n"
    );
}

#[test]
fn quiet_and_brief_connections_are_their_result() {
    let events = [
        Event::Connecting(ClientBanner {
            connect_only: true,
            ..ClientBanner::new("192.0.2.7", 5001, Tcp)
        }),
        connected(1),
        Event::ConnectTimes(ConnectTimes {
            times: Moments {
                count: 5,
                mean: 50e-6,
                m2: 0.0,
                min: 18e-6,
                max: 173e-6,
            },
            errors: 0,
        }),
    ];
    let shown = |amount| {
        let style = Style {
            amount,
            ..Style::default()
        };
        render(style, &events).stdout
    };
    assert_eq!(
        shown(Amount::Quiet),
        "Connect      0.050 ms mean, 0.018 min, 0.173 max (5 connections, 0 failed)\n"
    );
    assert_eq!(
        shown(Amount::Brief),
        "tapeline host=192.0.2.7 proto=tcp dir=connect mbps=- bytes=- seconds=- lost_pct=- retrans=- \
         rtt_idle_ms=- rtt_load_ms=- limited_by=- confidence=- trust=- connect_ms=0.050\n"
    );
}
