//! The one table of options: parsing, help and environment all read it.
//!
//! Every option of iperf 2.2.1 is in it, so that abbreviations are ambiguous exactly
//! where they are ambiguous there.

mod access;
mod amount;
#[cfg(test)]
mod enumeration;
mod latency;
mod lookup;
mod mode;
mod output;
mod peer;
mod repeat;
mod shape;
mod socket;
mod spec;
mod table;
mod traffic;

pub(crate) use lookup::{LongMatch, find_long, find_short, nearest, nearest_of};
pub(crate) use spec::{
    Arity, Availability, Group, OptionId, OptionSpec, Personalities, Section, Sides,
};
pub(crate) use table::all;
