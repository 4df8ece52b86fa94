//! What does not agree.

use libtest_mimic::Failed;

use crate::shown::{self, Unit};

/// Collects what does not agree in one run, so that all of it is reported at once.
#[derive(Default)]
pub(crate) struct Findings(Vec<String>);

impl Findings {
    pub(crate) fn add(&mut self, what: impl Into<String>) {
        self.0.push(what.into());
    }

    /// Words that have to be the same.
    pub(crate) fn same(&mut self, what: &str, shown: &str, known: &str) {
        if shown != known {
            self.add(format!("{what}: {shown:?}, and {known:?} in the document"));
        }
    }

    /// A number as a form shows it, in a unit; nothing is shown where none is known.
    pub(crate) fn number(
        &mut self,
        what: &str,
        shown: Option<&str>,
        unit: Unit,
        known: Option<f64>,
    ) {
        match (shown, known) {
            (None, None) => {}
            (Some(shown), Some(known)) => {
                if !shown::agrees(shown, unit, known) {
                    self.add(format!(
                        "{what}: {shown} {unit:?}, and {known} in the document"
                    ));
                }
            }
            (Some(shown), None) => {
                self.add(format!("{what}: {shown}, and nothing in the document"))
            }
            (None, Some(known)) => {
                self.add(format!("{what}: missing, and {known} in the document"))
            }
        }
    }

    /// The end of a run, with all that it printed.
    pub(crate) fn conclude(self, shown: &str) -> Result<(), Failed> {
        match self.0.is_empty() {
            true => Ok(()),
            false => Err(format!("{}\n{shown}", self.0.join("\n")).into()),
        }
    }
}
