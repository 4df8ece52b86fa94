//! What tapeline's own text looks like.

use crate::scenario::{
    client, connected, round_trips, row, server, tag, tcp_receive, tcp_send, total, udp_receive,
    udp_send,
};
use tapeline_base::Transport::{Tcp, Udp};
use tapeline_report::{
    Event, Exclude, Judgement, Measure, NativeText, Notice, Output, Renderer, Row, Style, Subject,
    Terminal,
};
use tapeline_stats::{Certainty, LimitedBy, ReceiverEvidence, SenderEvidence, Verdict};

/// Tells events and closes; `(stdout, stderr)`.
fn tell(style: Style, terminal: Terminal, events: &[Event]) -> (String, String) {
    let style = Style { utc: true, ..style };
    let mut renderer = NativeText::new(style, terminal);
    let mut out = Output::default();
    for event in events {
        renderer.render(event, &mut out);
    }
    renderer.finish(&mut out);
    (out.stdout, out.stderr)
}

fn plain(events: &[Event]) -> String {
    tell(Style::default(), Terminal::default(), events).0
}

fn rows(rows: impl IntoIterator<Item = Row>) -> Vec<Event> {
    rows.into_iter().map(Event::Row).collect()
}

fn flow(id: u32) -> Subject {
    Subject::Flow(tag(id))
}

/// Expected text, written with a margin.
fn text(lines: &[&str]) -> String {
    lines.iter().map(|line| format!("{line}\n")).collect()
}

fn tcp_client() -> Vec<Event> {
    let mut events = vec![client(Tcp, 1), connected(1, Tcp)];
    events.extend(rows([
        row(flow(1), (0, 1000), 1_357_772_000, tcp_send(10_360, 0)),
        row(flow(1), (1000, 2000), 1_182_793_728, tcp_send(9023, 531)),
        total(row(
            flow(1),
            (0, 2003),
            2_540_697_600,
            tcp_send(19_384, 531),
        )),
    ]));
    events
}

fn udp_client() -> Vec<Event> {
    let mut events = vec![client(Udp, 1), connected(1, Udp)];
    events.extend(rows([
        row(flow(1), (0, 1000), 132_300, udp_send(90)),
        total(row(flow(1), (0, 2019), 266_070, udp_send(181))),
    ]));
    events
}

fn receiver(bytes: u64, numbers: (u64, u64, u64, u64)) -> Row {
    let (datagrams, lost, reordered, duplicates) = numbers;
    let measure = Measure::UdpReceive(udp_receive(datagrams, lost, reordered, duplicates));
    total(row(flow(1), (0, 2018), bytes, measure))
}

#[test]
fn a_tcp_client() {
    assert_eq!(
        plain(&tcp_client()),
        text(&[
            "TCP to server.example port 5001, writes of 128 KiB, bbr, send buffer 16 KiB (system's choice)",
            "flow 1: local 192.168.77.1:46976 (eth0), peer 192.168.77.2:5001, bbr, mss 1448, first rtt 68 us, connected in 110 us,",
            "    at 23:05:56",
            "",
            "  flow        seconds      Gbit/s        MiB  retrans  cwnd KiB    rtt ms  rttvar ms  in flight",
            "  1 ->      0.00-1.00       10.86     1294.9        0      2460     0.422      0.421         97",
            "  1 ->      1.00-2.00        9.46     1128.0      531      2460     0.422      0.421         97",
            "  1 ->      0.00-2.00       10.15     2423.0      531      2460     0.422      0.421         97 total",
            "",
            "goodput  10.15 Gbit/s  to 192.168.77.2, 2.37 GiB in 2.00 s, TCP bbr, 531 retransmissions, as counted by the sender",
        ])
    );
}

#[test]
fn a_udp_client_shows_both_ends_beside_each_other() {
    let mut events = udp_client();
    events.push(Event::ServerReport {
        row: receiver(264_600, (181, 1, 2, 1)),
        enhanced: false,
    });
    assert_eq!(
        plain(&events),
        text(&[
            "UDP to server.example port 5001, target 1.049 Mbit/s, datagrams of 1470 B every 11.21 ms,",
            "    send buffer 208 KiB (system's choice)",
            "flow 1: local 192.168.77.1:46976 (eth0), peer 192.168.77.2:5001, at 23:05:56",
            "",
            "  flow        seconds      Mbit/s        KiB  datagrams      pkt/s  errors",
            "  1 ->      0.00-1.00       1.058      129.2         90         90       0",
            "  1 ->      0.00-2.02       1.054      259.8        181         90       0 total",
            "",
            "flow 1                sender    receiver",
            "  Mbit/s               1.054       1.049",
            "  KiB                  259.8       258.4",
            "  datagrams              181         180",
            "  lost                                 1  (0.55 %)",
            "  reordered                            2",
            "  duplicated                           1",
            "  jitter ms                        0.005",
            "",
            "goodput  1.049 Mbit/s  received by 192.168.77.2, 258 KiB in 2.02 s, UDP, 1 of 181 datagrams lost (0.55 %),",
            "         jitter 0.005 ms, sent at 1.054 Mbit/s",
        ])
    );
}

