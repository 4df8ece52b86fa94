//! `find-rate`: the highest UDP rate whose loss stays within a goal (RFC 9971, RFC 2544).
//!
//! ```text
//!  FindRatePlan ─► a search for each size and direction
//!                    RateSearch (stats) ─► load ─► Trial: an ordinary UDP test ─► facts ─┐
//!                         ▲                                                             │
//!                         └────────────────── lost, or a host's ◄───────────────────────┘
//! ```

mod plan;
mod procedure;
mod trial;
#[cfg(test)]
mod virtual_time;

pub use plan::{DatagramSizes, FindRatePlan, Laboratory};
pub(crate) use trial::Load;
