//! The faults that a server on a public port must bear, against the real binary on loopback.
//!
//! Each trial has a server of its own. It notes what the idle server costs, does something hostile,
//! and asserts three things: honest clients of both families are served (during the fault where its
//! peers must not matter to others, else after it); descriptors, threads and memory come back to
//! what they were; and the bound that the fault has of its own. Bounds are counts wherever they can
//! be: what is due in seconds is waited for with long timeouts, since the machine may be busy.
//!
//! The trials are numbered as in `docs/dev/testing.md`. Those whose names begin with `client:` turn the
//! tables: a server does the harm, and the client has to end by itself.

mod clients;
mod clock;
mod connections;
mod control;
mod crowd;
mod effort;
mod endings;
mod hostile;
mod iperf2_tcp;
mod iperf2_udp;
mod iperf3;
mod keys;
mod methods;
mod output;
mod subject;

use std::process::ExitCode;

use interop::{Program, raise_descriptor_limit, skip};
use libtest_mimic::{Arguments, Trial};

/// A fault: its number and name, and what does it.
type Fault = (&'static str, fn());

const FAULTS: [&[Fault]; 11] = [
    clients::FAULTS,
    clock::FAULTS,
    connections::FAULTS,
    control::FAULTS,
    endings::FAULTS,
    iperf2_tcp::FAULTS,
    iperf2_udp::FAULTS,
    iperf3::FAULTS,
    keys::FAULTS,
    methods::FAULTS,
    output::FAULTS,
];
/// Faults that need the machine for themselves.
const ALONE: [&[Fault]; 1] = [crowd::FAULTS];

fn trials(faults: &[&'static [Fault]]) -> Vec<Trial> {
    let trial = |(name, fault): &'static Fault| {
        Trial::test(*name, move || {
            match Program::TapelineAsIperf.missing() {
                Some(reason) => skip(name, &reason),
                None => fault(),
            }
            Ok(())
        })
    };
    faults.iter().copied().flatten().map(trial).collect()
}

fn main() -> ExitCode {
    raise_descriptor_limit();
    let mut arguments = Arguments::from_args();
    // Most of a fault is waiting.
    arguments.test_threads.get_or_insert(6);
    let together = libtest_mimic::run(&arguments, trials(&FAULTS));
    let alone = libtest_mimic::run(&arguments, trials(&ALONE));
    if together.has_failed() {
        together.exit_code()
    } else {
        alone.exit_code()
    }
}
