//! Round trips of probes while a test runs.

use tapeline_stats::Moments;

/// Round trips of a client's probes (`docs/protocol.md`, section 2.4) that were answered in an interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ProbeDelays {
    /// Seconds; the time in the server is not in them. At least one.
    pub round_trips: Moments,
}
