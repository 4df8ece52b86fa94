//! The document of a method: `tapeline-method/1`.

use serde::Serialize;

use super::outcome::MethodOutcome;
use super::pass::PassResult;
use super::phase::{Direction, PhaseRecord};
use crate::document::{Failure, Peer, Report};
use crate::model::Warning;

/// Name and version of the document's form.
pub const METHOD_SCHEMA: &str = "tapeline-method/1";

/// A method, from its start to its verdict.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct MethodDocument {
    /// Name and version of this form: `tapeline-method/1`.
    #[cfg_attr(feature = "schema", schemars(extend("const" = METHOD_SCHEMA)))]
    pub schema: &'static str,
    /// Version of the program that wrote it.
    pub version: String,
    /// Its command line, quoted for a shell.
    pub command: String,
    /// The method's word on the command line.
    pub method: &'static str,
    /// The standard that it follows.
    pub standard: &'static str,
    /// Whether it kept to the letter of that standard: it is complete and has no deviations.
    pub conforming: bool,
    /// Where it did not.
    pub deviations: Vec<String>,
    /// The other end.
    pub peer: Peer,
    /// When it began, by this end's clock: RFC 3339, universal time.
    pub started: String,
    /// How long it took.
    pub seconds: f64,
    /// It ran to its end.
    pub complete: bool,
    /// It was ended by a signal: the numbers are those of the phases that were over.
    pub interrupted: bool,
    /// Its phases, in their order.
    pub phases: Vec<PhaseRecord>,
    /// What it came to.
    pub result: MethodOutcome,
    /// Criteria that were asked for, and how they came out.
    pub pass: Vec<PassResult>,
    /// What the numbers mean: a sentence.
    pub verdict: String,
    /// What a reader of the numbers must know.
    pub warnings: Vec<Warning>,
    /// Why it did not run to its end; `null` when it did, or was interrupted.
    pub error: Option<Failure>,
    /// The document of each test that was run, in their order.
    pub tests: Vec<MethodTest>,
}

/// A test that was run for a method.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct MethodTest {
    /// The phase that it belongs to.
    pub phase: &'static str,
    /// The direction of the phase.
    pub direction: Option<Direction>,
    /// Its document.
    #[serde(flatten)]
    pub report: Report,
}
