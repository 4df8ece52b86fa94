#![no_main]

#[path = "../../crates/wire/tests/checks/mod.rs"]
mod checks;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| checks::run("native_message", bytes));
