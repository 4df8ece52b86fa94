//! `tapeline agent` and `tapeline fleet`: tests among hosts for good.
//!
//! ```text
//! agent ─► LocalHost ─► tapeline remote ─► a test
//! fleet controller · collect ─► history, metrics
//! fleet hosts · run · jobs · cancel · watch · schedule ─► Operator
//! fleet matrix ◄─ history
//! ```

mod agent;
mod collect;
mod controller;
mod fleet_state;
mod hosts;
mod jobs;
mod matrix;
mod role;
mod run;
mod schedule;
mod site;
mod table;
mod task;
mod test_words;

pub(crate) use agent::agent;
pub(crate) use task::fleet;
