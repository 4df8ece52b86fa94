//! What no event says of a run.

use std::time::Duration;

use tapeline_base::Role;

use super::schema::{TestShape, Workload};
use crate::model::{TestDirection, TestLimit};
use crate::native::RequestedTest;
use crate::style::Style;

/// What no event says of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct RunInfo {
    /// Version of the program.
    pub version: String,
    /// Its command line, quoted for a shell; empty of a program that has none.
    pub command: String,
    /// Which end it is.
    pub role: Role,
    /// What a client was asked for.
    pub planned: Option<PlannedTest>,
    /// How addresses are shown.
    pub style: Style,
}

/// What a client was asked for.
#[derive(Clone, Debug, PartialEq)]
pub struct PlannedTest {
    /// The host as it was typed.
    pub host: String,
    /// `tcp`, `udp` or `sctp`.
    pub transport: &'static str,
    /// Who sends.
    pub direction: TestShape,
    /// What the flows do.
    pub workload: Workload,
    /// When it is over.
    pub limit: PlannedLimit,
    /// What does not count at the start.
    pub omit: Duration,
    /// Flows.
    pub streams: usize,
    /// The interval.
    pub interval: Option<Duration>,
}

impl PlannedTest {
    /// What the text needs to know of it.
    #[must_use]
    pub fn requested(&self) -> RequestedTest {
        RequestedTest {
            direction: match self.direction {
                TestShape::Forward => TestDirection::Forward,
                TestShape::Reverse => TestDirection::Reverse,
                TestShape::Bidirectional => TestDirection::Bidirectional,
            },
            limit: match self.limit {
                PlannedLimit::Time(time) => TestLimit::Time(time),
                PlannedLimit::Bytes(bytes) => TestLimit::Bytes(bytes),
                PlannedLimit::Never => TestLimit::Time(Duration::ZERO),
            },
        }
    }
}

/// When a test is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PlannedLimit {
    /// After this time.
    Time(Duration),
    /// After so many bytes of each flow.
    Bytes(u64),
    /// When it is interrupted.
    Never,
}
