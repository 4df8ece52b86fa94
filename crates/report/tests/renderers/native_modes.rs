//! Special modes in tapeline's own text.

use std::time::Duration;

use tapeline_base::Transport::Tcp;
use tapeline_base::{BitRate, Role, WallTime};
use tapeline_report::{
    BurstKind, BurstsReceived, ClientBanner, ClockCheck, Event, FairQueue, FramesReceived,
    FramesSent, GapErrors, HistogramKind, HistogramRow, LinkErrors, MarkovReport, Measure,
    NativeText, Output, PermitKeyLife, Phase, Renderer, ScheduleErrors, SendTiming, ServerBanner,
    Span, StartDelay, Style, Subject, TcpReceive, TcpSend, Terminal, TrafficShape, UdpReceive,
    UdpSend,
};
use tapeline_stats::{HistogramShape, LinearHistogram, Moments};

use crate::scenario::{connected, row, tag, tcp_send, total, udp_receive};

fn render(events: &[Event]) -> Output {
    let style = Style {
        utc: true,
        ..Style::default()
    };
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

#[test]
fn a_server_with_histograms_shows_delays_and_their_spread() {
    let measure = || bursts(BurstKind::Write, &[0.0001, 0.0002, 0.004]);
    let spread: Vec<i64> = (0..300).map(|step| step * step * 20).collect();
    let out = render(&[
        Event::Listening(ServerBanner {
            histograms: Some(HistogramShape::DELAY),
            permit_key: Some(PermitKeyLife {
                key: "secret".to_owned(),
                lifetime: Some(Duration::from_secs(20)),
            }),
            ..ServerBanner::new(Tcp, 5001)
        }),
        Event::Row(row(flow(), (0, 1000), 12_582_912, measure())),
        histogram(Phase::Interval, &[100_000, 200_000, 4_000_000]),
        Event::Row(total(row(flow(), (0, 1000), 12_582_912, measure()))),
        histogram(Phase::Total, &spread),
        Event::TestOver(vec![tag(1)]),
        Event::Idle,
    ]);
    assert_eq!(
        out.stdout,
        text(&[
            "listening on TCP port 5001, receive buffer 0 B (default), histograms of 100000 bins of 100 us,",
            "    permit key secret (good for 20.00 s)",
            "",
            "  flow        seconds      Mbit/s        MiB   bursts   delay ms    min ms    max ms  in flight KiB      reads",
            "  1 <-      0.00-1.00       100.7      12.00        3      1.433     0.100     4.000            2.4          0",
            "     1  delay of bursts: p50 <0.300 ms, 3 samples",
            "  1 <-      0.00-1.00       100.7      12.00        3      1.433     0.100     4.000            2.4          0 total",
            "",
            "stream 1, delay of bursts: 300 samples",
            "  p50 <0.500 ms, p90 <1.50 ms, p95 <1.70 ms, p99 <1.80 ms, max 1.79 ms at 23:05:56",
            "  0 |#:::..............| 1.80 ms",
            "",
            "goodput  100.7 Mbit/s  from 192.168.77.2, 12 MiB in 1.00 s, TCP, delay 1.433 ms (0.100 to 4.000)",
            "",
        ])
    );
}

#[test]
fn bursts_have_times_and_a_share_of_their_period() {
    let kind = BurstKind::Periodic {
        period: Duration::from_millis(500),
    };
    let out = render(&[
        Event::Row(row(flow(), (0, 100), 1_048_576, bursts(kind, &[0.1]))),
        Event::Row(total(row(
            flow(),
            (0, 1000),
            2_097_152,
            bursts(kind, &[0.1, 0.3]),
        ))),
    ]);
    assert!(
        out.stdout.starts_with(&text(&[
            "",
            "  flow        seconds      Mbit/s        MiB   burst ms    min ms    max ms  burst time %      reads  bytes/read",
            "  1 <-      0.00-0.10       83.89      1.000    100.000         -         -         20.00          0           -",
            "  1 <-      0.00-1.00       16.78      2.000    200.000   100.000   300.000         40.00          0           - total",
        ])),
        "{}",
        out.stdout
    );
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
    let header = |measure| {
        let out = render(&[Event::Row(row(flow(), (0, 1000), 12_500_000, measure))]);
        let lines: Vec<&str> = out.stdout.lines().collect();
        (lines[1].to_owned(), lines[2].to_owned())
    };
    let (titles, cells) = header(sender(|send| send.frames = FRAMES));
    assert!(
        titles.contains("   frames  late frames  retrans"),
        "{titles}"
    );
    assert!(cells.contains("       60            1        0"), "{cells}");
    let times = Some(moments(&[0.0001, 0.0002]));
    let (titles, cells) = header(sender(|send| send.write_times = times));
    assert!(
        titles.contains("    writes  write ms   min ms    max ms  retrans"),
        "{titles}"
    );
    assert!(
        cells.contains("         2     0.150    0.100     0.200"),
        "{cells}"
    );
    let (titles, cells) = header(sender(|send| {
        send.fair_queue_rate = Some(BitRate(50_000_000))
    }));
    assert!(titles.contains("   paced at  retrans"), "{titles}");
    assert!(cells.contains("       50.0        0"), "{cells}");
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
            "60 frames per second, 100.0 Mbit/s (deviation 10.00 Mbit/s)",
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
            "paced by the kernel at 50.00 Mbit/s rising by 1.000 Mbit/s at a time, each write timed",
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
    assert_eq!(
        render(&[Event::Markov(report)]).stdout,
        text(&[
            "flow 1: 400 lengths by the chain <256|0.1,0.9<1470|0.4,0.6",
            "    256 B   25.0 %, then 256 12.0 %, 1470 88.0 %",
            "   1470 B   75.0 %, then 256 40.0 %, 1470 60.0 %",
        ])
    );
}

#[test]
fn frames_are_part_of_the_headline() {
    let send = Measure::UdpSend(UdpSend {
        writes: 400,
        frames: FRAMES,
        ..UdpSend::default()
    });
    let errors = ScheduleErrors {
        tag: tag(1),
        errors: moments(&[0.0001, 0.0003]),
    };
    let out = render(&[
        Event::Row(total(row(flow(), (0, 1000), 12_500_000, send))),
        Event::ScheduleErrors(errors),
    ]);
    assert!(
        out.stdout
            .contains("\nflow 1: frames began 0.200 ms after their tick, 0.300 at most\n"),
        "{}",
        out.stdout
    );
    assert!(
        out.stdout
            .ends_with("received: unknown, 60 frames (1 missed)\n"),
        "{}",
        out.stdout
    );
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
    let shown = render(&[Event::Row(row)]).stdout;
    assert!(
        shown.contains("   delay ms   frames  incomplete\n"),
        "{shown}"
    );
    assert!(
        shown.contains("      2.000       60           1 total\n"),
        "{shown}"
    );
    assert!(
        shown.ends_with("delay 2.000 ms (1.000 to 3.000), 60 frames (1 incomplete)\n"),
        "{shown}"
    );
}

#[test]
fn a_report_with_delays_shows_them_to_the_sender() {
    let receive = Measure::UdpReceive(UdpReceive {
        transit: moments(&[0.001, 0.003]),
        ..udp_receive(900, 1, 0, 0)
    });
    let mut row = total(row(flow(), (0, 1000), 12_500_000, receive));
    row.trip_times = true;
    let shown = render(&[Event::ServerReport {
        row,
        enhanced: true,
    }])
    .stdout;
    assert!(
        shown.contains("\n  delay ms                         2.000  (1.000 to 3.000)\n"),
        "{shown}"
    );
    assert!(
        shown.contains("delay 2.000 ms (1.000 to 3.000)\n"),
        "{shown}"
    );
}

#[test]
fn equal_percentiles_stand_together_and_silence_has_none() {
    let shown = render(&[
        histogram(Phase::Interval, &[]),
        histogram(Phase::Interval, &[50_000; 200]),
    ])
    .stdout;
    assert_eq!(
        shown,
        "     1  delay of bursts: p50-p99 <0.100 ms, 200 samples\n"
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
    let shown = render(&[Event::Row(row(flow(), (0, 1000), 12_500_000, receive))]).stdout;
    assert!(shown.contains("  marked  damaged\n"), "{shown}");
    assert!(shown.contains("       3        2\n"), "{shown}");
}

#[test]
fn a_sender_says_how_its_datagrams_left() {
    let send_timing = |group, gaps| {
        render(&[Event::SendTiming(SendTiming {
            tag: tag(1),
            group,
            gaps,
        })])
        .stdout
    };
    let gaps = GapErrors {
        gap: Duration::from_nanos(2352),
        p50: Duration::from_nanos(16),
        p99: Duration::from_micros(11),
        max: Duration::from_micros(250),
        back_to_back: 0.0012,
        late: 3,
    };
    assert_eq!(
        send_timing(4, Some(gaps)),
        text(&[
            "flow 1: gaps of 2.35 us, 4 datagrams together, kept to 0.02 us (p50), 11.00 us \
             (p99), 250.00 us (max); 0.12 % back to back, 3 late",
        ])
    );
    assert_eq!(
        send_timing(44, None),
        text(&["flow 1: up to 44 datagrams left with one call"])
    );
    assert_eq!(send_timing(1, None), "");
}

#[test]
fn shared_arrival_times_are_told_with_the_total() {
    let receive = |joined| {
        Measure::UdpReceive(UdpReceive {
            joined,
            ..udp_receive(900, 0, 0, 0)
        })
    };
    let shown = |row| render(&[Event::Row(row)]).stdout;
    let sentence = "flow 1: 50.0 % of the datagrams came joined by the kernel";
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
fn times_and_keys_are_told_beside_the_numbers() {
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
            "note: flow 1: begins at 23:05:58, in 2.00 s",
            "warning: flow 1: its start at 23:05:55 has passed, it begins at once [start-time-passed]",
            "note: flow 1: clocks compared: round trip 0.500 ms, to the server 0.200 ms, back 0.300 ms",
            "warning: flow 1: clocks compared: round trip 0.500 ms, to the server -0.200 ms, back 0.700 ms: \
             they disagree by about 0.450 ms, and one-way delays with them [clocks-compared]",
            "warning: refused 192.168.77.2:5001: wrong or missing permit key [permit-key-refused]",
        ])
    );
}

#[test]
fn frames_that_tcp_did_not_bring_were_not_sent() {
    let mut frames = total(row(
        flow(),
        (0, 1000),
        12_500_000,
        bursts(BurstKind::Frame, &[0.001, 0.003]),
    ));
    frames.trip_times = true;
    let shown = render(&[Event::Row(frames)]).stdout;
    assert!(shown.contains("  late frames   delay ms"), "{shown}");
    assert!(shown.contains("missed)\n"), "{shown}");
    // What takes a burst of an unknown clock to come is no delay.
    let kind = BurstKind::Periodic {
        period: Duration::from_millis(500),
    };
    let unstamped = total(row(flow(), (0, 1000), 12_500_000, bursts(kind, &[0.001])));
    let shown = render(&[Event::Row(unstamped)]).stdout;
    assert!(!shown.contains("delay"), "{shown}");
}
