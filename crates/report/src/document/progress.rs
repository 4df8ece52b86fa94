//! What the other end has counted so far.

use serde::Serialize;

use super::interval::rounded;
use super::seconds;
use crate::model::OtherProgress;

/// Running counters of the other end, over all flows of the test.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct FarProgress {
    /// Time since its first flow's start, seconds.
    pub seconds: f64,
    /// Payload that it has sent or received.
    pub bytes: u64,
    /// Datagrams that it has sent or received; `null` over TCP.
    pub packets: Option<u64>,
    /// Flows that run there.
    pub flows: u32,
    /// Its processor use since the line before, percent of one processor.
    pub cpu_percent: Option<f64>,
}

impl FarProgress {
    pub(super) fn of(progress: &OtherProgress, udp: bool) -> Self {
        Self {
            seconds: seconds(progress.elapsed),
            bytes: progress.bytes,
            packets: udp.then_some(progress.datagrams),
            flows: progress.flows,
            cpu_percent: progress.cpu_percent.map(rounded),
        }
    }
}
