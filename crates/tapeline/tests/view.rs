//! The live view on a terminal: what it writes, and that the terminal is as it was afterwards.

#![cfg(all(target_os = "linux", feature = "tui"))]

#[allow(dead_code, reason = "each test file uses its part")]
mod program;
#[allow(dead_code, reason = "each test file uses its part")]
mod terminal;

use std::fs::File;
use std::io::Write;
use std::process::{Child, ExitStatus};
use std::sync::mpsc::Receiver;
use std::time::Instant;

use program::{SOON, Server, command};
use rustix::process::{Pid, Signal, kill_process};
use rustix::termios::{LocalModes, tcgetattr};
use terminal::OnTerminal;

const ENTER: &str = "\x1b[?1049h";
const LEAVE: &str = "\x1b[?1049l";

/// tapeline on a terminal of its own.
struct Viewed {
    child: Child,
    /// Our end of the terminal's other side.
    terminal: File,
    /// What is typed on it.
    keys: File,
    chunks: Receiver<Vec<u8>>,
    seen: String,
}

impl Viewed {
    fn start(arguments: &str) -> Self {
        let words: Vec<&str> = arguments.split_whitespace().collect();
        let mut command = command(&words);
        command.env("LC_ALL", "C.UTF-8");
        let OnTerminal {
            child,
            terminal,
            keys,
            chunks,
        } = OnTerminal::spawn(command, 100);
        Self {
            child,
            terminal,
            keys,
            chunks,
            seen: String::new(),
        }
    }

    /// Waits until the terminal has shown this.
    fn shows(&mut self, part: &str) {
        self.shows_behind("", part);
    }

    /// Waits until the terminal has shown this behind something else.
    fn shows_behind(&mut self, head: &str, part: &str) {
        let until = Instant::now() + SOON;
        let shown = |seen: &str| {
            seen.split_once(head)
                .is_some_and(|(_, rest)| rest.contains(part))
        };
        while !shown(&self.seen) {
            let left = until.saturating_duration_since(Instant::now());
            match self.chunks.recv_timeout(left) {
                Ok(bytes) => self.seen.push_str(&String::from_utf8_lossy(&bytes)),
                Err(error) => {
                    let latest: Vec<char> = self.seen.chars().rev().take(2000).collect();
                    let latest: String = latest.into_iter().rev().collect();
                    panic!("no {part:?} ({error}) at the end of {latest:?}");
                }
            }
        }
    }

    fn echoes(&self) -> bool {
        let modes = tcgetattr(&self.terminal).expect("its attributes");
        modes.local_modes.contains(LocalModes::ECHO)
    }

    fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).expect("a running process");
    }

    fn types(&mut self, keys: &[u8]) {
        self.keys.write_all(keys).expect("the terminal");
    }

    /// Waits for the end, and for the last thing to be shown behind the view; all that was shown.
    fn end(mut self, last: &str) -> (ExitStatus, String) {
        self.shows(LEAVE);
        let until = Instant::now() + SOON;
        let status = loop {
            match self.child.try_wait().expect("a child") {
                Some(status) => break status,
                None => assert!(Instant::now() < until, "still running: {:?}", self.seen),
            }
            std::thread::sleep(std::time::Duration::from_millis(5));
        };
        assert!(self.echoes(), "the terminal is not as it was");
        self.shows_behind(LEAVE, last);
        (status, std::mem::take(&mut self.seen))
    }
}

