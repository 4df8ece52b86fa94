//! The result of a gate as data.

use serde::Serialize;

/// Name and version of the document's form.
pub const GATE_SCHEMA: &str = "tapeline-gate/1";

/// What became of a rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// It is kept, 95 % sure.
    Pass,
    /// It is broken, 95 % sure.
    Fail,
    /// Neither is sure.
    Undecided,
}

impl Outcome {
    /// Its name.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Pass => "pass",
            Self::Fail => "fail",
            Self::Undecided => "undecided",
        }
    }
}

/// All rules about some runs.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct GateReport {
    /// Name and version of this form: `tapeline-gate/1`.
    #[cfg_attr(feature = "schema", schemars(extend("const" = GATE_SCHEMA)))]
    pub schema: &'static str,
    /// The runs as they were named.
    pub name: String,
    /// Runs that count.
    pub runs: usize,
    /// Runs that a host limited, surely or likely.
    pub host_limited: usize,
    /// `fail` if a rule is broken, else `undecided` if one is, else `pass`.
    pub outcome: Outcome,
    /// The rules, in their order.
    pub rules: Vec<RuleResult>,
}

/// What became of one rule.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RuleResult {
    /// The number that it is about.
    pub quantity: &'static str,
    /// The rule in words.
    pub rule: String,
    /// What became of it.
    pub outcome: Outcome,
    /// The median, or the change from the baseline in percent or in the unit; `null` of no run.
    pub value: Option<f64>,
    /// Lower end of its interval of 90 %: 95 % sure to one side.
    pub lower: Option<f64>,
    /// Upper end.
    pub upper: Option<f64>,
    /// The unit of these three.
    pub unit: String,
    /// Runs that know the number.
    pub runs: usize,
    /// Student's or Welch's t judged it, because there are few runs.
    pub few_runs: bool,
    /// What it rests on, in words.
    pub why: String,
}
