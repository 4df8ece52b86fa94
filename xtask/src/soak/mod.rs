//! A server under honest and hostile clients for a long time: does it go on serving, and does it
//! grow?
//!
//! What it holds for the tests of a moment says nothing of that. So the clients pause once a minute,
//! and what counts is what the server holds when it has come to rest.

mod command;
mod harm;
mod trend;

pub(crate) use command::run;
