//! The command line under the name iperf3: that of 3.22.
//!
//! ```text
//! argv ─► parse (getopt_long) ─► settings, left to right ─► rules ─► job ─► Plan
//!            ▲
//!            └ options (one table)
//! ```
//!
//! What is wrong is said in iperf3's words on standard error, with exit status 1. It differs
//! where 3.22 does something else than it says:
//!
//! | Given | iperf3 3.22 | tapeline as iperf3 |
//! |---|---|---|
//! | `-n -5`, `-b -5` | takes it for a huge number | refused (error 38) |
//! | `-u -l 1000000000000` | takes the low 32 bits | refused (error 20) |
//! | a bad option with `-J` | no JSON | a document with the error as well |
//! | `-c --use-pkcs1-padding` | refused (error 3) | logs in to servers up to 3.16 |
//! | `-F FILE` that cannot be read | connects first | refused at once |
//! | `--sctp` with `-X` or `--nstreams` | what they say | refused (error 13) |

pub(crate) mod fault;
pub(crate) mod job;
pub(crate) mod options;
pub(crate) mod quantity;
pub(crate) mod resolve;
pub(crate) mod settings;
#[cfg(test)]
mod tests;
