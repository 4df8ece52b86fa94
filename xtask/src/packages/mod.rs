//! What is shipped: Debian packages, and programs that need nothing but the system.
//!
//! ```text
//! builds ──► Tree (the program, manual pages, completions, units, schema, licences) ──► .deb
//!   │          ▲                                                                    └─► .tar.gz, .zip, SHA256SUMS
//!   └─► Crates ┴► copyright, bill of materials
//! ```

mod bill_of_materials;
mod copyright;
mod crates;
pub(crate) mod deb;
pub(crate) mod dist;
mod platform;
pub(crate) mod release;
mod tree;
