//! `tapeline web`: the page, and what it asks of this program.
//!
//! ```text
//! WebJob ─► listener, key ─► Site (crate web) ─► ThisProgram ─┬► cli: options and command lines
//!                                                             ├► mesh: many hosts, as far as a page may test them
//!                                                             └► Results: the history, comparisons
//! ```

mod browser;
mod mesh;
mod program;
mod results;
mod serve;

pub(crate) use serve::web;
