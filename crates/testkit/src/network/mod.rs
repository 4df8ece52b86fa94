//! A simulated network in virtual time, for tests of protocol state machines.
//!
//! Nothing here opens a socket, reads a clock or sleeps. A test moves the time itself,
//! from one due event to the next, so that hours pass in milliseconds and every run
//! with the same seed is the same run.
//!
//! ```text
//!            send(now, from, datagram)                 deliver(now) ─► (to, datagram)
//!  Client ──────────────┐                                   ┌──────────────► Server
//!                       ▼                                   │
//!        loss? ─► cut? ─► rate queue ─► delay + jitter ─► event heap
//!                 │          │ full        reorder, duplicate, corrupt    ▲
//!                 ▼          ▼                                            │
//!               gone       gone              next_due() = earliest event ─┘
//! ```
//!
//! [`Link`] carries datagrams and does all of that to them. [`StreamLink`] carries
//! bytes in order, in pieces of any size, with a window. [`run`] drives two
//! [`Endpoint`]s over a [`Link`] until both are done or a time has come. The counters
//! of a link are the truth that a measurement can be held against.

mod endpoint;
mod link;
mod profile;
mod stream;

pub use endpoint::{Endpoint, Outcome, run};
pub use link::{Link, LinkCounters};
pub use profile::{Cut, LinkProfile, Side, StreamProfile};
pub use stream::{StreamLink, StreamRead};
