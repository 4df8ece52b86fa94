//! Several runs of one method.

use serde::Serialize;

use super::document::MethodDocument;
use super::figure::Quantity;
use crate::model::{ExclusionReason, Series, Warning};
use crate::series::{RunSet, StopRule};

/// Name and version of the form of a document of several runs.
pub const METHOD_SERIES_SCHEMA: &str = "tapeline-method-series/1";

/// Several runs of one method (`--repeat`, `--precision`).
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct MethodSeriesDocument {
    /// Name and version of this form: `tapeline-method-series/1`.
    #[cfg_attr(feature = "schema", schemars(extend("const" = METHOD_SERIES_SCHEMA)))]
    pub schema: &'static str,
    /// Version of the program that wrote it.
    pub version: String,
    /// Its command line, quoted for a shell.
    pub command: String,
    /// The method's word on the command line.
    pub method: &'static str,
    /// What the runs came to.
    pub series: Series<HeadlineName>,
    /// What a reader of the series must know; what concerns a run is there.
    pub warnings: Vec<Warning>,
    /// The document of each run, in their order.
    pub runs: Vec<MethodDocument>,
}

/// A headline number's name and unit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct HeadlineName {
    /// Its name, as `mtu.up`.
    pub name: String,
    /// Its unit.
    pub unit: &'static str,
}

/// The runs so far, and when there are enough.
#[derive(Clone, Debug)]
pub struct MethodRuns {
    set: RunSet<HeadlineName>,
    documents: Vec<MethodDocument>,
}

impl MethodRuns {
    /// No run yet.
    #[must_use]
    pub fn new(rule: StopRule) -> Self {
        Self {
            set: RunSet::new(rule, |_| true),
            documents: Vec::new(),
        }
    }

    /// Takes a run.
    pub fn add(&mut self, document: MethodDocument) {
        let fault = if document.interrupted {
            Some(ExclusionReason::Interrupted)
        } else {
            (!document.complete).then_some(ExclusionReason::Failed)
        };
        self.set.push(values(document.result.quantities()), fault);
        self.documents.push(document);
    }

    /// Whether the rule asks for no further run.
    #[must_use]
    pub fn is_enough(&self) -> bool {
        self.set.is_enough()
    }

    /// Runs that were made.
    #[must_use]
    pub fn documents(&self) -> &[MethodDocument] {
        &self.documents
    }

    /// What they came to; nothing of no run.
    #[must_use]
    pub fn finish(self, interrupted: bool) -> Option<MethodSeriesDocument> {
        let first = self.documents.first()?;
        Some(MethodSeriesDocument {
            schema: METHOD_SERIES_SCHEMA,
            version: first.version.clone(),
            command: first.command.clone(),
            method: first.method,
            series: self.set.series(interrupted),
            warnings: Vec::new(),
            runs: self.documents,
        })
    }
}

fn values(quantities: Vec<Quantity>) -> Vec<(HeadlineName, f64)> {
    let known = quantities.into_iter().filter_map(|quantity| {
        let value = quantity.value?;
        let kind = HeadlineName {
            name: quantity.name,
            unit: quantity.unit,
        };
        Some((kind, value))
    });
    known.collect()
}
