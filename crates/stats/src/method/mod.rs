//! Laws and searches of whole measurement procedures: state machines without clock and IO.

mod capacity;
mod path_uses;
mod rate_search;
mod rate_trial;
mod responsiveness;
pub mod rfc6349;

pub use capacity::{
    CapacityMaximum, HostLimit, LoadRules, LoadSearch, LoadStatus, LoadTable, SubInterval,
    SubIntervals, layer_rate,
};
pub use path_uses::{
    Fitness, IdleFacts, LoadFacts, PathFacts, PathJudgement, PathUse, TryAdvice, UseCause,
    UseLimits, UseMoment,
};
pub use rate_search::{GoalResult, LoadClass, RateOutcome, RateSearch, RateSearchPlan, UsedUp};
pub use rate_trial::{FaultExtent, HostFault, LossGoal, PlannedTrial, TrialResult, loss_interval};
pub use responsiveness::{
    DelaySamples, ProbeBudget, ResponsivenessClass, ResponsivenessConstants,
    ResponsivenessInterval, ResponsivenessSearch, SearchStage, StageConfidence,
};
mod path_mtu;
mod path_mtu_trials;

pub use path_mtu::{
    PathMtuAction, PathMtuEnding, PathMtuLimits, PathMtuOutcome, PathMtuProbe, PathMtuSearch,
    PathMtuTrial,
};
pub use path_mtu_trials::PathMtuTrials;
