#![no_main]

use tapeline_dialect::fuzz;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| fuzz::run("native_orders", bytes));
