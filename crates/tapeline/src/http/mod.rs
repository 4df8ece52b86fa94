//! A small HTTP/1.1 server for metrics: GET and HEAD, one request for each connection.
//!
//! ```text
//! listener ─► bounds (connections, of one source) ─► thread: head ─► Request ─► handler ─► Response
//!                                                      └ deadline              (deadline ┘)
//! ```
//!
//! It may be reachable by anybody: what it reads is short and has a deadline, what it keeps is
//! bounded, and who sends nothing is sent away.

mod request;
mod response;
mod server;

pub(crate) use request::Request;
#[cfg(any(test, fuzzing))]
pub(crate) use request::contract;
pub(crate) use response::{Response, Status};
pub(crate) use server::{Handler, serve};
