//! Renderers, told small tests.

mod iperf2;
mod modes;
mod native;
mod scenario;
