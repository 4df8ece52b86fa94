//! Help texts, made from the tables of options.

pub(crate) mod iperf2;
pub(crate) mod iperf3;
pub(crate) mod method;
pub(crate) mod native;
