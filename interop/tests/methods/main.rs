//! Methods on paths of known rate, queue and delay.
//!
//! The truth is the token bucket's parameters, the packet filter's counters and the relay's delay,
//! never a measured program. A file holds the cases of one method. What takes longer than a minute is
//! ignored unless asked for (`cargo xtask test methods`), so that the ordinary run has a sample of
//! each method. These tests measure, so they run one at a time.

mod capacity;
mod find_rate;
mod flows;
mod mtu;
mod paths;
mod responsiveness;
mod rfc6349;
mod support;
mod try_host;
