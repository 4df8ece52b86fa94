//! The agent of a host: it holds the host's slots, runs what is ordered, and keeps results until they are
//! in the database.

mod limits;
mod machine;
mod slot;
mod spool;

pub(crate) use limits::LIMIT_KEYS;
pub use limits::{Limits, LimitsError, Wanted};
pub use machine::{Agent, AgentEffect, AgentInput, Identity, Kept};
pub use spool::{MOST_BYTES, MOST_RESULTS, Spooled};
