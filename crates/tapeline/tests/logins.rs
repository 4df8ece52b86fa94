//! Logins of iperf3 between processes: tapeline and real peers, in both roles and both paddings.

#![cfg(all(unix, feature = "auth"))]

use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::time::Duration;

use interop::{Finished, Invocation, Running, Transport, await_listening, free_port};
use tapeline_testkit::captures::{End, Session};
use tapeline_wire::iperf3::{Cookie, ErrorCode, State};

const REFUSED: &str = "test authorization failed";
/// 3.22 as the server closes without a word.
const CLOSED: &str = "control socket has closed unexpectedly";

/// Keys and users of the recorded session, in files.
struct Keys {
    folder: tempfile::TempDir,
}

impl Keys {
    fn new() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let keys = Session::load("iperf3-auth-ok").test_keys;
        for name in ["private_pem", "public_pem", "users_csv"] {
            let text = keys[name].as_str().expect("a text");
            std::fs::write(folder.path().join(name), text).expect("a file");
        }
        Self { folder }
    }

    fn of_server(&self) -> String {
        let path = self.folder.path().display();
        format!(
            "--rsa-private-key-path {path}/private_pem --authorized-users-path {path}/users_csv"
        )
    }

    fn of_client(&self) -> String {
        let path = self.folder.path().display();
        format!("--username mario --rsa-public-key-path {path}/public_pem")
    }
}

fn ours() -> Invocation {
    Invocation::for_executable("tapeline", env!("CARGO_BIN_EXE_tapeline")).line("--as iperf3")
}

/// A real iperf3; `None`, and the test named as skipped, when it is not there.
fn peer(version: &str) -> Option<Invocation> {
    let prefix = std::env::var_os("PEERS_PREFIX").unwrap_or_else(|| "/opt/peers".into());
    let name = format!("iperf3-{version}");
    let path: PathBuf = Path::new(&prefix).join("bin").join(&name);
    if path.exists() {
        return Some(Invocation::for_executable(&name, path));
    }
    interop::skip(&format!("logins ({name})"), "the peer is not installed");
    None
}

/// A server that listens, until it is dropped.
fn serve(program: Invocation, arguments: &str) -> (Running, u16) {
    let port = free_port();
    let line = format!("-s -p {port} {arguments}");
    let server = program.line(&line).deadline(Duration::from_secs(60));
    let server = server.spawn().expect("it starts");
    await_listening(&server, Transport::Tcp, port).expect("it listens");
    (server, port)
}

fn test(client: Invocation, port: u16, arguments: &str, password: &str) -> Finished {
    let line = format!("-c 127.0.0.1 -p {port} -n 1M {arguments}");
    let client = client.line(&line).env("IPERF3_PASSWORD", password);
    client.run().expect("it ends")
}

fn assert_let_in_and_refused(
    client: impl Fn() -> Invocation,
    port: u16,
    arguments: &str,
    refusal: &str,
    place: &str,
) {
    let right = test(client(), port, arguments, "rossi");
    assert!(right.status.success(), "{place}: {right:?}");
    assert!(right.stdout.contains("receiver"), "{place}: {right:?}");
    let wrong = test(client(), port, arguments, "verdi");
    assert!(!wrong.status.success(), "{place}: {wrong:?}");
    let said = format!("{}{}", wrong.stdout, wrong.stderr);
    assert!(said.contains(refusal), "{place}: {wrong:?}");
    assert!(!said.contains("receiver"), "{place}: {wrong:?}");
}

#[test]
fn our_client_logs_in_at_real_servers() {
    let keys = Keys::new();
    // Servers before 3.17 know the older padding alone, later ones what they were told.
    for (version, padding_there, padding_here) in [
        ("3.12", "", "--use-pkcs1-padding"),
        ("3.18", "", ""),
        ("3.18", "--use-pkcs1-padding", "--use-pkcs1-padding"),
        ("3.22", "", ""),
        ("3.22", "--use-pkcs1-padding", "--use-pkcs1-padding"),
    ] {
        let Some(server) = peer(version) else {
            continue;
        };
        let (_server, port) = serve(server, &format!("{} {padding_there}", keys.of_server()));
        let arguments = format!("{} {padding_here}", keys.of_client());
        let place = format!("{version} {padding_there}");
        let refusal = if version == "3.22" { CLOSED } else { REFUSED };
        assert_let_in_and_refused(ours, port, &arguments, refusal, &place);
    }
}

#[test]
fn real_clients_log_in_at_our_server() {
    let keys = Keys::new();
    for version in ["3.12", "3.18", "3.22"] {
        let Some(_) = peer(version) else {
            continue;
        };
        let (_server, port) = serve(ours(), &keys.of_server());
        let client = || peer(version).expect("seen above");
        assert_let_in_and_refused(client, port, &keys.of_client(), REFUSED, version);
        let without = test(client(), port, "", "");
        let said = format!("{}{}", without.stdout, without.stderr);
        assert!(
            said.contains(REFUSED),
            "{version} without a login: {without:?}"
        );
    }
}

/// What a server answers to a client's cookie and a recorded one's parameters: its states up to the
/// decision, and the error behind it.
fn replayed(port: u16, session: &Session, cookie: u8) -> (State, Option<u32>) {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).expect("a connection");
    let timeout = Some(Duration::from_secs(20));
    stream.set_read_timeout(timeout).expect("an option");
    let mut byte = [0];
    // A connection with the cookie of a test that still waits would belong to it.
    let cookie = Cookie::from_random([cookie; 36]);
    stream.write_all(cookie.bytes()).expect("taken");
    stream.read_exact(&mut byte).expect("a state");
    assert_eq!(State::parse(byte[0]), Ok(State::ParameterExchange));
    let parameters = session.named(End::Client, "params").expect("recorded");
    stream.write_all(parameters).expect("taken");
    stream.read_exact(&mut byte).expect("a state");
    let state = State::parse(byte[0]).expect("a state");
    let error = (state == State::ServerError).then(|| {
        let mut code = [0; 4];
        stream.read_exact(&mut code).expect("an error");
        u32::from_be_bytes(code)
    });
    (state, error)
}

#[test]
fn a_login_counts_once_and_for_as_long_as_told() {
    const REFUSAL: (State, Option<u32>) = (State::ServerError, Some(ErrorCode::AUTHENTICATION.0));
    let keys = Keys::new();
    let recorded = Session::load("iperf3-auth-ok");
    let (_server, port) = serve(ours(), &keys.of_server());
    assert_eq!(replayed(port, &recorded, 1), REFUSAL, "long ago");
    let forgiving = format!("{} --time-skew-threshold 2000000000", keys.of_server());
    let (_server, port) = serve(ours(), &forgiving);
    assert_eq!(replayed(port, &recorded, 2), (State::CreateStreams, None));
    assert_eq!(replayed(port, &recorded, 3), REFUSAL, "again");
}
