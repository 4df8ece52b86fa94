//! The forms of a matrix beside its text.

use std::path::Path;

use tapeline_report::matrix::{MeshDocument, csv, html};

use crate::plan::Destination;
use crate::run::history::{Fault, deliver, json, write};

/// Where they go, as far as they are wanted.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Forms<'a> {
    pub(crate) json: Option<&'a Destination>,
    pub(crate) csv: Option<&'a Destination>,
    pub(crate) html: Option<&'a Path>,
}

impl Forms<'_> {
    /// Writes them; whether standard output is left for the text.
    pub(crate) fn deliver(self, document: &MeshDocument) -> Result<bool, Fault> {
        if let Some(file) = self.html {
            write(file, &html::render(document))?;
        }
        if let Some(to) = self.json {
            deliver(to, &json(document))?;
        }
        if let Some(to) = self.csv {
            deliver(to, &csv::render(document))?;
        }
        let on_output = |to: Option<&Destination>| to == Some(&Destination::Stdout);
        Ok(!on_output(self.json) && !on_output(self.csv))
    }
}
