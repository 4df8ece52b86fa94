//! The options, one file for each group: rows of the table, their effects, the rules about them,
//! and what the plan needs of them.
//!
//! Every option of iperf 2.2.1 is in the table, so that abbreviations are ambiguous exactly
//! where they are ambiguous there.

pub(crate) mod access;
pub(crate) mod addressing;
pub(crate) mod amount;
pub(crate) mod bounceback;
pub(crate) mod direction;
pub(crate) mod history;
pub(crate) mod latency;
pub(crate) mod lengths;
pub(crate) mod limits;
pub(crate) mod method;
pub(crate) mod mode;
pub(crate) mod output;
pub(crate) mod peer;
pub(crate) mod rate;
pub(crate) mod repeat;
pub(crate) mod schedule;
pub(crate) mod shape;
pub(crate) mod socket;
pub(crate) mod table;
pub(crate) mod working_load;
