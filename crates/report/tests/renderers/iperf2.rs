//! What recorded runs of iperf 2.2.1 cannot show: its errors put right, its options that
//! had no effect, and the streams of its complaints.

use std::time::Duration;

use tapeline_base::FormatLetter;
use tapeline_base::Transport::{Tcp, Udp};
use tapeline_report::{
    Event, Exclude, Iperf2Csv, Iperf2Text, Measure, Notice, Output, Renderer, Style, Subject,
    TrafficOperation,
};

use crate::scenario::{
    client, connected, round_trips, row, server, tag, tcp_send, total, udp_receive, udp_send,
};

fn render(mut renderer: impl Renderer, events: &[Event]) -> Output {
    let mut out = Output::default();
    for event in events {
        renderer.render(event, &mut out);
    }
    renderer.finish(&mut out);
    out
}

fn text(style: Style, events: &[Event]) -> String {
    render(Iperf2Text::new(Style { utc: true, ..style }), events).stdout
}

fn csv(style: Style, events: &[Event]) -> String {
    render(Iperf2Csv::new(Style { utc: true, ..style }), events).stdout
}

fn without(exclude: Exclude) -> Style {
    Style {
        exclude,
        ..Style::default()
    }
}

/// Two UDP flows, their sum, and one server report with a loss.
fn udp_client() -> Vec<Event> {
    let sum = Subject::Sum { flows: 2 };
    let flow = |id| Subject::Flow(tag(id));
    let lossy = Measure::UdpReceive(udp_receive(181, 1, 2, 1));
    vec![
        client(Udp, 2),
        connected(1, Udp),
        Event::Row(total(row(flow(1), (0, 2019), 266_070, udp_send(181)))),
        Event::Sent {
            tag: Some(tag(1)),
            flows: 1,
            datagrams: 182,
        },
        Event::Row(total(row(sum, (0, 2019), 532_140, udp_send(362)))),
        Event::Sent {
            tag: None,
            flows: 2,
            datagrams: 364,
        },
        Event::ServerReport {
            row: total(row(flow(1), (0, 2018), 264_600, lossy)),
            enhanced: false,
        },
    ]
}

#[test]
fn the_banner_and_the_server_report_tell_the_true_numbers() {
    assert_eq!(
        text(Style::default(), &udp_client()),
        "\
------------------------------------------------------------
Client connecting to server.example, UDP port 5001
Sending 1470 byte datagrams, IPG target: 11215.21 us (kalman adjust)
UDP buffer size:  208 KByte (default)
------------------------------------------------------------
[  1] local 192.168.77.1 port 46976 connected with 192.168.77.2 port 5001
[ ID] Interval       Transfer     Bandwidth
[  1] 0.00-2.02 sec   260 KBytes  1.05 Mbits/sec
[  1] Sent 182 datagrams
[SUM] 0.00-2.02 sec   520 KBytes  2.11 Mbits/sec
[SUM-2] Sent 364 datagrams
[  1] Server Report:
[ ID] Interval       Transfer     Bandwidth        Jitter   Lost/Total Datagrams
[  1] 0.00-2.02 sec   258 KBytes  1.05 Mbits/sec   0.005 ms 1/181 (0.55%)
[  1] 0.00-2.02 sec  3 datagrams received out-of-order
"
    );
}

#[test]
fn each_kind_of_line_can_be_left_out() {
    let all = Exclude {
        connection: true,
        settings: true,
        data: true,
        sums: true,
        server_report: true,
    };
    assert_eq!(text(without(all), &udp_client()), "");
    for (exclude, gone, kept) in [
        (
            Exclude {
                connection: false,
                ..all
            },
            "Sent",
            "connected with",
        ),
        (
            Exclude {
                settings: false,
                ..all
            },
            "connected with",
            "Client connecting",
        ),
        (Exclude { data: false, ..all }, "[SUM", "[  1] Sent"),
        (Exclude { sums: false, ..all }, "[  1]", "[SUM-2] Sent"),
        (
            Exclude {
                server_report: false,
                ..all
            },
            "[SUM",
            "Server Report",
        ),
    ] {
        let shown = text(without(exclude), &udp_client());
        assert!(shown.contains(kept), "{shown}");
        assert!(!shown.contains(gone), "{shown}");
    }
}

