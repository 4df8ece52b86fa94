//! Methods: whole measurement procedures, each of which runs several tests in a fixed order and ends in one
//! result.
//!
//! ```text
//!  MethodPlan ─► perform ─► Procedure::run ─► Run ─┬─ ordinary tests   dialect::run_client
//!                   │                              ├─ phases, pauses   time limits, interruption
//!                   │                              └─ Watch            what a reader sees meanwhile
//!                   └─► MethodDocument (tapeline-report)
//! ```
//!
//! A procedure decides what is measured, in which order; the arithmetic is in `tapeline-stats`, the
//! form of results in `tapeline-report`. Nothing here prints. Only the program uses this crate.

mod baseline;
mod capacity;
mod client_runs;
mod common;
mod departure;
mod error;
mod find_rate;
mod method_peer;
mod mtu;
mod path;
mod perform;
mod phase_guard;
mod plan;
mod procedure;
mod responsiveness;
mod rfc6349;
mod run;
mod session_slot;
mod try_host;
mod watch;

pub use baseline::{Baseline, BaselineSource};
pub use capacity::{CapacityPlan, measure_capacity};
pub use client_runs::{ClientRuns, Program};
pub use common::{Common, DirectionChoice, PeerKind};
pub use error::{MethodError, RunError};
pub use find_rate::{DatagramSizes, FindRatePlan, Laboratory};
pub use mtu::MtuPlan;
pub use perform::{Performed, perform, refused};
pub use plan::MethodPlan;
pub use procedure::Procedure;
pub use responsiveness::ResponsivenessPlan;
pub use rfc6349::{GivenBottleneck, Rfc6349Plan, WindowShare};
pub use run::Run;
pub use tapeline_report::method::{Direction, PlannedPhase};
pub use tapeline_stats::ResponsivenessConstants;
pub use try_host::TryPlan;
pub use watch::{NobodyWatches, Sample, Watch};
