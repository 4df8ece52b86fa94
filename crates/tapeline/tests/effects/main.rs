//! What options do, as the program's own output shows it: a run of both ends for each.

#![cfg(unix)]

mod basics;
mod latency;
mod pair;
#[allow(dead_code, reason = "each test file uses its part")]
#[path = "../program/mod.rs"]
mod program;
mod serving;
mod shapes;
mod traced;
