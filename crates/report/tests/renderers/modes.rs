//! Lines of special modes that no recorded run shows, or shows with a wrong number.

use std::time::Duration;

use tapeline_base::Transport::{Tcp, Udp};
use tapeline_base::{FlowId, FlowTag, Role, Tos, WallTime};
use tapeline_report::{
    Build, BurstKind, BurstsReceived, ClientBanner, ClockCheck, ConnectTimes, Connected,
    ConnectionFlavour, Event, FramesReceived, Iperf2Csv, Iperf2Text, MarkovReport, Measure,
    OneWayTimes, Output, PermitKeyLife, Phase, Renderer, RequestResponse, Row, ServerBanner,
    StartDelay, Style, Subject, TcpReceive, TcpState, TosNote, TrafficShape, UdpReceive,
};
use tapeline_stats::{Moments, ReadSizes};
use tapeline_testkit::iperf2_text::{self, LineKind};

use crate::scenario::{row, tag, total, udp_receive};

fn render(mut renderer: impl Renderer, events: &[Event]) -> Output {
    let mut out = Output::default();
    for event in events {
        renderer.render(event, &mut out);
    }
    out
}

fn enhanced() -> Style {
    Style {
        enhanced: true,
        utc: true,
        ..Style::default()
    }
}

fn text(events: &[Event]) -> Output {
    render(Iperf2Text::new(enhanced()), events)
}

/// Each line is one that the grammar knows too.
fn lines(events: &[Event]) -> Vec<String> {
    let out = text(events);
    let all = out.stdout + &out.stderr;
    for line in all.lines() {
        assert!(
            iperf2_text::classify(line, Build::Plain).is_some(),
            "{line}"
        );
    }
    all.lines().map(str::to_owned).collect()
}

fn moments(samples: &[f64]) -> Moments {
    let mut moments = Moments::EMPTY;
    samples.iter().for_each(|sample| moments.add(*sample));
    moments
}

fn flow() -> Subject {
    Subject::Flow(tag(1))
}

#[test]
fn a_markov_chain_tells_how_often_each_way_was_taken() {
    let report = MarkovReport {
        tag: tag(1),
        text: "<256|0.1,0.9<1470|0.4,0.6".to_owned(),
        lengths: vec![256, 1470],
        probabilities: vec![vec![0.1, 0.9], vec![0.4, 0.6]],
        counts: vec![vec![12, 88], vec![120, 180]],
    };
    assert_eq!(
        lines(&[Event::Markov(report)]),
        [
            "[  1] Markov chain: <256|0.1,0.9<1470|0.4,0.6 transitions: 400",
            "[  1] 256=256(0,0)|0.100/0.100(12/0.120) 1470(0,1)|0.900/1.000(88/0.880)  100/400(25.0%)",
            "[  1] 1470=256(1,0)|0.400/0.400(120/0.400) 1470(1,1)|0.600/1.000(180/0.600)  300/400(75.0%)",
        ]
    );
}

#[test]
fn starts_to_come_and_starts_gone_by() {
    let at = |millis: i64| WallTime::from_nanos((1_795_215_956_000 + millis) * 1_000_000);
    let delay = |role, start| {
        Event::StartDelay(StartDelay {
            tag: tag(1),
            role,
            start: at(start),
            now: at(108),
        })
    };
    assert_eq!(
        lines(&[
            delay(Role::Client, 2600),
            delay(Role::Server, 1500),
            delay(Role::Server, 50),
        ]),
        [
            "[  1] Client traffic to start in 3 seconds at 2026-11-20 23:05:58 current time is 2026-11-20 23:05:56.108 (GMT)",
            "[  1] Server receiving to start in 2 seconds at 2026-11-20 23:05:57.500 (GMT)",
            "[  1] WARNING: --txstart-time (1795215956.050000)  is before now 2026-11-20 23:05:56.108 (GMT)",
        ]
    );
}

#[test]
fn clocks_are_checked_on_standard_error() {
    let check = ClockCheck {
        tag: tag(1),
        round_trip: 0.000_5,
        send: 0.000_2,
        acknowledge: 0.000_3,
    };
    let out = text(&[Event::ClockCheck(check)]);
    assert_eq!(out.stdout, "");
    assert_eq!(
        out.stderr,
        "[  1] Clock sync check (ms): RTT/Half=(0.500/0.250) OWD-send/ack/asym=(0.200/0.300/-0.100)\n"
    );
}

