//! Every mode of iperf 2.2.1 between tapeline and every peer that has it, in both roles.
//!
//! A case is one mode between two programs: a server of its own, one client, and the checks of the
//! mode on what both sides say. The modes are listed in `tcp.rs` and `udp.rs` with their checks;
//! `check.rs` says what a check means, `support.rs` which peer cannot do what. The harness is a
//! list of trials, so that each mode of each pair is a test with a name.

mod case;
mod check;
mod mode;
mod reading;
mod support;
mod tcp;
mod udp;

use std::process::ExitCode;

use interop::{Family, Program};
use libtest_mimic::{Arguments, Trial};

/// The pairs: client and server.
const PAIRS: [(Program, Program); 7] = {
    use Program::{Iperf218, Iperf221, Iperf2014a, TapelineAsIperf as Tapeline};
    [
        (Tapeline, Tapeline),
        (Tapeline, Iperf221),
        (Tapeline, Iperf218),
        (Tapeline, Iperf2014a),
        (Iperf221, Tapeline),
        (Iperf218, Tapeline),
        (Iperf2014a, Tapeline),
    ]
};

fn main() -> ExitCode {
    let mut arguments = Arguments::from_args();
    // Most of a case is waiting, so more cases than cores.
    arguments.test_threads.get_or_insert(8);
    libtest_mimic::run(&arguments, trials()).exit_code()
}

/// The pairs that also run over IPv6.
const PAIRS_V6: [(Program, Program); 3] = {
    use Program::{Iperf221, TapelineAsIperf as Tapeline};
    [
        (Tapeline, Tapeline),
        (Tapeline, Iperf221),
        (Iperf221, Tapeline),
    ]
};

/// A trial for every mode of every pair that has it.
fn trials() -> Vec<Trial> {
    let modes = || tcp::MODES.iter().chain(udp::MODES);
    let over = |family, pairs: &'static [(Program, Program)]| {
        modes()
            .filter(move |mode| family == Family::V4 || !mode.needs_v4())
            .flat_map(move |mode| {
                pairs
                    .iter()
                    .map(move |(client, server)| (mode, *client, *server))
            })
            .filter(|(mode, client, server)| support::has(mode, *client, *server))
            .map(move |(mode, client, server)| {
                let transport = mode.transport;
                let name = format!("{transport} {family} {}, {client} to {server}", mode.name);
                let test = name.clone();
                Trial::test(name, move || case::run(&test, mode, family, client, server))
            })
    };
    over(Family::V4, &PAIRS)
        .chain(over(Family::V6, &PAIRS_V6))
        .collect()
}
