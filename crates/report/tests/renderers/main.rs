//! Renderers, told small tests.

mod client_text;
mod iperf2;
mod modes;
mod native;
mod native_modes;
mod native_requests;
mod native_series;
mod native_trial;
mod scenario;
mod server;
