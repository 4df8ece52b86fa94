//! Forms of the output that the command line and the run both write.

pub(crate) mod ascii;
pub(crate) mod iperf3_decorator;
pub(crate) mod iperf3_renderer;
