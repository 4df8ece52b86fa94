#![no_main]
#![allow(dead_code, reason = "the other end of a control connection is there too")]

#[path = "../../crates/dialect/src/iperf3/client_control.rs"]
mod client_control;
#[path = "../../crates/dialect/src/iperf3/control_checks.rs"]
mod control_checks;
#[path = "../../crates/dialect/src/iperf3/inbox.rs"]
mod inbox;
#[path = "../../crates/dialect/src/iperf3/server_control.rs"]
mod server_control;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| control_checks::client(bytes));
