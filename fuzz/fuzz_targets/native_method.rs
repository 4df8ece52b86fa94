#![no_main]

use tapeline_wire::fuzz;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| fuzz::run("native_method", bytes));