#[test]
fn sums_only_keeps_banner_and_report() {
    let style = Style {
        sum_only: true,
        ..Style::default()
    };
    let shown = text(style, &udp_client());
    assert!(
        shown.contains("\n[SUM-cnt] Interval       Transfer     Bandwidth\n[SUM-2] 0.00-2.02"),
        "{shown}"
    );
    assert!(shown.contains("[  1] Server Report:"), "{shown}");
    assert!(!shown.contains("[  1] Sent"), "{shown}");
    assert!(!shown.contains("connected with"), "{shown}");
}

#[test]
fn headers_return_after_idle_only() {
    let line = |id| {
        Event::Row(total(row(
            Subject::Flow(tag(id)),
            (0, 1000),
            1000,
            tcp_send(1, 0),
        )))
    };
    let events = [line(1), line(2), Event::Idle, line(3)];
    assert_eq!(text(Style::default(), &events).matches("[ ID]").count(), 2);
}

#[test]
fn a_sum_of_senders_on_a_server_keeps_the_senders_columns() {
    let style = Style {
        enhanced: true,
        ..Style::default()
    };
    let sum = total(row(
        Subject::Sum { flows: 2 },
        (0, 1000),
        1_000_000,
        tcp_send(8, 3),
    ));
    assert_eq!(
        text(style, &[Event::Row(sum)]),
        "[SUM-cnt] Interval        Transfer    Bandwidth       Write/Err  Rtry\n\
         [SUM-2] 0.00-1.00 sec   977 KBytes  8.00 Mbits/sec  8/0         3\n"
    );
}

#[test]
fn senders_of_stamped_datagrams_keep_the_basic_columns() {
    let send = |subject| {
        let mut row = row(subject, (0, 1000), 147_000, udp_send(100));
        row.trip_times = true;
        Event::Row(total(row))
    };
    let rows = [send(Subject::Flow(tag(1))), send(Subject::Sum { flows: 2 })];
    assert_eq!(
        text(Style::default(), &rows),
        "[ ID] Interval       Transfer     Bandwidth\n\
         [  1] 0.00-1.00 sec   144 KBytes  1.18 Mbits/sec\n\
         [SUM] 0.00-1.00 sec   144 KBytes  1.18 Mbits/sec\n"
    );
}

#[test]
fn what_the_kernel_does_not_tell_is_a_dash() {
    let style = Style {
        enhanced: true,
        ..Style::default()
    };
    let mut row = total(row(
        Subject::Flow(tag(1)),
        (0, 1000),
        1_000_000,
        tcp_send(8, 3),
    ));
    if let Measure::TcpSend(send) = &mut row.measure {
        send.retransmits = None;
        send.state = None;
    }
    let shown = text(style, &[Event::Row(row)]);
    assert!(
        shown.ends_with("8/0         -        -K(-)/-K(-)/-(-) us  NAN\n"),
        "{shown}"
    );
}

#[test]
fn complaints_go_to_standard_error() {
    let events = [
        Event::Notice(Notice::TrafficFailed {
            tag: tag(1),
            operation: TrafficOperation::Write,
            transport: Tcp,
            reason: "Broken pipe".to_owned(),
        }),
        Event::Notice(Notice::SmallWindow { bytes: 1000 }),
        Event::Notice(Notice::Interrupted),
        Event::Notice(Notice::CpuSaturated {
            tag: tag(1),
            share: 0.97,
        }),
    ];
    let style = Style {
        interval: true,
        ..Style::default()
    };
    for out in [
        render(Iperf2Text::new(style), &events),
        render(Iperf2Csv::new(style), &events),
    ] {
        assert_eq!(
            out.stderr,
            "[  1] tcp write failed\n\
             WARNING: TCP window size set to 1000 bytes. A small window size\n\
             will give poor performance. See the Iperf documentation.\n"
        );
    }
    let cpu = "WARN: this test may have been CPU bound (97) (or may not be detecting the underlying network devices)\n";
    assert_eq!(render(Iperf2Text::new(style), &events).stdout, cpu);
    assert_eq!(render(Iperf2Csv::new(style), &events).stdout, "");
}

