//! Why there is no result.

use std::io;

use tapeline_report::document::Report;

/// A test or a server that failed.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{text} [{id}]")]
pub struct TestError {
    /// A stable name, one of `docs/warnings.md`.
    pub id: String,
    /// A sentence: what failed, with which address, and why.
    pub text: String,
    /// What was measured before; none of a test that did not begin.
    pub report: Option<Box<Report>>,
}

impl TestError {
    pub(crate) fn of_test(report: Report) -> Self {
        let failure = report.failure();
        let (id, text) = failure.map_or_else(
            || ("test-failed".to_owned(), "the test failed".to_owned()),
            |failure| (failure.id, failure.text),
        );
        Self {
            id,
            text,
            report: Some(Box::new(report)),
        }
    }

    pub(crate) fn without_report(id: &str, text: impl Into<String>) -> Self {
        Self {
            id: id.to_owned(),
            text: text.into(),
            report: None,
        }
    }

    pub(crate) fn no_resource(error: &io::Error) -> Self {
        Self::without_report("out-of-resources", format!("a test cannot begin: {error}"))
    }
}
