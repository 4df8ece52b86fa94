//! Renderers, told small tests.

mod iperf2;
mod native;
mod scenario;
