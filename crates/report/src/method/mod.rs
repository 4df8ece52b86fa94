//! Methods: whole measurement procedures, whose tests end in one page.
//!
//! ```text
//!  MethodOutcome (a result of one method) ─┬─ page       text of the terminal
//!        │                                 ├─ csv        a row for each trial
//!  MethodDocument  tapeline-method/1       ├─ charts     of the HTML page
//!        │                                 └─ quantities of --repeat, --pass, metrics
//!    phase   pass   figure
//! ```
//!
//! Nothing here knows how a number was measured. What is not known is `null`, and "not known with
//! this peer" on the page; it is never 0.

mod capacity;
mod document;
mod figure;
mod find_rate;
mod mtu;
mod outcome;
mod page;
mod pass;
mod phase;
mod render;
mod responsiveness;
mod result;
pub mod rfc6349;
mod series;
mod try_host;

pub use capacity::{Capacity, CapacityInterval, CapacityResult, DirectionCapacity};
pub use document::{METHOD_SCHEMA, MethodDocument, MethodTest};
pub use figure::{Chart, ChartKind, ChartSeries, CsvTable, Mark, Quantity, cell};
pub use find_rate::{
    DirectionRates, FindRateResult, RateConfidence, RateFinding, RateFound, RateTrial, TrialDelays,
    TrialVerdict,
};
pub use mtu::{MtuDirection, MtuFragments, MtuIcmp, MtuResult, MtuTrial, is_mss_clamped};
pub use outcome::MethodOutcome;
pub use page::{MethodHead, NOT_KNOWN, NOT_MEASURED, PageStyle};
pub use pass::{Bound, Criterion, PassLimit, PassResult, judge};
pub use phase::{Direction, PhaseRecord, PhaseState, PlannedPhase, TrialRecord};
pub use render::{MethodPage, MethodStream, series_text, text};
pub use responsiveness::{
    LoadedResponsiveness, ResponsivenessConfidence, ResponsivenessPoint, ResponsivenessProbes,
    ResponsivenessResult,
};
pub use result::MethodResult;
pub use series::{HeadlineName, METHOD_SERIES_SCHEMA, MethodRuns, MethodSeriesDocument};
pub use try_host::{TryDatagrams, TryDirection, TryIdle, TryMtu, TryResult, TryUses};
