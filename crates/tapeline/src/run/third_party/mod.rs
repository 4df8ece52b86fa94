//! `--from`, `--via`, `--serve-on`: a test between other hosts, with its results here.
//!
//! ```text
//! server ─► port ─► client ─► replies ─┬─► shown_forms: text, documents, as that host renders them
//!   (a session each)                   └─► kept_results: the history
//! ```

mod allowed;
mod client;
mod job;
#[cfg(feature = "history")]
mod kept_results;
mod server;
mod shown_forms;

#[cfg(feature = "mesh")]
pub(crate) use allowed::allowed;
pub(crate) use job::third_party;
