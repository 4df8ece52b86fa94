//! The faults that a server on a public port must bear, against the real binary on loopback.
//!
//! Each trial has a server of its own. It notes what the idle server costs, does something hostile,
//! and asserts three things: honest clients of both families are served (during the fault where its
//! peers must not matter to others, else after it); descriptors, threads and memory come back to
//! what they were; and the bound that the fault has of its own. Bounds are counts wherever they can
//! be: what is told in seconds is waited for with much patience, since the machine may be busy.
//!
//! The trials are numbered as in `docs/testing.md`. Those whose names begin with `client:` turn the
//! tables: a server does the harm, and the client has to end by itself.

mod clients;
mod clock;
mod connections;
mod endings;
mod hostile;
mod iperf2_tcp;
mod iperf2_udp;
mod iperf3;
mod keys;
mod output;
mod subject;
mod vitals;

use std::process::ExitCode;

use interop::{Program, raise_descriptor_limit, skip};
use libtest_mimic::{Arguments, Trial};

/// A fault: its number and name, and what does it.
type Fault = (&'static str, fn());

const FAULTS: [&[Fault]; 9] = [
    clients::FAULTS,
    clock::FAULTS,
    connections::FAULTS,
    endings::FAULTS,
    iperf2_tcp::FAULTS,
    iperf2_udp::FAULTS,
    iperf3::FAULTS,
    keys::FAULTS,
    output::FAULTS,
];

fn main() -> ExitCode {
    raise_descriptor_limit();
    let mut arguments = Arguments::from_args();
    // Most of a fault is waiting.
    arguments.test_threads.get_or_insert(6);
    let trials = FAULTS.into_iter().flatten().map(|(name, fault)| {
        Trial::test(*name, move || {
            match Program::TapelineAsIperf.missing() {
                Some(reason) => skip(name, &reason),
                None => fault(),
            }
            Ok(())
        })
    });
    libtest_mimic::run(&arguments, trials.collect()).exit_code()
}
