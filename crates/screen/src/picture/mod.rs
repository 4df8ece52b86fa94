//! The picture of a board: a pure function of it and of the size.
//!
//! ```text
//!  tapeline  TCP to HOST                running 0:07 of 0:20     a line
//!  Throughput  939 Mbit/s now ...       1000 ┤ curve             what the others leave, at least
//!  Latency     47.3 ms now ...            50 ┤ curve             a line each
//!  stream  Mbit/s  retrans ...                                   as many as fit
//!  warnings, limits, results                                     up to a third
//!  q or Ctrl-C ends the test                                     a line
//! ```

mod curve;
mod draw;
mod look;
mod pen;
mod table;

pub use draw::draw;
pub use look::Look;
