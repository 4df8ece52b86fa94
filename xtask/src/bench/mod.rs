//! Speed compared with the peers.
//!
//! ```text
//! rows (the targets) ─► contest ─ rounds, contenders in turn ─► record ─► JSON ─► Markdown
//!                          │
//!                          │                                           └─► change (guard: an earlier commit)
//!                          └─ streams, datagrams, exchange, standing ─► session ─ readings, gaps
//! ```
//!
//! A row says what is measured, who takes part and which bars hold; a run of a contender yields a
//! sample. Nothing is asserted: the outcome is a table. A hung program is killed and reported.

mod change;
mod command;
mod contender;
mod contest;
mod datagrams;
mod exchange;
mod gaps;
mod guard;
mod path;
mod profile;
mod quantity;
mod readings;
mod record;
mod report;
mod row;
mod rows;
mod session;
mod standing;
mod streams;

pub(crate) use command::{run, write_tables};
