//! Rules about runs, and whether they keep them.
//!
//! ```text
//! Rule, Side ─► judge ─► GateReport ─► text, markdown, JUnit, JSON
//! ```

mod document;
mod forms;
mod judge;
mod rule;

#[cfg(test)]
mod tests;

pub use document::{GATE_SCHEMA, GateReport, Outcome, RuleResult};
pub use forms::{junit, markdown, text};
pub use judge::judge;
pub use rule::{Condition, Gate, Margin, Rule, UnfitValue, read_value};
