#![no_main]

use tapeline_dialect::contracts;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| contracts::run("iperf3_registry", bytes));
