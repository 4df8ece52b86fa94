//! The rules for folders and imports, checked ([CONTRIBUTING.md](../../../CONTRIBUTING.md)).
//!
//! ```text
//!  tree ─► crate_map ─► names ─► arrows ─► check ─► findings
//!  files    modules,     what a    file to   rules     │
//!           imports      path is   file        ▲       ▼
//!                                            floors   command
//! ```

mod arrows;
mod check;
mod command;
mod crate_map;
mod floors;
mod names;
mod pages;
mod syntax;
mod tree;

pub(crate) use command::{check_all, run};
