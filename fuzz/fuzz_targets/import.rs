#![no_main]

use tapeline_report::fuzz;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| fuzz::import(bytes));
