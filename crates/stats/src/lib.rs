//! Measurement mathematics: loss, jitter, delay, histograms, clock error, confidence, limits.
//!
//! Nothing here reads a clock, does IO or formats text. A worker owns its
//! accumulators and feeds them per packet; a sampler takes copies and subtracts:
//!
//! ```text
//!  packet ─► SequenceTracker ─► Arrival ─► Jitter, Transit, DelayHistogram
//!                 │ counts()                  │ (plain Copy values)
//!                 ▼                           ▼
//!     snapshot n ──────────── later.since(&earlier) = interval n
//!     flow a ──────────────── a.merge(&b)           = sum of flows
//!     end of test ─────────── finish(sent)          = Loss
//! ```
//!
//! Merging is associative and `since` undoes `merge`; both are property-tested.
//! Where a peer computes a number differently, the peer's number has a method of
//! its own, named after the peer.

mod bufferbloat;
mod clock;
mod compare;
mod confidence;
mod delay;
mod derived;
mod distributions;
mod gap_history;
mod jitter;
mod limit;
mod linear_histogram;
mod loss;
mod median_polish;
mod method;
mod moments;
mod outage;
mod random;
mod read_sizes;
mod sequence;
mod transit;

pub use bufferbloat::BufferbloatGrade;
pub use clock::{ClockExchange, ClockFit, ClockLine};
pub use compare::{
    BoundsMethod, MedianBounds, RankTest, Shift, ShiftMethod, Superiority, Welch, hedges_g, holm,
    median, runs_needed, runs_to_decide,
};
pub use confidence::{Confidence, ConfidenceInterval, trimmed_mean};
pub use delay::{
    Bucket, DelayCounts, DelayCourse, DelayHistogram, DelaySlice, DelayVariation,
    DifferenceBuckets, PUBLISHED_PERCENTILES, bucket_index,
};
pub use derived::{
    PacketsInProgress, little_in_progress, little_packets_in_progress, network_power,
    responses_per_second,
};
pub use jitter::{Jitter, JitterTotals};
pub use limit::{
    Certainty, DropCounts, End, Finding, FrameSchedule, HostEvidence, LimitedBy, LossOrigin,
    RateTarget, ReceiverEvidence, RoundTrips, SenderEvidence, StreamTimes, Verdict,
    judge_datagrams, judge_stream,
};
pub use linear_histogram::{HistogramShape, LinearHistogram, LinearSummary, OutOfBounds};
pub use loss::{Loss, LossRuns, SequenceCounts};
pub use median_polish::{Effects, MedianPolish};
pub use method::rfc6349;
pub use method::{
    CapacityMaximum, DelaySamples, FaultExtent, Fitness, GoalResult, HostFault, HostLimit,
    IdleFacts, LoadClass, LoadFacts, LoadRules, LoadSearch, LoadStatus, LoadTable, LossGoal,
    PathFacts, PathJudgement, PathUse, PlannedTrial, ProbeBudget, RateOutcome, RateSearch,
    RateSearchPlan, ResponsivenessClass, ResponsivenessConstants, ResponsivenessInterval,
    ResponsivenessSearch, SearchStage, StageConfidence, SubInterval, SubIntervals, TrialResult,
    TryAdvice, UseCause, UseLimits, UseMoment, UsedUp, layer_rate, loss_interval,
};
pub use method::{
    PathMtuAction, PathMtuEnding, PathMtuLimits, PathMtuOutcome, PathMtuProbe, PathMtuSearch,
    PathMtuTrial, PathMtuTrials,
};
pub use moments::Moments;
pub use outage::{Outage, OutageWatch};
pub use random::{LogNormal, Random};
pub use read_sizes::ReadSizes;
pub use sequence::{Arrival, SequenceTracker};
pub use transit::Transit;
