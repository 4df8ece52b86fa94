//! Delays and faults that are known, against what the programs say of them.
//!
//! The truth is the relay's own record and, for histograms, a capture at the receiver. These tests
//! measure, so they run one at a time.

mod clocks;
mod delays;
mod faults;
mod shown;
mod streams;
mod trial;

use interop::Program;

/// The pairs of programs: client and server. The last one shows that the reference, too, agrees
/// with the relay.
const PAIRS: [(Program, Program); 3] = [
    (Program::TapelineAsIperf, Program::TapelineAsIperf),
    (Program::Iperf221, Program::TapelineAsIperf),
    (Program::Iperf221, Program::Iperf221),
];
