//! Whether two sets of runs differ: the document, and its text.
//!
//! ```text
//! Side A, Side B ─► compare ─► Comparison ─► text, page, JSON
//! ```

mod change;
mod compare;
mod document;
mod page;
mod side;
mod text;
mod words;

#[cfg(test)]
mod tests;

pub(crate) use change::Change;
pub use compare::{CompareOptions, compare};
pub use document::{
    COMPARISON_SCHEMA, Comparison, Difference, QuantityComparison, SideSummary, SideValues,
    Significance,
};
pub use page::{COMPARISONS_JS, Courses, page};
pub use side::Side;
pub use text::{quantity_list, text};
pub use words::runs_words;
pub(crate) use words::{MOST_RUNS, Shown, plain, signed};
