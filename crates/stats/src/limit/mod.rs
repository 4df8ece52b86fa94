//! What limited a test, and how sure that is (methodology 16).
//!
//! ```text
//!  SenderEvidence ─┐
//!                  ├─► judge_stream / judge_datagrams ─► Verdict
//!  ReceiverEvidence┘                                     limited_by, certainty, findings
//! ```

mod datagrams;
mod evidence;
mod stream;
mod verdict;

pub use datagrams::judge_datagrams;
pub use evidence::{
    DropCounts, FrameSchedule, HostEvidence, LossOrigin, RateTarget, ReceiverEvidence, RoundTrips,
    SenderEvidence, StreamTimes,
};
pub use stream::judge_stream;
pub use verdict::{Certainty, End, Finding, LimitedBy, Verdict};

#[cfg(test)]
mod tests;
