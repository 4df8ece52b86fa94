//! Special modes in tapeline's own text.

use std::time::Duration;

use tapeline_base::Transport::{Tcp, Udp};
use tapeline_base::{BitRate, Role, Transport, WallTime};
use tapeline_report::{
    BurstKind, BurstsReceived, ClientBanner, ClockCheck, Event, FairQueue, FramesReceived,
    FramesSent, HistogramKind, HistogramRow, LinkErrors, MarkovReport, Measure, NativeText,
    NoPeerResults, Output, PermitKeyLife, Phase, Renderer, RequestedTest, Row, ScheduleErrors,
    ServerBanner, ServerText, Span, StartDelay, Style, Subject, TcpReceive, TcpSend, Terminal,
    TestDirection, TestLimit, TrafficShape, UdpReceive, UdpSend,
};
use tapeline_stats::{HistogramShape, LinearHistogram, Moments};

use crate::scenario::{
    client, connected, row, tag, tcp_receive, tcp_send, total, udp_receive, udp_send,
};

fn render(events: &[Event]) -> Output {
    rendered(Style::default(), events)
}

fn rendered(style: Style, events: &[Event]) -> Output {
    let style = Style { utc: true, ..style };
    let mut renderer = NativeText::new(style, Terminal::default());
    let mut out = Output::default();
    for event in events {
        renderer.render(event, &mut out);
    }
    renderer.finish(&mut out);
    out
}

fn moments(samples: &[f64]) -> Moments {
    let mut moments = Moments::EMPTY;
    samples.iter().for_each(|sample| moments.add(*sample));
    moments
}

fn flow() -> Subject {
    Subject::Flow(tag(1))
}

fn bursts(kind: BurstKind, samples: &[f64]) -> Measure {
    Measure::TcpReceive(TcpReceive {
        bursts: Some(BurstsReceived {
            kind,
            latency: moments(samples),
            bytes: 131_072 * samples.len() as u64,
            in_progress: Some(2500.0),
            frames_lost: 0,
        }),
        ..TcpReceive::default()
    })
}

fn histogram(phase: Phase, samples: &[i64]) -> Event {
    let mut histogram = LinearHistogram::new(HistogramShape::DELAY);
    for sample in samples {
        histogram.record_at(*sample, WallTime::from_nanos(1_795_215_956_108_000_000));
    }
    Event::Histogram(HistogramRow {
        tag: tag(1),
        phase,
        span: Span::default(),
        kind: HistogramKind::Frame,
        in_micros: true,
        histogram,
    })
}

/// Expected text, written with a margin.
fn text(lines: &[&str]) -> String {
    lines.iter().map(|line| format!("{line}\n")).collect()
}

/// Rows of a client that receives over this transport.
fn receiving(transport: Transport, rows: impl IntoIterator<Item = Row>) -> String {
    let mut events = vec![client(transport, 1), connected(1, transport)];
    events.extend(rows.into_iter().map(Event::Row));
    reversed(Style::default(), &events)
}

/// What a client prints whose server sends.
fn reversed(style: Style, events: &[Event]) -> String {
    let requested = RequestedTest {
        direction: TestDirection::Reverse,
        limit: TestLimit::Time(Duration::from_secs(1)),
    };
    let style = Style { utc: true, ..style };
    let mut renderer = NativeText::new(style, Terminal::default()).requested(requested);
    let mut out = Output::default();
    for event in events {
        renderer.render(event, &mut out);
    }
    renderer.finish(&mut out);
    out.stdout
}

#[test]
fn a_server_with_histograms_shows_its_settings_and_their_spread() {
    let spread: Vec<i64> = (0..300).map(|step| step * step * 20).collect();
    let events = [
        Event::Listening(ServerBanner {
            histograms: Some(HistogramShape::DELAY),
            permit_key: Some(PermitKeyLife {
                key: "secret".to_owned(),
                generated: true,
                lifetime: Some(Duration::from_secs(20)),
            }),
            ..ServerBanner::new(Tcp, 5001)
        }),
        connected(1, Tcp),
        Event::Row(row(flow(), (0, 1000), 12_582_912, tcp_receive(9))),
        histogram(Phase::Interval, &[100_000, 200_000, 4_000_000]),
        histogram(Phase::Total, &spread),
    ];
    let style = Style {
        enhanced: true,
        utc: true,
        ..Style::default()
    };
    let mut log = ServerText::new(style, Terminal::default());
    let mut out = Output::default();
    for event in events {
        log.render(&event, &mut out);
    }
    for text in [
        "histograms of 100000 bins of 100 us",
        "permit key secret (good for 20.00 s)",
        "\n#1 1  delay of bursts: p50 <0.300 ms, 3 samples\n",
        "\n#1   p50 <0.500 ms, p90 <1.50 ms, p95 <1.70 ms, p99 <1.80 ms, max 1.79 ms at 23:05:56\n",
    ] {
        assert!(out.stdout.contains(text), "{text}: {}", out.stdout);
    }
}

