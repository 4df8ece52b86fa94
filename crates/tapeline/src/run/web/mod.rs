//! `tapeline web`: the page, and what it asks of this program.
//!
//! ```text
//! WebJob ─► listener, key ─► Site (crate web) ─► ThisProgram ─┬► cli: options and command lines
//!                                                             └► Results: the history, comparisons
//! ```

mod browser;
mod program;
mod results;
mod serve;

pub(crate) use serve::web;
