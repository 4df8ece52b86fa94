//! Processor use of this process.

use std::time::Duration;

use super::{CpuUse, Phase};

/// Processor time of this process, of all its tests together.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ProcessorUse {
    /// Since the last interval, or while flows ran.
    pub phase: Phase,
    /// How long that was.
    pub span: Duration,
    /// Its use in that time.
    pub cpu: CpuUse,
}
