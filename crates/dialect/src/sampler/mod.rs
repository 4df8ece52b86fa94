//! The sampler: it decides when intervals end, subtracts snapshots, adds up groups and
//! passes finished events on, in order.
//!
//! One thread per process. Workers and drivers only send it commands; nothing on the
//! data path waits for it.
//!
//! ```text
//!  ReporterHandle ── Command (FlowStart, FlowEnd, Event) ─► State ─► flow, measure (rows) ─► groups (sums)
//!                                                             │        └─► evidence ─► verdicts
//!                                                             └─► subscribers, then the sink
//! ```

pub(crate) mod evidence;
pub(crate) mod flow;
pub(crate) mod flow_start;
pub(crate) mod groups;
pub(crate) mod handle;
mod inbox;
pub(crate) mod measure;
pub(crate) mod open_tests;
pub(crate) mod processor;
pub(crate) mod state;
pub(crate) mod subscribers;
pub(crate) mod verdicts;

pub(crate) use evidence::{EndFacts, SocketFacts};
pub(crate) use flow_start::{
    CounterCell, FlowEnd, FlowExtras, FlowHistogram, FlowStart, GroupKey, GroupKind,
};
pub use groups::SingleSums;
pub(crate) use handle::RunningFlow;
pub use handle::{Reporter, ReporterHandle};
pub(crate) use measure::send_timing;
pub use state::ReporterSettings;
pub(crate) use subscribers::{Counted, FlowRows, FlowTotals};
