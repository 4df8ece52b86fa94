//! Renderers, told small tests.

mod iperf2;
mod modes;
mod native;
mod native_modes;
mod scenario;
