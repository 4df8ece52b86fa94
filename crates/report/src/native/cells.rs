//! Cells of tables with their columns.

use super::table::Column;
use crate::model::Span;

/// A column with a row's value in it. Rows with the same columns share a header.
#[derive(Clone, Debug)]
pub(crate) struct Field {
    pub(crate) column: Column,
    pub(crate) cell: String,
}

/// A column of this title, width and rank (the lower, the longer it stays on a narrow
/// terminal), and a cell.
pub(crate) fn field(title: &str, width: usize, rank: u8, cell: String) -> Field {
    Field {
        column: Column::new(title, width, rank),
        cell,
    }
}

/// `0.00-1.00`.
pub(crate) fn seconds(span: Span) -> String {
    format!(
        "{:.2}-{:.2}",
        span.start.as_secs_f64(),
        span.end.as_secs_f64()
    )
}
