//! iperf3 in both roles: tapeline with itself and with every version that people run.
//!
//! A case is one mode between two programs: a server of its own, one client, and the checks of
//! what both say in JSON. The modes are in `modes.rs`; `agreement.rs` and `arithmetic.rs` say what
//! holds after every test, `check.rs` what a mode adds, `support.rs` what a peer cannot do. The
//! harness is a list of trials, so that each mode of each pair is a test with a name.
//!
//! In addition, `recorded.rs` compares the structure of what tapeline says with recordings,
//! `parameters.rs` what a client asks for, and `crowd.rs` has many clients at once.

mod agreement;
mod arithmetic;
mod case;
mod check;
mod crowd;
mod document;
mod mode;
mod modes;
mod parameters;
mod place;
mod recorded;
mod support;

use std::process::ExitCode;

use interop::Program;
use libtest_mimic::{Arguments, Trial};

/// The pairs: client and server.
const PAIRS: [(Program, Program); 18] = {
    use Program::{Iperf3V9, Iperf3V12, Iperf3V18, Iperf3V22, Tapeline, TapelineAsIperf3 as Ours};
    [
        (Ours, Ours),
        (Ours, Iperf3V22),
        (Ours, Iperf3V18),
        (Ours, Iperf3V12),
        (Ours, Iperf3V9),
        (Iperf3V22, Ours),
        (Iperf3V18, Ours),
        (Iperf3V12, Ours),
        (Iperf3V9, Ours),
        (Iperf3V22, Tapeline),
        (Iperf3V18, Tapeline),
        (Iperf3V12, Tapeline),
        (Iperf3V9, Tapeline),
        (Tapeline, Tapeline),
        (Tapeline, Iperf3V22),
        (Tapeline, Iperf3V18),
        (Tapeline, Iperf3V12),
        (Tapeline, Iperf3V9),
    ]
};

fn main() -> ExitCode {
    let mut arguments = Arguments::from_args();
    // Most of a case is waiting, so more cases than cores.
    arguments.test_threads.get_or_insert(16);
    libtest_mimic::run(&arguments, trials()).exit_code()
}

/// A trial for every mode of every pair that has it.
fn trials() -> Vec<Trial> {
    let modes = modes::TRAFFIC
        .iter()
        .chain(modes::SOCKETS)
        .chain(modes::PROGRAMS);
    let cases = modes.flat_map(|mode| PAIRS.map(|(client, server)| (*mode, client, server)));
    let cases = cases.filter(|(mode, client, server)| support::has(mode, *client, *server));
    let trials = cases.map(|(mode, client, server)| {
        let name = format!("{}, {client} to {server}", mode.name);
        let test = name.clone();
        Trial::test(name, move || case::run(&test, mode, client, server))
    });
    trials
        .chain(recorded::trials())
        .chain(parameters::trials())
        .chain(crowd::trials())
        .collect()
}
