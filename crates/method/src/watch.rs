//! What a reader sees while a method runs.

use tapeline_report::method::{Direction, PhaseRecord, TrialRecord};
use tapeline_report::{Event, Warning};

/// A number of the running phase, for curves.
#[derive(Clone, Debug, PartialEq)]
pub struct Sample {
    /// What it is, with its unit: `Rate, Mbit/s`.
    pub curve: &'static str,
    /// Which way the data goes that it is of.
    pub direction: Option<Direction>,
    /// The number.
    pub value: f64,
}

/// Who looks on while a method runs. Calls come from the method's thread and shall not block for long.
pub trait Watch {
    /// A phase begins, ends, or is left out; `place` is its number and how many there are.
    fn phase(&mut self, _phase: &PhaseRecord, _place: (usize, usize)) {}

    /// What a test of the running phase reports.
    fn event(&mut self, _event: &Event) {}

    /// A number of the running phase.
    fn sample(&mut self, _sample: &Sample) {}

    /// A trial has ended.
    fn trial(&mut self, _trial: &TrialRecord) {}

    /// Something to know.
    fn warning(&mut self, _warning: &Warning) {}
}

/// Nobody.
#[derive(Clone, Copy, Debug, Default)]
pub struct NobodyWatches;

impl Watch for NobodyWatches {}
