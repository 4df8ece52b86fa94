//! Help texts, made from the tables of options.

#[cfg(feature = "history")]
pub(crate) mod command;
pub(crate) mod iperf2;
pub(crate) mod iperf3;
pub(crate) mod method;
pub(crate) mod native;