#[test]
fn connect_times_need_samples_enough() {
    let end = |count: u64| {
        let samples: Vec<f64> = (1..=count).map(|sample| sample as f64 / 1e3).collect();
        let times = ConnectTimes {
            times: moments(&samples),
            errors: 1,
        };
        lines(&[Event::ConnectTimes(times)])
    };
    assert_eq!(end(2), [""; 0]);
    assert_eq!(
        end(3),
        ["[ CT] final connect times (min/avg/max) = 1.000/2.000/3.000 ms (tot/err) = 3/1"]
    );
    assert_eq!(
        end(25),
        [
            "[ CT] final connect times (min/avg/max/stdev) = 1.000/13.000/25.000/7.360 ms (tot/err) = 25/1"
        ]
    );
}

fn connected() -> Connected {
    let end = |text: &str| text.parse().expect("an address");
    Connected {
        device: Some("eth0".to_owned()),
        ..Connected::new(
            tag(1),
            Tcp,
            end("192.168.77.2:5001"),
            end("192.168.77.1:4000"),
        )
    }
}

#[test]
fn remarks_of_a_connection_have_their_order() {
    let connection = Connected {
        window_clamp: Some(16_384),
        write_prefetch: Some(32_768),
        isochronous: true,
        burst_period: Some(Duration::from_millis(500)),
        fair_queue: true,
        epoch_start: true,
        link_checks: true,
        no_udp_fin: true,
        trip_times: true,
        l4s: true,
        quickack: true,
        flavour: ConnectionFlavour::FullDuplex,
        tos: Some(TosNote::Transmit(Tos(0x10))),
        peer_version: Some("2.2.1-rc".to_owned()),
        permit_key: Some("secret".to_owned()),
        ..connected()
    };
    assert_eq!(
        lines(&[Event::Connected(connection)]),
        [
            "[secret(1)] local 192.168.77.2%eth0 port 5001 connected with 192.168.77.1 port 4000 \
             (clamp=16384) (prefetch=32768) (isoch) (burst-period=0.50s) (full-duplex) (fq) \
             (epoch-start) (l2mode) (no-udp-fin) (trip-times) (l4s) (tos tx=0x10,dscp=4,ecn=0) \
             (peer 2.2.1-rc) (qack)"
        ]
    );
}

#[test]
fn a_connection_without_key_is_shown_and_dropped() {
    let mut style = enhanced();
    style.hide_addresses = true;
    let events = [Event::Dropped(Connected {
        peer_version: Some("2.2.1-rc".to_owned()),
        ..connected()
    })];
    assert_eq!(
        render(Iperf2Text::new(style), &events).stdout,
        "[drop] local *.*.*.2 port 5001 connection with *.*.*.1 port 4000 (permit key fail)\n"
    );
}

#[test]
fn a_key_names_both_directions_in_rows() {
    let reversed = FlowTag {
        id: FlowId(1),
        reversed: true,
    };
    let plain = Measure::TcpReceive(TcpReceive::default());
    let shown = lines(&[
        Event::Connected(Connected {
            permit_key: Some("key2(3)".to_owned()),
            ..connected()
        }),
        Event::Row(row(Subject::Flow(reversed), (0, 1000), 1000, plain)),
    ]);
    assert!(
        shown[2].starts_with("[key2(3)(*1)] 0.00-1.00 sec"),
        "{shown:?}"
    );
}

fn bursts(kind: BurstKind, samples: &[f64]) -> Measure {
    let mut reads = ReadSizes::new(131_072);
    reads.reads = 8;
    reads.bins[7] = 8;
    Measure::TcpReceive(TcpReceive {
        reads,
        bursts: Some(BurstsReceived {
            kind,
            latency: moments(samples),
            bytes: 1_048_576 * samples.len() as u64,
            in_progress: Some(2048.0),
            frames_lost: 0,
        }),
    })
}

#[test]
fn a_burst_has_its_rate_however_short() {
    let kind = BurstKind::Periodic {
        period: Duration::from_millis(500),
    };
    let shown = lines(&[
        Event::Row(row(flow(), (0, 4), 1_048_576, bursts(kind, &[0.004]))),
        Event::Row(total(row(
            flow(),
            (0, 1000),
            2_097_152,
            bursts(kind, &[0.004, 0.002]),
        ))),
    ]);
    assert_eq!(
        shown[1..],
        [
            "[  1] 0.00-0.00 sec  1.00 MBytes  2.10 Gbits/sec   4.000 ms (0.8%)    8=0:0:0:0:0:0:0:8 65536",
            "[  1] 0.00-1.00 sec  2.00 MBytes  16.8 Mbits/sec  3.000/2.000/4.000/1.414 ms  8=0:0:0:0:0:0:0:8",
        ]
    );
}

