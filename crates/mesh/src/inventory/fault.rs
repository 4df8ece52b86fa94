//! What is wrong with an inventory.

use thiserror::Error;

/// What is wrong with an inventory, and where, if a line of its own shows that.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{file}{}: {text}", line.map(|line| format!(":{line}")).unwrap_or_default())]
pub struct InventoryError {
    /// The file as it was named.
    pub file: String,
    /// Counted from 1.
    pub line: Option<usize>,
    /// A sentence.
    pub text: String,
}
