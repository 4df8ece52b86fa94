//! tapeline on one side, every supported peer on the other, in every mode.
//!
//! Each test is one pair of programs over one transport and address family. One server serves all
//! the modes in turn, so each mode also proves that the server went on serving after the one
//! before. The figures of both sides are compared in `check.rs`, the modes are listed in
//! `mode.rs`, and what a peer cannot do in `limitation.rs`.

mod check;
mod limitation;
mod mode;

use std::fmt::Write;
use std::time::Duration;

use interop::{Family, Program, Server, ServerSpec, Transcript, Transport, free_port, skip};

use limitation::limitation;
use mode::Mode;

/// Time that a server may take to print its last row after the client has ended.
const TIMEOUT: Duration = Duration::from_secs(8);

/// Attempts that a mode has when the peer crashes by itself, as 2.1.8's UDP server does with
/// 2.2.1's client, too.
const ATTEMPTS: usize = 3;

/// Why a mode did not pass.
enum Trouble {
    /// The peer was ended by a signal: its own affair.
    Peer(String),
    /// What one side or the other shows is wrong.
    Wrong(String),
}

/// Runs every mode between a client and a server.
fn run_pair(test: &str, client: Program, server: Program, transport: Transport, family: Family) {
    for program in [client, server] {
        if let Some(reason) = program.missing() {
            return skip(test, &reason);
        }
    }
    let basic = ServerSpec::new(server, transport, family);
    let enhanced = basic.clone().options("-e -i 0.5");
    let mut running: [Option<Server>; 2] = [None, None];
    let mut failures = String::new();
    for mode in Mode::for_transport(transport) {
        if limitation(client, server, transport, mode.name).is_some() {
            continue;
        }
        let spec = if mode.enhanced_server {
            &enhanced
        } else {
            &basic
        };
        let slot = &mut running[usize::from(mode.enhanced_server)];
        for attempt in 1..=ATTEMPTS {
            // Ours must serve one test after another; the peers' servers do not always survive that.
            if !server.is_tapeline() {
                *slot = None;
            }
            let server = slot.get_or_insert_with(|| spec.start().expect("a server"));
            match run_mode(client, server, mode) {
                Ok(()) => break,
                Err(Trouble::Peer(_)) if attempt < ATTEMPTS => {}
                Err(Trouble::Peer(error) | Trouble::Wrong(error)) => {
                    writeln!(failures, "== {}: {error}", mode.name).expect("memory");
                    break;
                }
            }
        }
    }
    assert!(failures.is_empty(), "\n{failures}");
}

/// Runs one mode and checks both sides.
fn run_mode(program: Program, server: &mut Server, mode: &Mode) -> Result<(), Trouble> {
    server.begin();
    let listen = free_port().to_string();
    let mut options = mode.options.replace("PORT", &listen);
    if server.spec().family == Family::V6 && mode.name != "plain" {
        // The versions disagree about the size for IPv6, and truncate each other's.
        options.push_str(mode.datagram_option());
    }
    let client = server
        .client(program)
        .line(&options)
        .run()
        .map_err(|error| Trouble::Wrong(format!("{error}\n--- server\n{}", server.output())))?;
    let ours = Transcript::parse(&client.stdout);
    let serving = server.spec().program;
    let rows = if check::shows_one_row(serving, mode) {
        1
    } else {
        mode.rows_of_a_flow()
    };
    // Flows that a racing server has lost get no row there.
    let races = check::races(serving, server.spec().transport, mode);
    let rows = if races { 1 } else { mode.flows * rows };
    let theirs = server.await_output(TIMEOUT, |out| check::complete(out, rows, mode));
    let case = check::Case {
        client: program,
        server: serving,
        mode,
        at_client: &ours,
        at_server: &theirs,
        datagram: check::datagram_size(&options, server.spec().family),
    };
    let shown = |error: String| format!("{error}\n{client}--- server\n{}", server.output());
    match client.code() {
        Some(0) => {}
        None if !program.is_tapeline() => {
            return Err(Trouble::Peer(shown("the client crashed".to_owned())));
        }
        _ if races => {}
        _ => {
            return Err(Trouble::Wrong(shown(
                "the client did not succeed".to_owned(),
            )));
        }
    }
    if !server.is_alive() {
        let error = shown("the server died".to_owned());
        return Err(if serving.is_tapeline() {
            Trouble::Wrong(error)
        } else {
            Trouble::Peer(error)
        });
    }
    case.check().map_err(|error| Trouble::Wrong(shown(error)))
}

/// Makes a test for each transport and address family of a pair of programs.
macro_rules! pairs {
    ($($name:ident: $client:ident => $server:ident;)*) => {$(
        mod $name {
            use super::{Family, Program, Transport, run_pair};
            pairs!(@one $name $client $server tcp_v4 Tcp V4);
            pairs!(@one $name $client $server tcp_v6 Tcp V6);
            pairs!(@one $name $client $server udp_v4 Udp V4);
            pairs!(@one $name $client $server udp_v6 Udp V6);
        }
    )*};
    (@one $pair:ident $client:ident $server:ident $test:ident $transport:ident $family:ident) => {
        #[test]
        fn $test() {
            let name = concat!(stringify!($pair), "::", stringify!($test));
            run_pair(name, Program::$client, Program::$server, Transport::$transport, Family::$family);
        }
    };
}

pairs! {
    tapeline_to_itself: TapelineAsIperf => TapelineAsIperf;
    tapeline_to_2_2_1: TapelineAsIperf => Iperf221;
    tapeline_to_2_1_8: TapelineAsIperf => Iperf218;
    tapeline_to_2_0_14a: TapelineAsIperf => Iperf2014a;
    from_2_2_1_to_tapeline: Iperf221 => TapelineAsIperf;
    from_2_1_8_to_tapeline: Iperf218 => TapelineAsIperf;
    from_2_0_14a_to_tapeline: Iperf2014a => TapelineAsIperf;
}
