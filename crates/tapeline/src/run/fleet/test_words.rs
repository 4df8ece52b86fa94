//! The test of a job, from words.

use tapeline_remote::GivenOption;

use crate::cli::flows;
use crate::run::mesh::TestLine;

/// A test that jobs are made of.
#[derive(Clone, Debug)]
pub(crate) struct JobTest {
    /// Its options.
    pub(crate) options: Vec<GivenOption>,
    /// About how long it takes, seconds.
    pub(crate) seconds: u32,
}

impl JobTest {
    /// Of words as they are typed.
    ///
    /// # Errors
    /// Why they are no test.
    pub(crate) fn of_words(words: &[String]) -> Result<Self, String> {
        let line = TestLine::read(words)?;
        Ok(Self {
            seconds: line.expected().as_secs_f64().ceil() as u32,
            options: line.options,
        })
    }

    /// Of one text with quotation marks.
    ///
    /// # Errors
    /// Why it is no test.
    pub(crate) fn of_text(text: &str) -> Result<Self, String> {
        let words = flows::words(text).ok_or("a quotation mark is not closed")?;
        Self::of_words(&words)
    }
}
