//! A server's log: who may come, and a line for each thing that happens to a test.

mod amount;
mod intervals;
mod record;
mod text;
mod words;

pub use text::ServerText;
