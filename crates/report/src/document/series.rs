//! Several runs of one test, as data.

use serde::Serialize;

use super::assembler::Occasion;
use super::report::Report;
use crate::model::{Event, Repetition, Series, Severity, Spread, Warning};
use crate::native;
use crate::render::{Output, Renderer};

use super::warning::{WarningId, warning};

/// Name and version of the form of a document of several runs.
pub const SERIES_SCHEMA: &str = "tapeline-series/1";

/// Several runs of one test (`--repeat`, `--until-ci`).
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SeriesReport {
    /// Name and version of this form: `tapeline-series/1`.
    #[cfg_attr(feature = "schema", schemars(extend("const" = SERIES_SCHEMA)))]
    pub schema: &'static str,
    /// Version of the program that wrote it.
    pub version: String,
    /// Its command line, quoted for a shell.
    pub command: String,
    /// What the runs came to.
    pub series: Series,
    /// What a reader of the series must know; what concerns a run is there.
    pub warnings: Vec<Warning>,
    /// The document of each run, in their order.
    pub runs: Vec<Report>,
}

impl SeriesReport {
    /// Without the runs.
    pub(super) fn new(occasion: &Occasion, series: Series) -> Self {
        let said = native::unreached(&series).map(|text| (Severity::Warning, text));
        let warnings = said.map(|said| warning(WarningId::ConfidenceNotReached, said));
        Self {
            schema: SERIES_SCHEMA,
            version: occasion.version.clone(),
            command: occasion.command.clone(),
            series,
            warnings: warnings.into_iter().collect(),
            runs: Vec::new(),
        }
    }
}

/// `--repeat-csv`: a row for each number of a series, with its mean and how sure that is; what is
/// not known is empty.
#[derive(Debug, Default)]
pub struct SeriesCsv;

impl Renderer for SeriesCsv {
    fn render(&mut self, event: &Event, out: &mut Output) {
        if let Event::Repetition(Repetition::Over(series)) = event {
            out.line(
                "quantity,direction,runs,mean,deviation,min,max,ci_lower,ci_upper,ci_width_percent",
            );
            for spread in &series.quantities {
                out.line(&cells(spread).join(","));
            }
        }
    }
}

fn cells(spread: &Spread) -> [String; 10] {
    let known = |value: Option<f64>| value.map_or_else(String::new, |value| value.to_string());
    let direction = spread.direction.map(|direction| direction.id());
    [
        spread.quantity.id().to_owned(),
        direction.unwrap_or_default().to_owned(),
        spread.runs.to_string(),
        known(spread.mean),
        known(spread.deviation),
        known(spread.min),
        known(spread.max),
        known(spread.ci_lower),
        known(spread.ci_upper),
        known(spread.ci_width_percent),
    ]
}
