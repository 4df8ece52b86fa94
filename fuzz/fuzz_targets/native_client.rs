#![no_main]
#![allow(dead_code, reason = "the other end of a control connection is there too")]

#[path = "../../crates/dialect/src/native/client_control.rs"]
mod client_control;
#[path = "../../crates/dialect/src/native/clock_requests.rs"]
mod clock_requests;
#[path = "../../crates/dialect/src/native/control_checks.rs"]
mod control_checks;
#[path = "../../crates/dialect/src/native/inbox.rs"]
mod inbox;
#[path = "../../crates/dialect/src/native/server_control.rs"]
mod server_control;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| control_checks::client(bytes));
