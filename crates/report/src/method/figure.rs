//! Numbers of a result in the forms that all methods share: quantities, rows of trials, charts.

use serde::Serialize;

use crate::render::quoted;

/// A headline number, for series, metrics and criteria.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Quantity {
    /// Its name, as `mtu.up`.
    pub name: String,
    /// The number; `null` when it is not known.
    pub value: Option<f64>,
    /// Its unit, as the last part of a member's name in documents: `bytes`, `bits_per_second`, `ms`,
    /// `percent`; `ratio` of a plain number.
    pub unit: &'static str,
}

impl Quantity {
    /// A number under its name.
    #[must_use]
    pub fn new(name: impl Into<String>, value: Option<f64>, unit: &'static str) -> Self {
        Self {
            name: name.into(),
            value,
            unit,
        }
    }
}

/// `--csv`: a header and a row for each trial.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CsvTable {
    /// Names of the columns.
    pub columns: Vec<&'static str>,
    /// Cells of each row, as many as columns; empty when not known.
    pub rows: Vec<Vec<String>>,
}

impl CsvTable {
    /// Without rows.
    #[must_use]
    pub fn new(columns: &[&'static str]) -> Self {
        Self {
            columns: columns.to_vec(),
            rows: Vec::new(),
        }
    }

    /// Adds a row.
    pub fn push(&mut self, cells: Vec<String>) {
        debug_assert_eq!(cells.len(), self.columns.len());
        self.rows.push(cells);
    }

    /// As RFC 4180 lays it out, with line feeds. `run` adds a column in front: the number of a run
    /// of several.
    #[must_use]
    pub fn text(&self, run: Option<u32>, header: bool) -> String {
        let mut text = String::new();
        if header {
            if run.is_some() {
                text.push_str("run,");
            }
            text.push_str(&self.columns.join(","));
            text.push('\n');
        }
        for row in &self.rows {
            if let Some(run) = run {
                text.push_str(&format!("{run},"));
            }
            let cells: Vec<String> = row.iter().map(|cell| quoted(cell)).collect();
            text.push_str(&cells.join(","));
            text.push('\n');
        }
        text
    }
}

/// A cell of what may be unknown.
#[must_use]
pub fn cell<T: ToString>(value: Option<T>) -> String {
    value.map(|value| value.to_string()).unwrap_or_default()
}

/// How the values of a series are drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Mark {
    /// A line through them.
    Line,
    /// A line in the colour of what is only expected.
    Expected,
    /// A dot each.
    Dots,
}

/// One series of a chart.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ChartSeries {
    /// Its name.
    pub name: String,
    /// How it is drawn.
    pub mark: Mark,
    /// Abscissa and value; an unknown value leaves a gap.
    pub points: Vec<(f64, Option<f64>)>,
}

/// What the values of a chart are: the page chooses the unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ChartKind {
    /// Bits per second.
    Rate,
    /// Bytes.
    Size,
    /// Milliseconds.
    Ms,
    /// Percent.
    Percent,
    /// Plain numbers.
    Count,
}

/// A chart of the HTML page.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Chart {
    /// Its title, without unit.
    pub title: String,
    /// What its values are.
    pub kind: ChartKind,
    /// What the abscissa is, with its unit: `seconds`.
    pub abscissa: String,
    /// Its series.
    pub series: Vec<ChartSeries>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_that_need_it_are_quoted() {
        let mut table = CsvTable::new(&["size", "verdict"]);
        table.push(vec!["1500".into(), "passes".into()]);
        table.push(vec![cell::<u32>(None), "too big, said \"R1\"".into()]);
        assert_eq!(
            table.text(None, true),
            "size,verdict\n1500,passes\n,\"too big, said \"\"R1\"\"\"\n"
        );
        assert_eq!(
            table.text(Some(2), false),
            "2,1500,passes\n2,,\"too big, said \"\"R1\"\"\"\n"
        );
    }
}