impl Drop for Viewed {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn a_client_shows_its_test_and_tells_it_afterwards() {
    let server = Server::native("");
    let mut client = Viewed::start(&format!("-c 127.0.0.1 -p {} -t 30 -P 2 --tui", server.port));
    client.shows(ENTER);
    // The head of the flows: what is only changed is not written whole.
    client.shows("cwnd KiB");
    assert!(!client.echoes(), "typed keys would be shown");
    client.signal(Signal::INT);
    let (status, seen) = client.end("Throughput ");
    assert!(status.success(), "{seen}");
    let (view, text) = seen.split_once(LEAVE).expect("an end of the view");
    assert!(view.contains("TCP to 127.0.0.1, 2 streams"), "{view:?}");
    assert!(view.contains("q or Ctrl-C ends the test"), "{view:?}");
    assert!(text.contains("Throughput "), "{text:?}");
    assert!(text.contains("  sent"), "{text:?}");
}

#[test]
fn q_ends_the_test_and_p_pauses_the_picture() {
    let server = Server::native("");
    let arguments = format!("-c 127.0.0.1 -p {} -t 30 --tui", server.port);
    let mut client = Viewed::start(&arguments);
    client.shows("cwnd KiB");
    client.types(b"p");
    client.shows("paused at");
    client.types(b"p");
    client.shows("running");
    // What has no meaning changes nothing, and a key that is held ends nothing at once.
    client.types(b"x\x1bqqq");
    let (status, seen) = client.end("Trust ");
    assert!(status.success(), "{seen}");
    let (_, text) = seen.split_once(LEAVE).expect("an end of the view");
    assert!(text.contains("interrupted after"), "{text:?}");
    // A server stops, and a test in both directions or the other one is as whole.
    for direction in ["-R", "--full-duplex", "-u -b 5m"] {
        let mut client = Viewed::start(&format!("{arguments} {direction}"));
        client.shows("running");
        client.types(b"q");
        let (status, seen) = client.end("Trust ");
        assert!(status.success(), "{direction}: {seen}");
    }
    let mut server = Viewed::start("-s -p 0 --tui");
    server.shows("q or Ctrl-C stops the server");
    server.types(b"q");
    let (status, _) = server.end("");
    assert!(status.success());
}

#[test]
fn a_method_shows_its_phases_and_its_page_afterwards() {
    let server = Server::native("");
    let port = server.port;
    let mut method = Viewed::start(&format!("mtu 127.0.0.1 -p {port} --tui"));
    method.shows(ENTER);
    let (status, seen) = method.end("cross in both directions");
    assert!(status.success(), "{seen}");
    let (view, text) = seen.split_once(LEAVE).expect("an end of the view");
    assert!(view.contains("mtu to 127.0.0.1"), "{view:?}");
    assert!(view.contains("Ctrl-C ends the method"), "{view:?}");
    // The title, and a line for each phase that is over.
    assert!(view.matches("packets").count() >= 2, "{view:?}");
    assert!(view.contains("done"), "{view:?}");
    assert!(text.starts_with("path MTU to 127.0.0.1"), "{text:?}");
    assert!(!text.contains("phase 1 of"), "{text:?}");
    let line = format!("find-rate 127.0.0.1 -p {port} --direction up -b 400k -t 30 --tui");
    let mut method = Viewed::start(&line);
    method.shows("search up");
    method.shows("Throughput");
    method.types(b"q");
    let (status, seen) = method.end("interrupted");
    assert_eq!(status.code(), Some(1), "{seen}");
    let (_, text) = seen.split_once(LEAVE).expect("an end of the view");
    let said = "note: interrupted before any phase was over";
    assert!(text.contains(said), "{text:?}");
}

#[test]
fn ctrl_c_in_any_method_gives_the_terminal_back_with_what_was_measured() {
    let server = Server::native("");
    // What the view shows of the phase that is interrupted, and what the page has of those before.
    for (line, title, phase, page) in [
        (
            "rfc6349 --direction up",
            "rfc6349 to",
            "baseline",
            "path MTU",
        ),
        (
            "responsiveness --direction up",
            "responsiveness to",
            "load up",
            "  idle ",
        ),
        (
            "capacity -b 5m",
            "capacity to",
            "capacity up",
            "before any phase",
        ),
        ("try", "try to", "load down", "path MTU"),
    ] {
        let mut method = Viewed::start(&format!("{line} --tui 127.0.0.1 -p {}", server.port));
        method.shows(ENTER);
        method.shows(title);
        method.shows(phase);
        method.signal(Signal::INT);
        let (status, seen) = method.end("interrupted");
        assert_eq!(status.code(), Some(1), "{line}: {seen}");
        let (_, text) = seen.split_once(LEAVE).expect("an end of the view");
        assert!(text.contains(page), "{line}: {text:?}");
    }
}

#[test]
fn a_test_that_fails_gives_the_terminal_back() {
    let refused = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = refused.local_addr().expect("an address").port();
    drop(refused);
    let client = Viewed::start(&format!("-c 127.0.0.1 -p {port} -t 30 --tui"));
    let (status, seen) = client.end("connection refused");
    assert_eq!(status.code(), Some(1), "{seen}");
    let (_, text) = seen.split_once(LEAVE).expect("an end of the view");
    assert!(text.contains("cannot connect to 127.0.0.1"), "{text:?}");
}

#[test]
fn signals_give_the_terminal_back() {
    let mut server = Viewed::start("-s -p 0 --tui");
    server.shows(ENTER);
    server.signal(Signal::TERM);
    let (status, _) = server.end("");
    assert!(status.success());
    // A second signal ends the process at once.
    let peer = Server::native("");
    let mut client = Viewed::start(&format!("-c 127.0.0.1 -p {} -t 30 --tui", peer.port));
    client.shows("cwnd KiB");
    peer.program.signal(Signal::STOP);
    client.signal(Signal::INT);
    client.signal(Signal::TERM);
    let (status, _) = client.end("");
    peer.program.signal(Signal::CONT);
    assert!(status.success());
}

#[test]
fn a_view_needs_a_terminal() {
    let ended = program::Program::native("-s -p 0 --tui").end();
    assert_eq!(ended.code(), Some(1));
    assert_eq!(ended.stderr, "error: --tui needs a terminal\n");
}
