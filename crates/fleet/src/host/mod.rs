//! The host of an agent: its lock file, the folder of its spool, the processes of its tests.

mod document;
mod local_host;
mod spool_folder;

pub use local_host::{LocalHost, Opened};
