//! A server as those who run it see it: its readiness, its limits, and how they change while it runs.

#![cfg(unix)]

#[allow(dead_code, reason = "each test file uses its part")]
mod program;

use std::net::{TcpListener, UdpSocket};
use std::os::fd::{AsRawFd, OwnedFd};
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
        "limits reloaded",
        "reload failed, limits unchanged: /",
        "did you mean deny?",
    ] {
        assert!(ended.stderr.contains(part), "{part}: {}", ended.stderr);
    }
    let refused = ended.stdout.contains("is not served [client-refused]");
    assert!(refused, "{}", ended.stdout);
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
        assert!(server.stop().stdout.contains("its address is not served"));
    }
    let server = Server::native("--allow 127.0.0.0/8 --deny 192.0.2.0/24");
    assert_eq!(client(&server, "").code(), Some(0));
    assert_eq!(client(&server, "-u").code(), Some(0));
}

#[test]
fn limits_are_those_that_were_given() {
    let server = Server::native("--trust none --limit streams-per-test=2");
    assert_eq!(client(&server, "-P 2").code(), Some(0));
    assert_ne!(client(&server, "-P 3").code(), Some(0));
    assert_ne!(client(&server, "-P 3 --peer iperf3").code(), Some(0));
    let ended = server.stop();
    let reason = "its test has 3 streams, of 2 at most";
    assert!(ended.stdout.contains(reason), "{}", ended.stdout);
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

/// The program, with two sockets that are handed over as systemd does.
struct Handover {
    tcp: OwnedFd,
    udp: OwnedFd,
}

impl Handover {
    /// A server for which these are, or for another `process`; so many descriptors are announced.
    fn announced(&self, process: &str, count: u32, options: &[&str]) -> Program {
        let [tcp, udp] = [&self.tcp, &self.udp].map(AsRawFd::as_raw_fd);
        let mut shell = Command::new("bash");
        let script = format!(
            "export LISTEN_PID={process} LISTEN_FDS={count}; exec \"$0\" \"$@\" 3<&{tcp} 4<&{udp}"
        );
        shell.args(["-c", &script, env!("CARGO_BIN_EXE_tapeline"), "-s"]);
        shell.args(options);
        Program::spawn(shell)
    }

    fn start(&self, options: &[&str]) -> Program {
        self.announced("$$", 2, options)
    }
}

/// A descriptor that a child gets under the same number, far from those that a shell uses.
fn heritable(socket: impl Into<OwnedFd>) -> OwnedFd {
    let socket = socket.into();
    let copy = rustix::io::fcntl_dupfd_cloexec(&socket, 100).expect("a descriptor");
    rustix::io::fcntl_setfd(&copy, rustix::io::FdFlags::empty()).expect("its flags");
    copy
}

#[test]
fn a_server_serves_on_the_sockets_that_it_was_started_with() {
    let tcp = TcpListener::bind("127.0.0.1:0").expect("a listener");
    let address = tcp.local_addr().expect("an address");
    let udp = UdpSocket::bind("127.0.0.1:0").expect("a socket");
    let datagrams = udp.local_addr().expect("an address");
    let handover = Handover {
        tcp: heritable(tcp),
        udp: heritable(udp),
    };
    // Neither counts where there are sockets.
    let mut program = handover.start(&["-p", "1", "-B", "192.0.2.1"]);
    let line = program.line("istening on ");
    for port in [address.port(), datagrams.port()] {
        assert!(line.contains(&port.to_string()), "{line}");
    }
    let run = |port, options: &str| {
        Program::native(&format!("-c 127.0.0.1 -p {port} -n 100K {options}")).end()
    };
    for (port, options) in [
        (address.port(), ""),
        (address.port(), "-R"),
        (address.port(), "--peer iperf3"),
        (datagrams.port(), "-u"),
        (datagrams.port(), "-u -R"),
    ] {
        let ended = run(port, options);
        assert_eq!(ended.code(), Some(0), "{options}: {}", ended.stderr);
    }
    program.signal(Signal::TERM);
    let ended = program.end();
    assert_eq!(ended.code(), Some(0), "{}", ended.stderr);
    // They stay with who has opened them, for the next server.
    let mut next = handover.start(&[]);
    next.line("istening on ");
    assert_eq!(run(address.port(), "").code(), Some(0));
    drop(next);

    // Sockets for another process are left alone, and those that do not fit are refused.
    let server = Server::of(handover.announced("1", 2, &["-p", "0"]));
    assert_ne!(server.port, address.port());
    assert_eq!(server.stop().code(), Some(0));
    for (program, reason) in [
        (handover.start(&["-u"]), "-u serves UDP alone"),
        (
            handover.start(&["--permit-key=open"]),
            "UDP has no permit keys",
        ),
        (handover.announced("$$", 3, &[]), "descriptor 5 is not open"),
    ] {
        let ended = program.end();
        assert_eq!(ended.code(), Some(1), "{reason}");
        assert!(ended.stderr.contains(reason), "{}", ended.stderr);
    }
}

/// User, group and further groups of each thread, as the kernel tells them.
#[cfg(target_os = "linux")]
fn owners(process: u32) -> Vec<[String; 3]> {
    let threads = std::fs::read_dir(format!("/proc/{process}/task")).expect("its threads");
    threads
        .map(|thread| {
            let status = thread.expect("a thread").path().join("status");
            let status = std::fs::read_to_string(status).expect("its state");
            ["Uid:", "Gid:", "Groups:"].map(|name| {
                let line = status.lines().find_map(|line| line.strip_prefix(name));
                line.unwrap_or_default()
                    .split_whitespace()
                    .collect::<Vec<_>>()
                    .join(" ")
            })
        })
        .collect()
}

/// All threads are user 54321's and group 54322's.
#[cfg(target_os = "linux")]
fn assert_all_owned(threads: &[[String; 3]]) {
    assert!(threads.len() > 1);
    for [users, groups, others] in threads {
        assert_eq!(users, "54321 54321 54321 54321");
        assert_eq!(groups, "54322 54322 54322 54322");
        assert_eq!(others, "54322");
    }
}

/// A port that only root may take, where the system has such.
#[cfg(target_os = "linux")]
fn privileged_port() -> u16 {
    let free = |port: &u16| {
        TcpListener::bind(("0.0.0.0", *port)).is_ok() && UdpSocket::bind(("0.0.0.0", *port)).is_ok()
    };
    (700..1000).rev().find(free).expect("a free port")
}

#[cfg(target_os = "linux")]
#[test]
fn a_server_goes_on_as_another_user_when_its_sockets_are_open() {
    if !rustix::process::getuid().is_root() {
        // Nobody else may become somebody; that is told, and nothing is served.
        let ended = Program::native("-s -p 0 --user 54321:54321").end();
        assert_eq!(ended.code(), Some(1));
        assert!(
            ended
                .stderr
                .contains("--user 54321:54321: Operation not permitted"),
            "{}",
            ended.stderr
        );
        return;
    }
    let port = privileged_port();
    let mut program = Program::native(&format!("-s -p {port} --user 54321:54322"));
    program.line("istening on ");
    let server = Server { program, port };
    // Whoever hears that it listens hears it from that user.
    assert_all_owned(&owners(server.program.id()));
    for options in ["", "-u", "-R", "--peer iperf3"] {
        assert_eq!(client(&server, options).code(), Some(0), "{options}");
    }
    assert_all_owned(&owners(server.program.id()));
    assert_eq!(server.stop().code(), Some(0));
    for (name, reason) in [
        ("nosuchuser", "there is no user nosuchuser"),
        ("54321", "there is no user 54321"),
        ("root:nosuchgroup", "there is no group nosuchgroup"),
    ] {
        let ended = Program::native(&format!("-s -p 0 --user {name}")).end();
        assert_eq!(ended.code(), Some(1));
        assert!(
            ended.stderr.contains(&format!("--user {name}: {reason}")),
            "{}",
            ended.stderr
        );
    }
}

#[test]
fn keys_from_files_and_variables_are_the_same_key() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("key");
    std::fs::write(&path, "open sesame\n").expect("written");
    let private = std::os::unix::fs::PermissionsExt::from_mode(0o600);
    std::fs::set_permissions(&path, private).expect("its mode");
    let path = path.display();
    let server = Server::native(&format!("--permit-key-file {path} --permit-key-timeout 0"));
    assert_eq!(
        client(&server, &format!("--permit-key-file {path}")).code(),
        Some(0)
    );
    let with_variable = |key: &str| {
        let port = server.port.to_string();
        let mut command = command(&["-c", "127.0.0.1", "-p", &port, "-R", "-n", "100K"]);
        command.env("TAPELINE_PERMIT_KEY", key);
        Program::spawn(command).end().code()
    };
    assert_eq!(with_variable("open sesame"), Some(0));
    assert_ne!(with_variable("open says me"), Some(0));
    assert_ne!(client(&server, "").code(), Some(0));
    let ended = server.stop();
    assert!(!ended.stderr.contains("sesame"), "{}", ended.stderr);
}