#[test]
fn a_udp_client_without_a_report_claims_no_goodput() {
    let mut events = udp_client();
    events.push(Event::Notice(Notice::NoServerReport {
        tag: tag(1),
        tries: 10,
    }));
    let (stdout, stderr) = tell(Style::default(), Terminal::default(), &events);
    let sentence = "warning: flow 1: no report from the receiver after 10 tries: what it received is unknown\n";
    assert_eq!(stderr, sentence);
    let headline =
        "\nsent     1.054 Mbit/s  to 192.168.77.2, 260 KiB in 2.02 s, UDP, received: unknown\n";
    assert!(
        stdout.ends_with(&(headline.to_owned() + sentence)),
        "{stdout}"
    );
}

#[test]
fn a_peer_that_mixes_reordered_and_duplicated_is_not_misquoted() {
    let mut report = receiver(264_600, (181, 1, 0, 0));
    if let Measure::UdpReceive(numbers) = &mut report.measure {
        numbers.out_of_order = 7;
    }
    let mut events = udp_client();
    events.push(Event::ServerReport {
        row: report,
        enhanced: false,
    });
    let shown = plain(&events);
    assert!(
        shown.contains("\n  late or twice                        7\n"),
        "{shown}"
    );
    assert!(!shown.contains("reordered"), "{shown}");
}

#[test]
fn a_server_concludes_each_time_it_gets_idle() {
    let mut events = vec![server(Udp), connected(1, Udp)];
    let measure = Measure::UdpReceive(udp_receive(90, 0, 0, 0));
    events.extend(rows([
        row(flow(1), (0, 1000), 132_300, measure),
        receiver(264_600, (181, 1, 2, 1)),
    ]));
    events.push(Event::Idle);
    events.extend(rows([total(row(
        flow(2),
        (0, 2003),
        2_540_697_600,
        tcp_receive(19_384),
    ))]));
    events.push(Event::Idle);
    assert_eq!(
        plain(&events),
        text(&[
            "listening on UDP port 5001 (IPv6 and IPv4), receive buffer 128 KiB (system's choice)",
            "flow 1: local 192.168.77.1:46976 (eth0), peer 192.168.77.2:5001, at 23:05:56",
            "",
            "  flow        seconds      Mbit/s        KiB   received     lost   loss %  reordered    dup  jitter ms      pkt/s",
            "  1 <-      0.00-1.00       1.058      129.2         90        0     0.00          0      0      0.004         89",
            "  1 <-      0.00-2.02       1.049      258.4        180        1     0.55          2      1      0.004         89 total",
            "",
            "goodput  1.049 Mbit/s  from 192.168.77.2, 258 KiB in 2.02 s, UDP, 1 of 181 datagrams lost (0.55 %), jitter 0.005 ms",
            "",
            "",
            "  flow        seconds      Gbit/s        MiB      reads  bytes/read",
            "  2 <-      0.00-2.00       10.15     2423.0      19384      131071 total",
            "",
            "goodput  10.15 Gbit/s  from 192.168.77.2, 2.37 GiB in 2.00 s, TCP",
            "",
        ])
    );
}

#[test]
fn parallel_flows_have_sums_and_one_headline() {
    let mut events = vec![client(Tcp, 2)];
    let sum = Subject::Sum { flows: 2 };
    events.extend(rows([
        row(flow(1), (0, 1000), 50_000_000, tcp_send(400, 0)),
        row(flow(2), (0, 1000), 25_000_000, tcp_send(200, 1)),
        row(sum, (0, 1000), 75_000_000, tcp_send(600, 1)),
        total(row(flow(1), (0, 1000), 50_000_000, tcp_send(400, 0))),
        total(row(flow(2), (0, 1000), 25_000_000, tcp_send(200, 1))),
        total(row(sum, (0, 1000), 75_000_000, tcp_send(600, 1))),
    ]));
    let shown = plain(&events);
    assert!(
        shown.contains("\nsum ->      0.00-1.00       600.0      71.53        1"),
        "{shown}"
    );
    let headline = "goodput  600.0 Mbit/s  to 192.168.77.2, 71.5 MiB in 1.00 s, 2 flows, TCP bbr, 1 retransmission,\n";
    assert!(shown.contains(headline), "{shown}");
    let style = Style {
        sum_only: true,
        ..Style::default()
    };
    let shown = tell(style, Terminal::default(), &events).0;
    assert!(!shown.contains("  1 ->"), "{shown}");
    assert_eq!(shown.matches("sum ->").count(), 2, "{shown}");
}

