//! What every result of a method can do.

use super::figure::{Chart, CsvTable, Quantity};
use super::page::{MethodHead, PageStyle};
use super::pass::Criterion;

/// A result of a method: numbers, of which those that are not known, or not yet, are `None`.
pub trait MethodResult {
    /// Its pass criteria, in the order in which pages show them.
    const CRITERIA: &'static [Criterion];

    /// The page: at most 80 columns, every line ended. Characters beyond ASCII only where the style has
    /// them.
    fn page(&self, head: &MethodHead, style: &PageStyle) -> String;

    /// One plain sentence: what the numbers mean. It stands in documents; a page has it where it likes.
    fn verdict(&self) -> String;

    /// A row for each trial.
    fn csv(&self) -> CsvTable;

    /// The headline numbers.
    fn quantities(&self) -> Vec<Quantity>;

    /// The charts of the HTML page.
    fn charts(&self) -> Vec<Chart> {
        Vec::new()
    }

    /// What was measured for a criterion, in the worse direction.
    fn criterion(&self, name: &str) -> Option<f64>;

    /// Whether an end host limited a headline number, with high or medium confidence.
    fn host_limited(&self) -> bool {
        false
    }

    /// Whether the page itself shows how the criteria came out; else lines below it do.
    fn shows_criteria(&self) -> bool {
        false
    }
}
