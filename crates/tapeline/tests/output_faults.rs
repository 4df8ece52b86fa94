//! Output that goes nowhere, or too slowly.

#![cfg(target_os = "linux")]

#[allow(dead_code, reason = "each test file uses its part")]
mod program;

use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::net::TcpListener;
use std::process::Stdio;

use program::{Program, Server, command};
use rustix::process::Signal;

/// A device without any space.
fn full() -> Stdio {
    let device = File::options().write(true).open("/dev/full");
    device.expect("the device").into()
}

fn words(line: &str) -> Vec<&str> {
    line.split_whitespace().collect()
}

#[test]
fn a_client_that_cannot_report_ends_and_says_so_once() {
    let server = Server::native("");
    let port = server.port;
    for habits in ["--as tapeline", "--as iperf"] {
        for arguments in ["-t 30 -i 0.1", "-n 100K"] {
            let line = format!("{habits} -c 127.0.0.1 -p {port} {arguments}");
            let mut client = command(&words(&line));
            client.stdout(full());
            let ended = Program::spawn_writing(client).end();
            assert_eq!(
                ended.stderr,
                "error: the report cannot be written: No space left on device\n"
            );
            assert_eq!(ended.code(), Some(1), "{line}");
        }
    }
    server.serves("");
}

#[test]
fn a_server_that_cannot_report_goes_on_serving() {
    // No banner tells the port, so it is chosen here.
    let free = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = free.local_addr().expect("its address").port();
    drop(free);
    let mut server = command(&words(&format!("--as iperf -s -p {port} -i 0.1")));
    server.stdout(full());
    let program = Program::spawn_writing(server);
    let server = Server { program, port };
    for _ in 0..3 {
        // The first one may come before the server listens.
        let retry = "--connect-retry-time 10 --connect-retry-timer 0.05";
        let line = format!("-c 127.0.0.1 -p {port} -n 100K {retry}");
        assert_eq!(Program::iperf(&line).end().code(), Some(0));
    }
    server.program.signal(Signal::INT);
    let ended = server.program.end();
    assert_eq!(
        ended.stderr,
        "error: the report cannot be written: No space left on device\n"
    );
    assert_eq!(ended.code(), Some(1));
}

#[test]
fn a_reader_that_goes_away_ends_the_run_quietly() {
    let server = Server::native("");
    let port = server.port;
    for line in [
        format!("--as tapeline -c 127.0.0.1 -p {port} -t 30 -i 0.1"),
        format!("--as iperf -c 127.0.0.1 -p {port} -t 30 -i 0.1"),
        "--as iperf -s -p 0".to_owned(),
    ] {
        let (reader, writer) = std::io::pipe().expect("a pipe");
        let mut client = command(&words(&line));
        client.stdout(writer);
        let program = Program::spawn_writing(client);
        let mut first = String::new();
        let mut reader = BufReader::new(reader);
        reader.read_line(&mut first).expect("the first line");
        drop(reader);
        let is_server = line.contains(" -s ");
        if is_server {
            // It writes nothing more until somebody comes or it ends.
            program.signal(Signal::INT);
        }
        let ended = program.end();
        assert_eq!(
            (ended.code(), ended.stderr.as_str()),
            (Some(0), ""),
            "{line}"
        );
    }
    server.serves("");
}

#[test]
fn a_slow_reader_does_not_slow_the_traffic() {
    let mut server = Server::iperf("");
    let port = server.port;
    let (mut reader, writer) = std::io::pipe().expect("a pipe");
    // Room for some fifty rows of the two hundred.
    rustix::pipe::fcntl_setpipe_size(&writer, 4096).expect("a small pipe");
    let line = format!("--as iperf -c 127.0.0.1 -p {port} -t 1 -i 0.005");
    let mut client = command(&words(&line));
    client.stdout(writer);
    let program = Program::spawn_writing(client);
    // The server has it all while nobody has read a row.
    let of_server = server.program.line(" 0.00-1.");
    let mut text = String::new();
    reader.read_to_string(&mut text).expect("text");
    let ended = program.end();
    assert_eq!((ended.code(), ended.stderr.as_str()), (Some(0), ""));
    let total = text.lines().last().expect("a total");
    let amount = |row: &str| row.split("Bytes").next().map(|row| row[20..].to_owned());
    assert_eq!(amount(total), amount(&of_server), "{total} {of_server}");
    assert!(text.lines().filter(|row| row.contains(" sec ")).count() > 150);
    assert_eq!(server.stop().code(), Some(0));
}