#[test]
fn a_client_with_histograms_shows_them_below_its_rows_and_with_the_result() {
    let measure = || bursts(BurstKind::Write, &[0.0001, 0.0002, 0.004]);
    let events = [
        client(Tcp, 1),
        connected(1, Tcp),
        Event::Row(row(flow(), (0, 1000), 12_582_912, measure())),
        histogram(Phase::Interval, &[100_000, 200_000, 4_000_000]),
        Event::Row(total(row(flow(), (0, 1000), 12_582_912, measure()))),
        histogram(Phase::Total, &[50_000; 200]),
    ];
    let shown = reversed(Style::default(), &events);
    for text in [
        "   bursts   delay ms    min ms    max ms  in flight KiB\n",
        "        3       1.43     0.100      4.00           2.44\n",
        "\n     1  delay of bursts: p50 <0.300 ms, 3 samples\n",
        "\nstream 1, delay of bursts: 200 samples\n  p50-p99 <0.100 ms, max 0.050 ms at 23:05:56\n",
    ] {
        assert!(shown.contains(text), "{text}: {shown}");
    }
    assert!(
        shown.find("stream 1, delay") < shown.find("Throughput"),
        "{shown}"
    );
}

#[test]
fn bursts_have_times_and_a_share_of_their_period() {
    let kind = BurstKind::Periodic {
        period: Duration::from_millis(500),
    };
    let shown = receiving(
        Tcp,
        [
            row(flow(), (0, 100), 1_048_576, bursts(kind, &[0.1])),
            row(flow(), (500, 500), 1_048_576, bursts(kind, &[0.3])),
            total(row(flow(), (0, 1000), 2_097_152, bursts(kind, &[0.1, 0.3]))),
        ],
    );
    for text in [
        "   burst ms    min ms    max ms  burst time %\n",
        " 0.00-0.50     16.8 ",
        " 0.50-1.00     16.8 ",
        "        100         -         -          20.0\n",
        "        200       100       300          40.0  received\n",
    ] {
        assert!(shown.contains(text), "{text}: {shown}");
    }
}

fn sender(change: impl FnOnce(&mut TcpSend)) -> Measure {
    let mut measure = tcp_send(10, 0);
    if let Measure::TcpSend(send) = &mut measure {
        change(send);
    }
    measure
}

const FRAMES: Option<FramesSent> = Some(FramesSent {
    sent: 60,
    missed: 1,
    slips: 1,
});

#[test]
fn each_kind_of_sender_has_its_columns() {
    let table = |measure| {
        let interval = row(flow(), (0, 1000), 12_500_000, measure);
        let shown = render(&[client(Tcp, 1), connected(1, Tcp), Event::Row(interval)]).stdout;
        let mut lines = shown.lines().skip_while(|line| !line.contains("seconds"));
        [lines.next(), lines.next()].map(|line| line.unwrap_or_default().to_owned())
    };
    let [titles, cells] = table(sender(|send| send.frames = FRAMES));
    assert!(titles.ends_with("   frames  late frames"), "{titles}");
    assert!(cells.ends_with("       60            1"), "{cells}");
    let times = Some(moments(&[0.0001, 0.0002]));
    let [titles, cells] = table(sender(|send| send.write_times = times));
    assert!(
        titles.ends_with("    writes  write ms    min ms    max ms"),
        "{titles}"
    );
    assert!(
        cells.ends_with("         2     0.150     0.100     0.200"),
        "{cells}"
    );
    let [titles, cells] = table(sender(|send| {
        send.fair_queue_rate = Some(BitRate(50_000_000))
    }));
    assert!(titles.ends_with("   paced at"), "{titles}");
    assert!(cells.ends_with("       50.0"), "{cells}");
}