#[test]
fn clocks_that_disagree_are_out_of_bounds() {
    let mut row = row(
        flow(),
        (0, 1000),
        1_048_576,
        bursts(BurstKind::Write, &[-2e9]),
    );
    if let Measure::TcpReceive(TcpReceive {
        bursts: Some(bursts),
        ..
    }) = &mut row.measure
    {
        bursts.in_progress = Some(-2e15);
    }
    row.trip_times = true;
    let shown = lines(&[Event::Row(row)]);
    assert!(
        shown[1].contains(" ms (1/1048576) OBL -0.000000  8="),
        "{shown:?}"
    );
}

#[test]
fn a_sum_of_stamped_receivers_has_bytes_on_their_way_or_none() {
    let kind = BurstKind::Frame;
    let sum = |measure| {
        let mut row = row(Subject::Sum { flows: 2 }, (0, 1000), 1_048_576, measure);
        row.trip_times = true;
        lines(&[Event::Row(row)]).remove(1)
    };
    assert_eq!(
        sum(bursts(BurstKind::Write, &[0.001])),
        "[SUM-2] 0.00-1.00 sec  1.00 MBytes  8.39 Mbits/sec 2.00 KByte  8=0:0:0:0:0:0:0:8"
    );
    let mut frames = bursts(kind, &[0.001]);
    if let Measure::TcpReceive(TcpReceive {
        bursts: Some(bursts),
        ..
    }) = &mut frames
    {
        bursts.in_progress = None;
    }
    assert_eq!(
        sum(frames),
        "[SUM-2] 0.00-1.00 sec  1.00 MBytes  8.39 Mbits/sec 0.000 Byte  8=0:0:0:0:0:0:0:8"
    );
}

#[test]
fn an_idle_interval_of_requests_has_no_units() {
    let idle = Measure::RequestResponse(RequestResponse {
        retransmits: Some(0),
        state: Some(TcpState {
            cwnd_packets: Some(0),
            mss: Some(1448),
            rtt_micros: Some(0),
            rtt_variance_micros: Some(0),
            ..TcpState::default()
        }),
        ..RequestResponse::default()
    });
    assert_eq!(
        lines(&[Event::Row(row(flow(), (500, 1000), 0, idle))])[1],
        "[  1] 0.50-1.00 sec  0.000 Bytes  0.000 bits/sec    0=0.000/0.000/0.000/0.000 ms    0   0K/(0)/0(0) us  Tx=0 Rx=0  RPS=0.0"
    );
}

#[test]
fn contradicting_clocks_are_counted_at_the_end() {
    let exchange = || {
        Measure::RequestResponse(RequestResponse {
            round_trips: moments(&[1e-4]),
            one_way: Some(OneWayTimes {
                transmit: moments(&[-1e-5]),
                receive: moments(&[11e-5]),
                asymmetry: moments(&[12e-5]),
                clock_errors: 1,
            }),
            ..RequestResponse::default()
        })
    };
    let shown = lines(&[
        Event::Row(row(flow(), (0, 1000), 200, exchange())),
        Event::Row(total(row(flow(), (0, 2000), 200, exchange()))),
    ]);
    let kinds: Vec<LineKind> = shown
        .iter()
        .filter_map(|line| iperf2_text::classify(line, Build::Plain))
        .collect();
    assert_eq!(kinds[2], LineKind::OneWay);
    assert_eq!(kinds[4..], [LineKind::OneWay, LineKind::ClockErrors]);
    assert_eq!(shown[5], "[  1] 0.00-2.00 sec  Clock sync error count = 1");
}

