//! A server as those who run it see it: its readiness, its limits, and how they change while it runs.

#![cfg(unix)]

#[allow(dead_code, reason = "each test file uses its part")]
mod program;

use std::os::unix::net::UnixDatagram;
use std::process::Command;

use program::{Ended, Program, SOON, Server, command};
use rustix::process::Signal;
use tempfile::TempDir;

/// What systemd is to a service.
struct Manager {
    socket: UnixDatagram,
    folder: TempDir,
}

impl Manager {
    fn new() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let socket = UnixDatagram::bind(folder.path().join("notify")).expect("a socket");
        socket.set_read_timeout(Some(SOON)).expect("a timeout");
        Self { socket, folder }
    }

    /// The next state that the service tells.
    fn state(&self) -> String {
        let mut message = [0; 200];
        let length = self.socket.recv(&mut message).expect("a state");
        String::from_utf8_lossy(&message[..length]).into_owned()
    }

    fn write(&self, configuration: &str) -> String {
        let path = self.folder.path().join("server.toml");
        std::fs::write(&path, configuration).expect("written");
        path.display().to_string()
    }

    /// A server that reports here.
    fn serve(&self, configuration: &str) -> Server {
        let path = self.write(configuration);
        let mut command = command(&["-s", "-p", "0", "--config", &path]);
        command.env("NOTIFY_SOCKET", self.folder.path().join("notify"));
        let server = Server::of(Program::spawn(command));
        assert_eq!(self.state(), "READY=1");
        server
    }

    /// Lets a server read another configuration.
    fn reload(&self, server: &Server, configuration: &str) {
        self.write(configuration);
        server.program.signal(Signal::HUP);
        let state = self.state();
        assert!(state.starts_with("RELOADING=1\nMONOTONIC_USEC="), "{state}");
        assert_eq!(self.state(), "READY=1");
    }
}

/// A short test in which the server sends, so that nothing comes where nobody serves.
fn client(server: &Server, options: &str) -> Ended {
    let port = server.port;
    Program::native(&format!("-c 127.0.0.1 -p {port} -R -n 100K {options}")).end()
}

#[test]
fn a_running_server_takes_other_limits_and_tells_its_manager() {
    let manager = Manager::new();
    let server = manager.serve("deny = 'none'");
    assert_eq!(client(&server, "").code(), Some(0));
    manager.reload(&server, "deny = ['127.0.0.0/8', '::1']");
    assert_ne!(client(&server, "").code(), Some(0));
    // A file that is wrong changes nothing.
    manager.reload(&server, "denny = 'none'");
    assert_ne!(client(&server, "").code(), Some(0));
    manager.reload(&server, "");
    assert_eq!(client(&server, "").code(), Some(0));
    server.program.signal(Signal::TERM);
    assert_eq!(manager.state(), "STOPPING=1");
    let ended = server.program.end();
    assert_eq!(ended.code(), Some(0), "{}", ended.stderr);
    for part in [
        "read anew",
        "stay as they are",
        "did you mean deny?",
        "is not served",
    ] {
        assert!(ended.stderr.contains(part), "{part}: {}", ended.stderr);
    }
}

#[test]
fn a_server_without_a_file_ends_when_its_terminal_is_gone() {
    let server = Server::native("");
    server.program.signal(Signal::HUP);
    assert_eq!(server.program.end().code(), None);
}

#[test]
fn a_descriptor_hears_that_the_server_listens() {
    let mut shell = Command::new("sh");
    // Descriptor 3 is what we read.
    shell.args(["-c", "exec \"$0\" \"$@\" 3>&1 >/dev/null"]);
    shell.arg(env!("CARGO_BIN_EXE_tapeline"));
    shell.args(["-s", "-p", "0", "--ready-fd", "3"]);
    let mut server = Program::spawn(shell);
    assert_eq!(server.line(""), "");
    server.signal(Signal::TERM);
    assert_eq!(server.end().code(), Some(0));
}

#[test]
fn addresses_are_served_as_they_are_allowed_and_denied() {
    for options in [
        "--deny 127.0.0.0/8",
        "--allow 192.0.2.0/24",
        "--allow 127.0.0.0/8 --deny 127.0.0.1",
    ] {
        let server = Server::native(options);
        for transport in ["", "-u", "--peer iperf3"] {
            let ended = client(&server, transport);
            assert_ne!(
                ended.code(),
                Some(0),
                "{options} {transport}: {}",
                ended.stdout
            );
        }
        assert!(server.stop().stderr.contains("its address is not served"));
    }
    let server = Server::native("--allow 127.0.0.0/8 --deny 192.0.2.0/24");
    assert_eq!(client(&server, "").code(), Some(0));
    assert_eq!(client(&server, "-u").code(), Some(0));
}

#[test]
fn limits_are_those_that_were_given() {
    let server = Server::native("--trust none --limit streams-of-test=2");
    assert_eq!(client(&server, "-P 2").code(), Some(0));
    assert_ne!(client(&server, "-P 3").code(), Some(0));
    assert_ne!(client(&server, "-P 3 --peer iperf3").code(), Some(0));
    let ended = server.stop();
    let reason = "its test has 3 streams, of 2 at most";
    assert!(ended.stderr.contains(reason), "{}", ended.stderr);
}

/// Each further heap of glibc would reserve 64 MiB.
#[cfg(all(target_os = "linux", target_env = "gnu", target_pointer_width = "64"))]
#[test]
fn threads_share_one_heap() {
    let server = Server::native("");
    for options in ["-P 4", "-u -P 4"] {
        assert_eq!(client(&server, options).code(), Some(0));
    }
    let status = std::fs::read_to_string(format!("/proc/{}/status", server.program.id()));
    let status = status.expect("the state of the server");
    let size = status.lines().find_map(|line| line.strip_prefix("VmPeak:"));
    let kib = size.and_then(|size| size.split_whitespace().next()?.parse::<u64>().ok());
    // The stacks of its threads are reserved too, 2 MiB each.
    assert!(kib.expect("a size") < 100 << 10, "{size:?}");
}
