//! The document as JSON.

use super::report::{Report, TestRole};
use super::series::SeriesReport;
use crate::render::Output;

/// Writes the document of a client over many lines, that of a server in one.
pub(super) fn write(report: &Report, out: &mut Output) {
    let text = match report.test.role {
        TestRole::Client => serde_json::to_string_pretty(report),
        TestRole::Server => serde_json::to_string(report),
    };
    // Neither a map with keys that are no text nor a failing writer can occur.
    out.line(&text.unwrap_or_default());
}

/// Writes the document of several runs.
pub(super) fn write_series(series: &SeriesReport, out: &mut Output) {
    out.line(&serde_json::to_string_pretty(series).unwrap_or_default());
}
