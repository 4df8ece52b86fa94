//! Several runs of one method.

use serde::Serialize;

use super::document::MethodDocument;
use super::figure::Quantity;
use crate::model::{ExcludedRun, ExclusionReason, Warning};
use crate::series::{LEVEL_PERCENT, RunSet, StopRule};

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
    pub series: MethodSeries,
    /// What a reader of the series must know; what concerns a run is there.
    pub warnings: Vec<Warning>,
    /// The document of each run, in their order.
    pub runs: Vec<MethodDocument>,
}

/// What several runs of one method came to.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct MethodSeries {
    /// Runs that were begun.
    pub runs: u32,
    /// Runs that were to be made at most.
    pub max_runs: u32,
    /// Level of the confidence intervals, percent.
    pub confidence_percent: f64,
    /// `--precision`: how wide the intervals may be, percent of their mean.
    pub requested_width_percent: Option<f64>,
    /// Whether they got so narrow; `null` without `--precision`.
    pub precise_enough: Option<bool>,
    /// It was ended by a signal.
    pub interrupted: bool,
    /// Runs whose numbers are in no mean.
    pub excluded: Vec<ExcludedRun>,
    /// The headline numbers.
    pub quantities: Vec<MethodSpread>,
}

/// A headline number over the runs that count.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct MethodSpread {
    /// Its name, as `mtu.up`.
    pub name: String,
    /// Its unit.
    pub unit: &'static str,
    /// Runs that it is known of, and that count.
    pub runs: u64,
    /// Their mean.
    pub mean: Option<f64>,
    /// Their standard deviation; known from two runs on.
    pub deviation: Option<f64>,
    /// Least.
    pub min: Option<f64>,
    /// Largest.
    pub max: Option<f64>,
    /// Lower end of the confidence interval of the mean; known from two runs on.
    pub ci_lower: Option<f64>,
    /// Upper end.
    pub ci_upper: Option<f64>,
    /// Its width, percent of the mean; unknown for a mean of 0.
    pub ci_width_percent: Option<f64>,
    /// Each run's, in their order, those that do not count among them.
    pub values: Vec<Option<f64>>,
}

/// A headline number's name and unit.
type Kind = (String, &'static str);

/// The runs so far, and when there are enough.
#[derive(Clone, Debug)]
pub struct MethodRuns {
    set: RunSet<Kind>,
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
        let excluded = self.set.excluded();
        let rule = self.set.rule();
        let quantities = self.set.kinds().into_iter().map(|(name, unit)| {
            let kind = (name, unit);
            let statistics = self.set.statistics(&kind, &excluded);
            MethodSpread {
                name: kind.0,
                unit,
                runs: statistics.runs,
                mean: statistics.mean,
                deviation: statistics.deviation,
                min: statistics.min,
                max: statistics.max,
                ci_lower: statistics.ci_lower,
                ci_upper: statistics.ci_upper,
                ci_width_percent: statistics.ci_width_percent,
                values: statistics.values,
            }
        });
        let series = MethodSeries {
            runs: self.set.len(),
            max_runs: rule.most,
            confidence_percent: LEVEL_PERCENT,
            requested_width_percent: rule.width.map(|width| 100.0 * width),
            precise_enough: rule.width.map(|width| self.set.is_narrow(width)),
            interrupted,
            quantities: quantities.collect(),
            excluded,
        };
        Some(MethodSeriesDocument {
            schema: METHOD_SERIES_SCHEMA,
            version: first.version.clone(),
            command: first.command.clone(),
            method: first.method,
            series,
            warnings: Vec::new(),
            runs: self.documents,
        })
    }
}

fn values(quantities: Vec<Quantity>) -> Vec<(Kind, f64)> {
    let known = quantities.into_iter().filter_map(|quantity| {
        let value = quantity.value?;
        Some(((quantity.name, quantity.unit), value))
    });
    known.collect()
}
