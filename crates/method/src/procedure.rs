//! What every method is.

use tapeline_report::method::{MethodOutcome, MethodResult, PlannedPhase};

use crate::common::Common;
use crate::error::MethodError;
use crate::run::Run;

/// A method: its plan is the type.
pub trait Procedure {
    /// Its word on the command line.
    const WORD: &'static str;
    /// The standard that it follows; empty of a customary procedure.
    const STANDARD: &'static str;
    /// What it finds out, in a few words.
    const ABOUT: &'static str;

    /// What it comes to.
    type Result: MethodResult + Default + Into<MethodOutcome>;

    /// What all methods are asked for alike.
    fn common(&self) -> &Common;

    /// The same, to be changed before the run.
    fn common_mut(&mut self) -> &mut Common;

    /// The phases in their order, as far as they are known before the run.
    fn phases(&self) -> Vec<PlannedPhase>;

    /// Measures. What is entered into `result` is kept if an error, or a signal, ends it.
    ///
    /// # Errors
    /// Whatever ends the method before its end.
    fn run(&self, run: &mut Run<'_>, result: &mut Self::Result) -> Result<(), MethodError>;
}
