#![no_main]
#![allow(dead_code, reason = "a program does more with a request")]

#[path = "../../crates/tapeline/src/http/request.rs"]
mod request;
#[path = "../../crates/tapeline/src/http/response.rs"]
mod response;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| request::check(bytes));