#[test]
fn a_client_says_what_it_is_going_to_send() {
    let shown = |banner: ClientBanner| {
        let style = Style {
            enhanced: true,
            ..Style::default()
        };
        let mut renderer = NativeText::new(style, Terminal::default());
        let mut out = Output::default();
        let first = row(flow(), (0, 1000), 1_000_000, tcp_send(10, 0));
        for event in [
            Event::Connecting(banner),
            connected(1, Tcp),
            Event::Row(first),
        ] {
            renderer.render(&event, &mut out);
        }
        out.stdout.replace(",\n", ", ").replace("\n    ", " ")
    };
    let tcp = || ClientBanner {
        write_length: 131_072,
        ..ClientBanner::new("host", 5001, Tcp)
    };
    for (banner, phrase) in [
        (
            ClientBanner {
                shape: TrafficShape::Isochronous {
                    frames_per_second: 60.0,
                    mean: 100e6,
                    deviation: 10e6,
                    gap: Duration::ZERO,
                },
                ..tcp()
            },
            "60 frames per second, 100 Mbit/s (deviation 10.0 Mbit/s)",
        ),
        (
            ClientBanner {
                shape: TrafficShape::Bursts {
                    size: 1 << 20,
                    period: Duration::from_millis(500),
                },
                ..tcp()
            },
            "bursts of 1 MiB every 500.00 ms, send buffer 0 B (default), writes of 128 KiB",
        ),
        (
            ClientBanner {
                fair_queue: Some(FairQueue {
                    rate: BitRate(50_000_000),
                    step: Some(BitRate(1_000_000)),
                }),
                write_times: true,
                ..tcp()
            },
            "paced by the kernel at 50.0 Mbit/s rising by 1.00 Mbit/s at a time, each write timed",
        ),
        (
            ClientBanner {
                write_prefetch: Some(16_384),
                transmit_delay: Some(Duration::from_millis(5)),
                trip_times: true,
                ..tcp()
            },
            "at most 16 KiB unsent, sends delayed by 5.00 ms, clocks assumed synchronised",
        ),
    ] {
        let shown = shown(banner);
        assert!(shown.contains(phrase), "{phrase}: {shown}");
    }
}

#[test]
fn a_chain_of_lengths_tells_what_followed_what() {
    let report = MarkovReport {
        tag: tag(1),
        text: "<256|0.1,0.9<1470|0.4,0.6".to_owned(),
        lengths: vec![256, 1470],
        probabilities: vec![vec![0.1, 0.9], vec![0.4, 0.6]],
        counts: vec![vec![12, 88], vec![120, 180]],
    };
    let shown = render(&[
        client(Udp, 1),
        Event::Row(total(row(flow(), (0, 1000), 500_000, udp_send(400)))),
        Event::Markov(report),
    ])
    .stdout;
    let chain = text(&[
        "stream 1: 400 sizes from the Markov chain <256|0.1,0.9<1470|0.4,0.6",
        "    256 B   25.0 %, then 256 12.0 %, 1470 88.0 %",
        "   1470 B   75.0 %, then 256 40.0 %, 1470 60.0 %",
    ]);
    assert!(shown.contains(&chain), "{shown}");
}

#[test]
fn late_frames_have_a_column_and_a_detail() {
    let send = Measure::UdpSend(UdpSend {
        writes: 400,
        frames: FRAMES,
        ..UdpSend::default()
    });
    let errors = ScheduleErrors {
        tag: tag(1),
        errors: moments(&[0.0001, 0.0003]),
    };
    let style = Style {
        enhanced: true,
        ..Style::default()
    };
    let shown = rendered(
        style,
        &[
            client(Udp, 1),
            Event::Row(total(row(flow(), (0, 1000), 12_500_000, send))),
            Event::ScheduleErrors(errors),
        ],
    )
    .stdout;
    assert!(shown.contains("   frames  late frames\n"), "{shown}");
    assert!(shown.contains("       60            1  sent\n"), "{shown}");
    let detail = "\n  sender       frames sent 0.200 ms late, 0.300 at most\n";
    assert!(shown.contains(detail), "{shown}");
}

#[test]
fn a_receiver_of_stamped_frames_shows_both_delays() {
    let receive = Measure::UdpReceive(UdpReceive {
        transit: moments(&[0.001, 0.003]),
        frames: Some(FramesReceived {
            received: 60,
            lost: 1,
            latency: moments(&[0.004]),
        }),
        ..udp_receive(900, 1, 0, 0)
    });
    let mut row = total(row(flow(), (0, 1000), 12_500_000, receive));
    row.trip_times = true;
    let wide = Terminal {
        width: 200,
        ..Terminal::default()
    };
    let mut renderer = NativeText::new(Style::default(), wide);
    let mut out = Output::default();
    for event in [client(Udp, 1), Event::Row(row)] {
        renderer.render(&event, &mut out);
    }
    renderer.finish(&mut out);
    let shown = out.stdout;
    let titles = "   delay ms    min ms    max ms   frames  incomplete  frame ms  frame max ms\n";
    assert!(shown.contains(titles), "{shown}");
    let cells =
        "       2.00      1.00      3.00       60           1      4.00          4.00  received\n";
    assert!(shown.contains(cells), "{shown}");
}