#[test]
fn units_stay_when_the_rate_drops() {
    let shown = plain(&rows([
        row(flow(1), (0, 1000), 125_000_000, tcp_send(1, 0)),
        row(flow(1), (1000, 2000), 125_000, tcp_send(1, 0)),
        row(flow(1), (2000, 3000), 100, tcp_send(1, 0)),
        row(flow(1), (3000, 4000), 0, tcp_send(1, 0)),
    ]));
    let rates: Vec<&str> = shown
        .lines()
        .skip(1)
        .filter_map(|line| line.split_whitespace().nth(3).or(Some("")))
        .collect();
    assert_eq!(rates, ["MiB", "1000.0", "1.0", "<0.1", "0.0"], "{shown}");
}

#[test]
fn narrow_terminals_show_less_and_wrap() {
    let terminal = Terminal {
        width: 60,
        ..Terminal::default()
    };
    let shown = tell(Style::default(), terminal, &tcp_client()).0;
    assert!(
        shown.lines().all(|line| line.chars().count() <= 60),
        "{shown}"
    );
    assert!(
        shown.contains("\n  flow        seconds      Gbit/s        MiB  retrans\n"),
        "{shown}"
    );
}

#[test]
fn colours_and_arrows_only_where_wanted() {
    let terminal = Terminal {
        colour: true,
        unicode: true,
        ..Terminal::default()
    };
    let events = rows([total(row(flow(1), (0, 2003), 4000, round_trips()))]);
    let shown = tell(Style::default(), terminal, &events).0;
    assert!(shown.contains("\u{1b}[1m   1 ↔"), "{shown:?}");
    assert!(plain(&events).is_ascii());
    assert!(!plain(&events).contains('\u{1b}'));
}

#[test]
fn round_trips_are_the_headline_of_their_test() {
    let shown = plain(&rows([total(row(flow(1), (0, 2003), 4000, round_trips()))]));
    assert_eq!(
        shown,
        text(&[
            "",
            "  flow        seconds      kbit/s        KiB     trips   trips/s   mean ms   min ms   p50 ms   p99 ms    max ms",
            "  1 <>      0.00-2.00       15.98      3.906        20     18182     0.055    0.014    0.042        -     0.282 total",
            "",
            "latency  0.055 ms  mean round trip, 0.014 min, 0.282 max, 20 trips, 18182 per second",
        ])
    );
}

#[test]
fn what_is_left_out_stays_out() {
    let exclude = Exclude {
        connection: true,
        settings: true,
        data: true,
        server_report: true,
        ..Exclude::default()
    };
    let style = Style {
        exclude,
        ..Style::default()
    };
    let mut events = udp_client();
    events.push(Event::ServerReport {
        row: receiver(264_600, (181, 1, 2, 1)),
        enhanced: false,
    });
    let shown = tell(style, Terminal::default(), &events).0;
    assert!(shown.starts_with("\ngoodput  1.049 Mbit/s"), "{shown}");
}

#[test]
fn hidden_addresses_do_not_leak() {
    let style = Style {
        hide_addresses: true,
        ..Style::default()
    };
    let mut events = vec![Event::Notice(Notice::PeerRefused {
        peer: "192.168.77.9:1234".parse().expect("an address"),
        reason: "no test\u{1b}[2J".to_owned(),
    })];
    events.extend(tcp_client());
    let (stdout, stderr) = tell(style, Terminal::default(), &events);
    for shown in [&stdout, &stderr] {
        assert!(!shown.contains("192.168"), "{shown}");
        assert!(!shown.contains("server.example"), "{shown}");
    }
    assert_eq!(stderr, "warning: refused *.*.*.9:1234: no test?[2J\n");
    assert!(
        !stdout.contains("refused"),
        "it is no matter of the test: {stdout}"
    );
}

#[test]
fn a_warning_is_said_at_once_and_again_with_the_result() {
    let mut events = vec![Event::Notice(Notice::CpuSaturated {
        tag: tag(1),
        share: 0.97,
    })];
    events.extend(tcp_client());
    let (stdout, stderr) = tell(Style::default(), Terminal::default(), &events);
    let sentence = "warning: flow 1: this end used 97.0 % of a processor: the network may carry more (try -P, or a larger -l)\n";
    assert_eq!(stderr, sentence);
    assert!(stdout.ends_with(sentence), "{stdout}");
}

#[test]
fn a_server_that_never_rests_keeps_a_bounded_number_of_verdicts() {
    let judgement = Event::Judgement(Box::new(Judgement {
        flows: vec![tag(1)],
        transport: Tcp,
        local_sends: false,
        sender: SenderEvidence::default(),
        receiver: ReceiverEvidence::default(),
        verdict: Verdict {
            limited_by: Some(LimitedBy::Network),
            certainty: Certainty::High,
            findings: Vec::new(),
        },
    }));
    let mut events = vec![server(Tcp), connected(1, Tcp)];
    events.extend(std::iter::repeat_n(judgement, 1000));
    events.extend(rows([total(row(flow(1), (0, 1000), 1000, tcp_receive(9)))]));
    events.push(Event::Idle);
    let shown = plain(&events).matches("limited by").count();
    assert!((1..100).contains(&shown), "{shown}");
}
