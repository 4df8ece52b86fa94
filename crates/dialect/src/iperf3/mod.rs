//! iperf3, whose control connection says what the data connections are for: messages, state machines and
//! streams of a test, for both roles.
//!
//! ```text
//!  message_buffer ─► client_control / server_control ─► server_test ─► streams ─► engine
//!  login/ (who may)     registry (which test is whose)                    │
//!  test_limits (how much)                                peer_results, test_setup ─► events
//! ```
//!
//! `message_buffer`, `client_control`, `server_control`, `registry`, `test_limits`, `received_amount`,
//! `datagram` and `login/` do no IO.

pub(crate) mod accept;
pub(crate) mod client_control;
pub(crate) mod datagram;
pub(crate) mod login;
pub(crate) mod message_buffer;
pub(crate) mod peer_results;
pub(crate) mod received_amount;
pub(crate) mod registry;
pub(crate) mod server_control;
pub(crate) mod server_test;
pub(crate) mod service;
pub(crate) mod stream_set;
pub(crate) mod streams;
pub(crate) mod tcp_streams;
pub(crate) mod test_limits;
pub(crate) mod test_setup;
pub(crate) mod udp_streams;
