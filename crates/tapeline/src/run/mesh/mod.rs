//! `tapeline mesh`: tests among many hosts, ordered from here.
//!
//! ```text
//! MeshJob ─► job: plan, journal ─► Sessions: one a host ◄─ orders ─ Runner ◄─ Schedule
//!                                     └──── Happening ────────────►   │
//!                                    text, JSON, CSV, page ◄─ Results ┘ journal, history
//! ```

mod addresses;
mod clocks;
mod event_stream;
mod forms;
mod inventory;
mod job;
mod planned;
mod progress;
mod results;
mod runner;
mod running_test;
mod sessions;
mod test_line;

#[cfg(feature = "fleet")]
pub(crate) use forms::Forms;
pub(crate) use inventory::inventory;
pub(crate) use job::mesh;
#[cfg(feature = "web")]
pub(crate) use planned::{Planned, Unplanned, Wanted};
#[cfg(feature = "fleet")]
pub(crate) use test_line::TestLine;
