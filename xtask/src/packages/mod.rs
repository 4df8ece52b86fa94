//! What is shipped: Debian packages, and programs that need nothing.
//!
//! ```text
//! builds ──► Tree (the program, manual pages, completions, units, schema, licences) ──► .deb
//!   │          ▲                                                                    └─► .tar.gz, SHA256SUMS
//!   └─► Crates ┴► copyright, bill of materials
//! ```

mod bill_of_materials;
mod copyright;
mod crates;
pub(crate) mod deb;
pub(crate) mod dist;
pub(crate) mod release;
mod static_target;
mod tree;
