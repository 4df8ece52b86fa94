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
//! `answer`, `inbox`, `client_control`, `server_control`, `clock_requests`, `cut`, `tests`, `own_results`, `far_side`, `one_way` and
//! `probing` do no IO; `client`, `answer_first`, `probe_flow` and `server` bind them to sockets and threads. `own_flow` is a flow as both ends
//! name it, `reading` what a process and its host came to.

mod answer;
mod answer_first;
mod answer_watch;
mod client;
mod client_control;
mod client_session;
mod clock_requests;
#[cfg(any(test, fuzzing))]
pub(crate) mod control_checks;
mod cut;
mod far_side;
#[cfg(any(test, fuzzing))]
pub(crate) mod far_side_checks;
mod inbox;
mod one_way;
mod own_flow;
mod own_results;
mod probe_flow;
mod probing;
#[cfg(any(test, fuzzing))]
pub(crate) mod probing_checks;
mod reading;
mod server;
mod server_control;
#[cfg(test)]
mod simulation;
mod tests;
#[cfg(any(test, fuzzing))]
pub(crate) mod tests_checks;

pub(crate) use answer::refusal;
pub(crate) use answer_first::AnswerFirst;
#[cfg(any(test, fuzzing))]
pub(crate) use answer_first::check as answer_contract;
pub(crate) use client::{ClientTest, FlowAnswers, TestFlows, TrafficEnd};
pub(crate) use own_flow::OwnFlow;
pub(crate) use server::{ControlService, Joined, Membership, Probed};

use std::hash::{BuildHasher, RandomState};
use std::num::{NonZeroU32, NonZeroU64};

use tapeline_sys::HostFacts;
use tapeline_wire::native::Program;

/// This program, as the other end is told.
fn own_program() -> Program {
    Program {
        program: "tapeline".to_owned(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        system: HostFacts::gather().system,
    }
}

/// A number that a peer cannot guess.
fn draw() -> NonZeroU32 {
    let state = RandomState::new();
    (0_u32..)
        .find_map(|round| NonZeroU32::new(state.hash_one(round) as u32))
        .unwrap_or(NonZeroU32::MIN)
}

/// A key that cannot be guessed.
fn draw_key() -> NonZeroU64 {
    NonZeroU64::from(draw()) | (u64::from(draw().get()) << 32)
}
