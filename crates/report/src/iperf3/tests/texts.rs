//! Every recorded text, rendered again.

use tapeline_base::Role;

use super::super::{Iperf3Style, Iperf3Text};
use super::recorded_text::Recording;
use super::support::{golden, names, rendered};
use crate::model::{Event, PeerOutput};

/// The text with sockets numbered as ours, without the dates of `--timestamps`.
fn adapted(recording: &Recording<'_>) -> String {
    let sockets = recording.sockets();
    let mut text = String::new();
    let mut foreign = false;
    for line in &recording.lines {
        foreign |= *line == "Server output:";
        let known = sockets
            .iter()
            .position(|socket| !foreign && line.starts_with(&format!("[{socket:3}]")));
        match known {
            Some(at) => text += &format!("[{:3}]{}", 5 + 2 * at, &line[5..]),
            None => text += line,
        }
        text.push('\n');
    }
    text
}

fn style(recording: &Recording<'_>) -> Iperf3Style {
    Iperf3Style {
        version: "iperf 3.21+".to_owned(),
        system_info: "Linux host 6.18.0 #1 SMP PREEMPT_DYNAMIC x86_64".to_owned(),
        format: recording.format(),
        verbose: recording.verbose(),
        one_off: true,
        ..Iperf3Style::default()
    }
}

#[test]
fn recorded_texts_are_rendered_byte_for_byte() {
    let mut compared = 0;
    for name in names(".txt")
        .into_iter()
        .filter(|name| name.starts_with("text-"))
    {
        let role = if name.ends_with(".server.txt") {
            Role::Server
        } else {
            Role::Client
        };
        let base = name.trim_end_matches(".txt").trim_end_matches(".server");
        let command = golden(&format!("{base}.cmd"));
        let mut text = golden(&name);
        // Dates are put before lines by the one that writes them.
        if base == "text-timestamps" && role == Role::Client {
            text = text
                .lines()
                .map(|line| format!("{}\n", &line[11..]))
                .collect();
        }
        // The datagram that was lost at the very end is counted here.
        if name == "text-udp-loss.txt" {
            text = text.replace("1335/3885", "1336/3886");
        }
        let titled = base == "text-tcp-title" && role == Role::Client;
        if titled {
            text = text.replace("lab:  ", "");
        }
        let recording = Recording::new(&text, &command, role);
        let out = rendered(Iperf3Text::new(style(&recording)), &recording.events());
        similar(&name, &out.stdout, &adapted(&recording));
        assert_eq!(out.stderr.trim_end(), recording.stderr(), "{name}");
        if titled {
            let title = Some("lab".to_owned());
            let style = Iperf3Style {
                title,
                ..style(&recording)
            };
            let out = rendered(Iperf3Text::new(style), &recording.events());
            let prefixed = out.stdout.lines().all(|line| line.starts_with("lab:  "));
            assert!(prefixed, "{}", out.stdout);
        }
        compared += 1;
    }
    assert!(compared > 30, "{compared}");
}

#[track_caller]
fn similar(name: &str, ours: &str, theirs: &str) {
    for (a, b) in ours.lines().zip(theirs.lines()) {
        assert_eq!(a, b, "{name}\n{ours}");
    }
    assert_eq!(ours, theirs, "{name}");
}

#[test]
fn what_a_server_printed_moves_no_cursor() {
    let text = golden("text-tcp.txt");
    let command = golden("text-tcp.cmd");
    let recording = Recording::new(&text, &command, Role::Client);
    let mut events = recording.events();
    for event in &mut events {
        if let Event::TestEnd(end) = event {
            let printed = "gone\u{1b}[2J\r\n\tand\u{9b}back\n\n".to_owned();
            end.peer_output = Some(PeerOutput::Text(printed));
        }
    }
    let out = rendered(Iperf3Text::new(style(&recording)), &events);
    let shown = "\nServer output:\ngone?[2J?\n\tand?back\n\n";
    assert!(out.stdout.contains(shown), "{}", out.stdout);
}