#[test]
fn standard_error_holds_nothing_that_iperf_2_does_not_write_there() {
    let vanished = Notice::PeerVanished {
        tag: tag(1),
        silent_for: Duration::from_secs(10),
    };
    let remarks = [
        Notice::PacingMissed {
            tag: tag(1),
            wanted: 2000,
            reached: 1000,
        },
        Notice::ReceiveBufferDrops {
            tag: Some(tag(2)),
            datagrams: 7,
        },
        Notice::Remark("no clock check".to_owned()),
        vanished.clone(),
    ];
    let events: Vec<_> = [server(Udp)]
        .into_iter()
        .chain(remarks.map(Event::Notice))
        .collect();
    let [basic, enhanced] = [false, true].map(|enhanced| Style {
        enhanced,
        ..Style::default()
    });
    for style in [basic, enhanced] {
        assert_eq!(render(Iperf2Text::new(style), &events).stderr, "");
        let csv = render(Iperf2Csv::new(style), &events);
        assert_eq!((csv.stdout.as_str(), csv.stderr.as_str()), ("", ""));
    }
    let words = "[  1] WARN: rate of 2000 bits/sec not reached, sent at 1000 bits/sec\n\
        [  2] WARN: 7 datagrams dropped by this host's socket buffer\n\
        WARN: no clock check\n\
        [  1] WARN: nothing received for 10.0 seconds, test ended\n";
    let report = |style| render(Iperf2Text::new(style), &events).stdout;
    assert!(report(enhanced).ends_with(words), "{}", report(enhanced));
    assert!(!report(basic).contains("WARN"), "{}", report(basic));
    // A client's test has failed with it, and so has the run.
    let failed = [client(Udp, 1), Event::Notice(vanished)];
    let out = render(Iperf2Text::new(basic), &failed);
    assert!(out.stderr.ends_with("test ended\n"), "{}", out.stderr);
}

#[test]
fn csv_rows_carry_the_end_of_their_own_interval() {
    let events = [
        client(Tcp, 1),
        Event::Row(row(
            Subject::Flow(tag(1)),
            (0, 1000),
            1_000_000,
            tcp_send(8, 3),
        )),
        Event::Row(total(row(
            Subject::Sum { flows: 2 },
            (0, 2000),
            2_000_000,
            tcp_send(8, 3),
        ))),
    ];
    assert_eq!(
        csv(Style::default(), &events),
        "20261120230557,192.168.77.1,46976,192.168.77.2,5001,1,0.0-1.0,1000000,8000000\n\
         20261120230558,192.168.77.1,0,192.168.77.2,5001,-1,0.0-2.0,2000000,8000000\n"
    );
}

#[test]
fn csv_sums_of_a_server_hide_the_clients_port() {
    let events = [
        server(Tcp),
        Event::Row(total(row(
            Subject::Sum { flows: 2 },
            (0, 2000),
            2_000_000,
            tcp_send(8, 3),
        ))),
    ];
    // The server sends: the client is the destination.
    assert_eq!(
        csv(Style::default(), &events),
        "20261120230558,192.168.77.1,46976,192.168.77.2,0,-1,0.0-2.0,2000000,8000000\n"
    );
}

#[test]
fn csv_headers_stand_above_round_trips_without_being_asked_for() {
    let events = [Event::Row(total(row(
        Subject::Flow(tag(1)),
        (0, 2000),
        4000,
        round_trips(),
    )))];
    let shown = csv(Style::default(), &events);
    assert!(shown.starts_with("time,srcaddress,"), "{shown}");
    assert!(
        shown.ends_with(",20,0.055,0.014,0.282,0.073,0,0,0,0,0,2000,2000,18181.8\n"),
        "{shown}"
    );
}

#[test]
fn units_follow_the_format_letter() {
    let events = [Event::Row(total(row(
        Subject::Flow(tag(1)),
        (0, 1000),
        25_034_816,
        tcp_send(1, 0),
    )))];
    for (letter, columns) in [
        ('b', "25034816 Bytes  200278528 bits/sec"),
        ('B', "25034816 Bytes  25034816 Bytes/sec"),
        ('k', "24448 KBytes  200279 Kbits/sec"),
        ('M', "23.9 MBytes  23.9 MBytes/sec"),
        ('g', "0.023 GBytes  0.200 Gbits/sec"),
        ('a', "23.9 MBytes   200 Mbits/sec"),
    ] {
        let style = Style {
            format: FormatLetter::new(letter),
            ..Style::default()
        };
        let shown = text(style, &events);
        assert!(
            shown.ends_with(&format!("sec  {columns}\n")),
            "-f {letter}: {shown}"
        );
    }
}
