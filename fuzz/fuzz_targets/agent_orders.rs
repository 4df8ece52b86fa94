#![no_main]

use tapeline::contracts;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| contracts::run("agent_orders", bytes));