#[test]
fn settings_of_servers_that_no_recording_has() {
    let shown = lines(&[Event::Listening(ServerBanner {
        working_load: Some(5001),
        group: Some("232.1.1.1".parse().expect("a group")),
        group_source: Some("192.168.77.1".parse().expect("an address")),
        tap_device: Some("tap0".to_owned()),
        transmit_delay: Some(Duration::from_micros(12_500)),
        permit_key: Some(PermitKeyLife {
            key: "secret".to_owned(),
            generated: true,
            lifetime: None,
        }),
        ..ServerBanner::new(Udp, 5001)
    })]);
    for line in [
        "Working load listening on TCP port 5001",
        "Joining multicast (S,G)=192.168.77.1,232.1.1.1",
        "Using virtual iface tap0 (AF_PACKET & SOCK_RAW)",
        "Socket option of TCP_TX_DELAY set to 12.500 milliseconds",
        "Permit key is 'secret' (WARN: no timeout)",
    ] {
        assert!(
            shown.iter().any(|shown| shown == line),
            "{line}: {shown:#?}"
        );
    }
}

#[test]
fn settings_of_clients_that_no_recording_has() {
    let shown = lines(&[
        Event::Connecting(ClientBanner {
            single_udp: true,
            shape: TrafficShape::Markov("<256|0.5,0.5<512|0.5,0.5".to_owned()),
            ..ClientBanner::new("host", 5001, Udp)
        }),
        Event::Connecting(ClientBanner {
            load_flows: 2,
            load_congestion: Some("reno".to_owned()),
            shape: TrafficShape::NearCongestion(0.25),
            ..ClientBanner::new("host", 5001, Tcp)
        }),
    ]);
    for line in [
        "Sending lengths using markov chain: <256|0.5,0.5<512|0.5,0.5",
        "WARN: Client set to bypass reporter thread per -U (suggest use lower case -u instead)",
        "Client connecting to host, TCP port 5001 with pid 0 (1/2 flows/load)",
        "TCP working load congestion control set to reno",
        "TCP near-congestion delay weight set to 0.2500",
    ] {
        assert!(
            shown.iter().any(|shown| shown == line),
            "{line}: {shown:#?}"
        );
    }
    assert!(
        !shown.iter().any(|line| line.contains("byte datagrams")),
        "{shown:#?}"
    );
}

fn frames(subject: Subject) -> Row {
    let measure = Measure::UdpReceive(UdpReceive {
        transit: moments(&[0.001, 0.003]),
        frames: Some(FramesReceived {
            received: 30,
            lost: 1,
            latency: moments(&[0.004, 0.006]),
        }),
        ..udp_receive(90, 0, 0, 0)
    });
    Row {
        trip_times: true,
        phase: Phase::Total,
        ..row(subject, (0, 1000), 132_300, measure)
    }
}

#[test]
fn csv_has_the_delays_of_datagrams_and_of_frames() {
    let csv = render(
        Iperf2Csv::new(Style {
            utc: true,
            ..Style::default()
        }),
        &[
            Event::Row(frames(flow())),
            Event::Row(frames(Subject::Sum { flows: 2 })),
        ],
    )
    .stdout;
    let rows: Vec<&str> = csv.lines().collect();
    assert!(
        rows[0].ends_with(
            ",outoforder,ttavg,ttmin,ttmax,ttsdev,itavg,itmin,itmax,itsdev,readcnt,readtimeo,readerrlen,pps"
        ),
        "{csv}"
    );
    assert!(
        rows[1].contains(",0,2.000,1.000,3.000,1.414,5.000,4.000,6.000,1.414,90,0,0,"),
        "{csv}"
    );
    let none = "-1.000,-1.000,-1.000,-1.000";
    assert!(
        rows[2].contains(&format!(",0,{none},{none},90,0,0,")),
        "{csv}"
    );
    let columns: Vec<usize> = rows.iter().map(|row| row.split(',').count()).collect();
    assert_eq!(columns, [27, 27, 27]);
}

#[test]
fn frames_have_their_columns_in_text() {
    assert_eq!(
        lines(&[Event::Row(frames(flow()))])[1],
        "[  1] 0.00-1.00 sec   129 KBytes  1.06 Mbits/sec   0.005 ms 0/90 (0%) \
         2.000/1.000/3.000/1.414 ms 89 pps  30/1 5.000/4.000/6.000/1.414 ms 66.15"
    );
    let mut silent = frames(flow());
    if let Measure::UdpReceive(receive) = &mut silent.measure {
        receive.transit = Moments::EMPTY;
    }
    assert_eq!(
        lines(&[Event::Row(silent)])[1],
        "[  1] 0.00-1.00 sec   129 KBytes  1.06 Mbits/sec   0.005 ms 0/90 (0%) \
         -/-/-/- ms 89 pps  30/1 -/-/-/- ms  -"
    );
}
