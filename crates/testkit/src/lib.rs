//! What tests of several crates share. No program depends on it.
//!
//! - [`network`]: links between two state machines, in virtual time.
//! - [`iperf2_text`]: the grammar of what iperf 2.2.1 prints.
//! - [`captures`]: what real programs sent, and the seeds of the fuzz targets.

pub mod captures;
pub mod iperf2_text;
pub mod network;