#[test]
fn equal_percentiles_stand_together_and_silence_has_none() {
    let shown = render(&[
        client(Tcp, 1),
        histogram(Phase::Interval, &[]),
        histogram(Phase::Interval, &[50_000; 200]),
    ])
    .stdout;
    assert_eq!(shown.matches("delay of bursts").count(), 1, "{shown}");
    assert!(
        shown.contains("     1  delay of bursts: p50-p99 <0.100 ms, 200 samples\n"),
        "{shown}"
    );
}

#[test]
fn marks_and_damage_have_columns_where_they_are_watched() {
    let receive = Measure::UdpReceive(UdpReceive {
        marked: Some(3),
        link_errors: Some(LinkErrors {
            checksum: 2,
            ..LinkErrors::default()
        }),
        ..udp_receive(900, 1, 0, 0)
    });
    let shown = receiving(Udp, [row(flow(), (0, 1000), 12_500_000, receive)]);
    assert!(shown.contains("  marked  damaged\n"), "{shown}");
    assert!(shown.contains("       3        2\n"), "{shown}");
}

#[test]
fn shared_arrival_times_are_a_detail() {
    let receive = |joined| {
        Measure::UdpReceive(UdpReceive {
            joined,
            ..udp_receive(900, 0, 0, 0)
        })
    };
    let enhanced = Style {
        enhanced: true,
        ..Style::default()
    };
    let shown = |row| {
        reversed(
            enhanced,
            &[client(Udp, 1), connected(1, Udp), Event::Row(row)],
        )
    };
    let sentence = "\n  arrivals     the kernel joined 50.0 % of the datagrams, which share their group's time\n";
    let all = shown(total(row(flow(), (0, 1000), 12_500_000, receive(450))));
    assert!(all.contains(sentence), "{all}");
    for other in [
        row(flow(), (0, 1000), 12_500_000, receive(450)),
        total(row(flow(), (0, 1000), 12_500_000, receive(0))),
    ] {
        assert!(!shown(other).contains("joined"));
    }
}

#[test]
fn times_and_keys_stand_beside_the_numbers() {
    let at = |seconds: i64| WallTime::from_nanos((1_795_215_956 + seconds) * 1_000_000_000);
    let delay = |start| {
        Event::StartDelay(StartDelay {
            tag: tag(1),
            role: Role::Client,
            start: at(start),
            now: at(0),
        })
    };
    let check = |send, acknowledge| {
        Event::ClockCheck(ClockCheck {
            tag: tag(1),
            round_trip: 0.0005,
            send,
            acknowledge,
        })
    };
    let Event::Connected(dropped) = connected(1, Tcp) else {
        unreachable!("a connection")
    };
    let out = render(&[
        delay(2),
        delay(-1),
        check(0.0002, 0.0003),
        check(-0.0002, 0.0007),
        Event::Dropped(dropped),
    ]);
    assert_eq!(
        out.stderr,
        text(&[
            "note: stream 1: begins at 23:05:58, in 2.00 s",
            "warning: stream 1: its start at 23:05:55 has passed, it begins at once [start-time-passed]",
            "note: stream 1: clocks compared: round trip 0.500 ms, to server 0.200 ms, from server 0.300 ms",
            "warning: stream 1: clocks compared: round trip 0.500 ms, to server -0.200 ms, from server 0.700 ms; \
             the clocks differ by about 0.450 ms, so one-way delays are wrong by as much [clocks-compared]",
            "warning: refused 192.168.77.2:5001: wrong or missing permit key [permit-key-refused]",
        ])
    );
}

#[test]
fn frames_that_tcp_did_not_bring_are_late_and_bursts_of_an_unknown_clock_have_no_delay() {
    let mut frames = total(row(
        flow(),
        (0, 1000),
        12_500_000,
        bursts(BurstKind::Frame, &[0.001, 0.003]),
    ));
    frames.trip_times = true;
    let shown = receiving(Tcp, [frames]);
    assert!(shown.contains("  late frames   delay ms"), "{shown}");
    let kind = BurstKind::Periodic {
        period: Duration::from_millis(500),
    };
    let unstamped = total(row(flow(), (0, 1000), 12_500_000, bursts(kind, &[0.001])));
    let shown = receiving(Tcp, [unstamped]);
    assert!(!shown.contains("delay"), "{shown}");
}

#[test]
fn a_missing_control_connection_is_a_note_and_an_unknown_server_none() {
    let note = |reason| render(&[client(Tcp, 1), Event::NoPeerResults(reason)]).stderr;
    assert_eq!(
        note(NoPeerResults::Unreachable("timed out".to_owned())),
        "note: no control connection: timed out; the server's CPU and counts are unknown\n"
    );
    assert_eq!(note(NoPeerResults::NotRecognised), "");
}
