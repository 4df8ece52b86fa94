//! Conformance with recorded runs of iperf 2.2.1.
//!
//! Every recorded line must be known to the grammar, and every recorded run, read back
//! into model values, must be rendered as it was recorded, byte for byte, but for the
//! listed numbers that iperf 2.2.1 is known to print wrongly.

mod csv;
mod grammar;
mod recorded;
mod setup;
mod solve;
mod text;
mod timing;
mod values;
