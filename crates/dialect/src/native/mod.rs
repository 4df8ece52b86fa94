//! Two tapelines: how they recognise each other, and their control connection (`docs/dev/protocol.md`).
//!
//! ```text
//!  client                                              server
//!  ClientTest ── mark in headers ───────────────────►  ControlService::join ─► Tests (tokens)
//!      │      ◄─ answer on a flow (AnswerFirst) ──────      │
//!      └─ thread: ClientControl ◄── one connection ──► ServerControl, one thread for all
//!             │                                             │
//!         ClockLine, peer_results                       local_results ◄─ FlowTotals (sampler)
//! ```
//!
//! What a client orders on its connection goes to whoever implements `Orders`.
//!
//! `client`, `server` and parts of `recognition`, `probing` and `local_results` bind to sockets and threads
//! what the others decide; those do no IO.

mod affinity;
pub(crate) mod client;
pub(crate) mod client_control;
pub(crate) mod clock_sync;
pub(crate) mod cutoff;
pub(crate) mod local_results;
pub(crate) mod message_buffer;
pub(crate) mod one_way_delay;
pub(crate) mod orders;
pub(crate) mod peer_results;
pub(crate) mod probing;
pub(crate) mod recognition;
pub(crate) mod server;
pub(crate) mod server_control;
pub(crate) mod test_registry;
