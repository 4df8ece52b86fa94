//! A comparison as data.

use serde::Serialize;

/// Name and version of the document's form.
pub const COMPARISON_SCHEMA: &str = "tapeline-comparison/1";

/// Two sets of runs.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Comparison {
    /// Name and version of this form: `tapeline-comparison/1`.
    #[cfg_attr(feature = "schema", schemars(extend("const" = COMPARISON_SCHEMA)))]
    pub schema: &'static str,
    /// Level of the intervals, percent.
    pub confidence_percent: f64,
    /// Changes up to this are of no interest, percent.
    pub notice_percent: f64,
    /// The runs that B is compared with.
    pub a: SideSummary,
    /// The runs that are compared.
    pub b: SideSummary,
    /// In what the tests differ.
    pub differs: Vec<Difference>,
    /// What a reader of the numbers must know.
    pub notes: Vec<String>,
    /// The numbers, the main one first where there is one.
    pub quantities: Vec<QuantityComparison>,
}

/// The runs of a side.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SideSummary {
    /// As the runs were named.
    pub name: String,
    /// Runs that count.
    pub runs: usize,
    /// Runs that failed, were interrupted, or are left out in their series.
    pub left_out: usize,
    /// When the first began: RFC 3339, universal time.
    pub first: Option<String>,
    /// When the last began.
    pub last: Option<String>,
    /// Runs that a host limited, surely or likely.
    pub host_limited: usize,
    /// The test in words.
    pub test: Vec<String>,
}

/// Something about the tests that is not the same on both sides.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Difference {
    /// What.
    pub what: String,
    /// What it is in the runs of A.
    pub a: Vec<String>,
    /// What it is in the runs of B.
    pub b: Vec<String>,
    /// It makes them different tests.
    pub of_the_test: bool,
}

/// What a side has of a number.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SideValues {
    /// The median; `null` of no run.
    pub median: Option<f64>,
    /// What each run that knows it has.
    pub values: Vec<f64>,
}

/// How sure a difference is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Significance {
    /// Significant after the correction for several numbers, and worth a notice.
    Surely,
    /// Significant without it, and worth a notice.
    Likely,
    /// Significant, and smaller than the notice.
    Little,
    /// The whole interval is smaller than the notice.
    Same,
    /// More runs are needed.
    Unclear,
    /// There is one run on a side, or no spread to judge by.
    NotJudged,
}

/// A number of both sides.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct QuantityComparison {
    /// Its name, as `tapeline compare --list` has it.
    pub quantity: &'static str,
    /// `forward`, `reverse`, `round_trip`; `null` where it is of the whole test.
    pub direction: Option<&'static str>,
    /// Its unit.
    pub unit: &'static str,
    /// `higher` or `lower`.
    pub better: &'static str,
    /// `ratio` or `difference`: what `change` is.
    pub compared_as: &'static str,
    /// It is judged alone; all others are judged together.
    pub main: bool,
    /// The runs of A.
    pub a: SideValues,
    /// The runs of B.
    pub b: SideValues,
    /// The median of all differences between a run of B and one of A: percent of a ratio, else in
    /// the unit.
    pub change: Option<f64>,
    /// Lower end of its interval.
    pub change_lower: Option<f64>,
    /// Upper end of its interval.
    pub change_upper: Option<f64>,
    /// `exact`, `normal` (rank sums) or `welch` (few runs).
    pub method: Option<&'static str>,
    /// Two-sided p of no change.
    pub p: Option<f64>,
    /// The same, corrected by Holm's method for all numbers but the main one.
    pub p_corrected: Option<f64>,
    /// Pairs of a run of each side of which B's is better; a half for each with the same.
    pub better_pairs: f64,
    /// All pairs.
    pub pairs: u64,
    /// Hedges' g, of the values as they are.
    pub hedges_g: Option<f64>,
    /// How sure it is.
    pub significance: Significance,
    /// Whether B is better; `null` where that is not said.
    pub b_is_better: Option<bool>,
    /// Runs of each side that would show twice the notice; of what is unclear.
    pub runs_needed: Option<u64>,
    /// The verdict in words.
    pub verdict: String,
}
