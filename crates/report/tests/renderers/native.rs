//! What tapeline's own text looks like.

use crate::scenario::{client, connected, row, tag, tcp_send, total, udp_receive, udp_send};
use tapeline_base::Transport::{Tcp, Udp};
use tapeline_report::{
    Event, Exclude, Measure, NativeText, Notice, Output, Renderer, Row, Style, Subject, Terminal,
};

/// Tells events and closes; `(stdout, stderr)`.
fn render(style: Style, terminal: Terminal, events: &[Event]) -> (String, String) {
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
    render(Style::default(), Terminal::default(), events).0
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
fn what_is_not_zero_gets_a_column() {
    let mut events = udp_client();
    events.push(Event::ServerReport {
        row: receiver(264_600, (181, 1, 2, 1)),
        enhanced: false,
    });
    assert_eq!(
        plain(&events),
        text(&[
            "UDP to server.example port 5001, 1 stream at 1.05 Mbit/s, 1470-byte datagrams, 2026-11-20 23:05:56",
            "from 192.168.77.1 (eth0), server is iperf 2",
            "",
            "      seconds   Mbit/s      KiB  datagrams     lost   loss %  jitter ms",
            "    0.00-1.00     1.06      129         90",
            "    0.00-2.02     1.05      260        181                               sent",
            "      seconds   Mbit/s      KiB  datagrams     lost   loss %  jitter ms  reordered  dup",
            "    0.00-2.02     1.05      258        180        1    0.552      0.005          2    1  received",
            "",
            "Throughput   1.05 Mbit/s received by 192.168.77.2, of 1.05 Mbit/s sent",
            "Loss         0.552 % (1 of 181), place unknown (server is iperf 2)",
            "Jitter       0.005 ms",
            "Trust        partial: the server's CPU and buffers are unknown (iperf 2)",
        ])
    );
}

#[test]
fn a_udp_client_without_a_report_does_not_know_what_arrived() {
    let mut events = udp_client();
    events.push(Event::Notice(Notice::NoServerReport {
        tag: tag(1),
        tries: 10,
    }));
    let (stdout, stderr) = render(Style::default(), Terminal::default(), &events);
    let sentence = "warning: no report from the server after 10 tries: what it received is unknown [no-receiver-report]\n";
    assert_eq!(stderr, sentence);
    let headline = "
Throughput   1.05 Mbit/s sent to 192.168.77.2 (260 KiB in 2.02 s)
Trust        poor: no report from the server [no-receiver-report]
";
    assert!(stdout.ends_with(headline), "{stdout}");
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
        shown.contains("  reordered or dup\n") && shown.contains("                 7  received\n"),
        "{shown}"
    );
    assert!(!shown.contains("  reordered  "), "{shown}");
}

#[test]
fn parallel_streams_have_sums_and_one_answer() {
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
    for line in [
        "\n       sum      0.00-1.00      600     71.5        1\n",
        "\n         2      0.00-1.00      200     23.8        1  sent\n",
        "\n       sum      0.00-1.00      600     71.5        1  sent\n",
        "\nStreams      fastest 400 Mbit/s (1), slowest 200 (2), fairness 0.90\n",
    ] {
        assert!(shown.contains(line), "{line}: {shown}");
    }
    let style = Style {
        sum_only: true,
        ..Style::default()
    };
    let shown = render(style, Terminal::default(), &events).0;
    assert_eq!(shown.matches("\n       sum ").count(), 2, "{shown}");
    assert!(!shown.contains("\n         1 "), "{shown}");
    let style = Style {
        enhanced: true,
        ..Style::default()
    };
    let shown = render(style, Terminal::default(), &events).0;
    assert_eq!(shown.matches("\n         1 ").count(), 2, "{shown}");
}

#[test]
fn units_stay_when_the_rate_drops() {
    let mut events = vec![client(Tcp, 1), connected(1, Tcp)];
    events.extend(rows([
        row(flow(1), (0, 1000), 125_000_000, tcp_send(1, 0)),
        row(flow(1), (1000, 2000), 125_000, tcp_send(1, 0)),
        row(flow(1), (2000, 3000), 10, tcp_send(1, 0)),
        row(flow(1), (3000, 4000), 0, tcp_send(1, 0)),
    ]));
    let shown = plain(&events);
    let table = shown.lines().skip_while(|line| !line.contains("seconds"));
    let rates = table.map(|line| line.split_whitespace().nth(1).unwrap_or(""));
    let rates: Vec<&str> = rates.collect();
    assert_eq!(rates, ["Mbit/s", "1000", "1.00", "<0.001", "0"], "{shown}");
}

#[test]
fn narrow_terminals_show_less_and_wrap() {
    let terminal = Terminal {
        width: 60,
        ..Terminal::default()
    };
    let shown = render(Style::default(), terminal, &tcp_client()).0;
    assert!(
        shown.lines().take(6).all(|line| line.chars().count() <= 60),
        "{shown}"
    );
    assert!(
        shown.contains("\n      seconds   Gbit/s      MiB  retrans   rtt ms\n"),
        "{shown}"
    );
}

#[test]
fn colours_only_where_wanted() {
    let terminal = Terminal {
        colour: true,
        ..Terminal::default()
    };
    let shown = render(Style::default(), terminal, &tcp_client()).0;
    for painted in [
        "\u{1b}[2m      seconds ",
        "Throughput   \u{1b}[1m10.1 Gbit/s",
        "Trust        \u{1b}[33mpartial\u{1b}[0m: ",
    ] {
        assert!(shown.contains(painted), "{painted:?}: {shown:?}");
    }
    assert!(plain(&tcp_client()).is_ascii());
    assert!(!plain(&tcp_client()).contains('\u{1b}'));
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
    let shown = render(style, Terminal::default(), &events).0;
    assert!(
        !shown.contains("UDP to") && !shown.contains("from 192"),
        "{shown}"
    );
    assert!(
        !shown.contains("0.00-1.00") && !shown.contains("  received\n"),
        "{shown}"
    );
    assert!(shown.contains("\nThroughput   1.05 Mbit/s"), "{shown}");
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
    let (stdout, stderr) = render(style, Terminal::default(), &events);
    for shown in [&stdout, &stderr] {
        assert!(!shown.contains("192.168"), "{shown}");
        assert!(!shown.contains("server.example"), "{shown}");
    }
    assert_eq!(
        stderr,
        "warning: refused *.*.*.9:1234: no test?[2J [client-refused]\n"
    );
    assert!(
        !stdout.contains("refused"),
        "it is no matter of the test: {stdout}"
    );
}

#[test]
fn a_warning_is_said_at_once_and_not_again() {
    let saturated = Event::Notice(Notice::CpuSaturated {
        tag: tag(1),
        share: 0.97,
    });
    let mut events = vec![saturated.clone(), saturated];
    events.extend(tcp_client());
    let (stdout, stderr) = render(Style::default(), Terminal::default(), &events);
    let sentence = "warning: this host's CPU limits stream 1 (97 % of one core): try -P 2 or a larger -l [cpu-saturated]\n";
    assert_eq!(stderr, sentence);
    assert!(!stdout.contains("warning"), "{stdout}");
}
