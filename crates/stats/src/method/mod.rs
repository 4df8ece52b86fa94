//! Laws and searches of whole measurement procedures: state machines without clock and IO.

mod path_uses;
mod responsiveness;

pub use path_uses::{
    Fitness, IdleFacts, LoadFacts, PathFacts, PathJudgement, PathUse, TryAdvice, UseCause,
    UseLimits, UseMoment,
};
pub use responsiveness::{
    DelaySamples, ProbeBudget, ResponsivenessClass, ResponsivenessConstants,
    ResponsivenessInterval, ResponsivenessSearch, SearchStage, StageConfidence,
};
