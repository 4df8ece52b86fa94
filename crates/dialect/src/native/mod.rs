//! Two tapelines: how they recognise each other, and their control connection (`docs/protocol.md`).
//!
//! ```text
//!  client                                              server
//!  ClientTest ── mark in headers ───────────────────►  ControlService::join ─► Tests (tokens)
//!      │      ◄─ answer on a flow (AnswerFirst) ──────      │
//!      └─ thread: ClientControl ◄── one connection ──► ServerControl, one thread for all
//!             │                                             │
//!         ClockLine, far_side                          own_results ◄─ Following (reporter)
//! ```
//!
//! `inbox`, `client_control`, `server_control`, `clock_requests`, `tests`, `own_results` and `far_side` do no
//! IO; `client`, `answer_first` and `server` bind them to sockets and threads.

mod answer_first;
mod client;
mod client_control;
mod clock_requests;
mod far_side;
mod inbox;
mod own_results;
mod server;
mod server_control;
#[cfg(test)]
mod simulation;
mod tests;

pub(crate) use answer_first::AnswerFirst;
pub(crate) use client::{ClientTest, FlowAnswers, TrafficEnd};
pub(crate) use server::{ControlService, Joined};
pub(crate) use tests::FlowFacts;

use std::hash::{BuildHasher, RandomState};
use std::num::NonZeroU32;

/// A number that a peer cannot guess.
fn draw() -> NonZeroU32 {
    let state = RandomState::new();
    (0_u32..)
        .find_map(|round| NonZeroU32::new(state.hash_one(round) as u32))
        .unwrap_or(NonZeroU32::MIN)
}
