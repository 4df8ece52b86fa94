//! The page of several runs that were kept.

use serde_json::{Value, json};

use super::run_set::{RunSet, StopRule};
use super::values;
use crate::document::{SERIES_SCHEMA, WholeDocument};
use crate::model::{DirectedQuantity, ExcludedRun, ExclusionReason, Series};

/// A run that was kept, and whether it counts in its series.
#[derive(Clone, Debug)]
pub struct KeptRun {
    /// Why, where it does not.
    pub left_out: Option<String>,
    /// With all intervals.
    pub report: Value,
}

/// The document of several runs as the page of `--html`.
///
/// # Errors
/// They are of different tests; in words.
pub fn kept_series_page(runs: &[KeptRun]) -> Result<String, String> {
    Ok(WholeDocument::html_of(&kept_series(runs)?))
}

fn kept_series(runs: &[KeptRun]) -> Result<Value, String> {
    for member in ["transport", "workload", "direction"] {
        let of = |run: &KeptRun| run.report["test"][member].clone();
        if runs.windows(2).any(|pair| of(&pair[0]) != of(&pair[1])) {
            return Err(format!(
                "a page of several runs is of one test, and these differ in {member}"
            ));
        }
    }
    let first = runs.first().map_or(&Value::Null, |run| &run.report);
    Ok(json!({
        "schema": SERIES_SCHEMA,
        "version": first["version"],
        "command": first["command"],
        "series": series(runs),
        "warnings": [],
        "runs": runs.iter().map(|run| &run.report).collect::<Vec<_>>(),
    }))
}

/// What counts was decided when the runs were kept.
fn series(runs: &[KeptRun]) -> Series {
    let most = u32::try_from(runs.len()).unwrap_or(u32::MAX);
    let rule = StopRule {
        least: most,
        most,
        width: None,
    };
    let mut set = RunSet::new(rule, DirectedQuantity::is_main);
    let mut excluded = Vec::new();
    for (run, number) in runs.iter().zip(1..) {
        let fault = fault(run);
        excluded.extend(fault.map(|reason| ExcludedRun {
            run: number,
            reason,
        }));
        set.push(values::from_document(&run.report), fault);
    }
    set.series_without(excluded, false)
}

fn fault(run: &KeptRun) -> Option<ExclusionReason> {
    match run.left_out.as_deref() {
        Some("warm_up") => Some(ExclusionReason::WarmUp),
        _ if run.report["test"]["interrupted"] == true => Some(ExclusionReason::Interrupted),
        Some(_) => Some(ExclusionReason::Failed),
        None => {
            let counts = run.report["test"]["complete"] == true && run.report["error"].is_null();
            (!counts).then_some(ExclusionReason::Failed)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kept(mbps: f64, direction: &str, left_out: Option<&str>) -> KeptRun {
        KeptRun {
            left_out: left_out.map(str::to_owned),
            report: json!({
                "version": "0.1.0", "command": "tapeline -c db1",
                "test": {"transport": "tcp", "workload": "stream", "direction": direction,
                    "complete": true, "interrupted": false},
                "streams": [{"direction": direction, "rtt": {"samples": 4, "mean_ms": 2.5}}],
                "sum": {"directions": [{"direction": direction,
                    "sender": {"bits_per_second": 2e6, "retransmits": 3},
                    "receiver": {"bits_per_second": mbps * 1e6}}]},
            }),
        }
    }

    #[test]
    fn what_was_left_out_is_in_no_mean() {
        let mut failed = kept(1.0, "forward", None);
        failed.report["test"]["complete"] = json!(false);
        let runs = [
            kept(50.0, "forward", Some("warm_up")),
            kept(90.0, "forward", None),
            kept(92.0, "forward", None),
            failed,
        ];
        let series = series(&runs);
        let reasons: Vec<_> = series
            .excluded
            .iter()
            .map(|one| (one.run, one.reason))
            .collect();
        assert_eq!(
            reasons,
            [(1, ExclusionReason::WarmUp), (4, ExclusionReason::Failed)]
        );
        let means: Vec<_> = series
            .quantities
            .iter()
            .map(|one| (one.kind.quantity.id(), one.runs, one.mean))
            .collect();
        assert_eq!(
            means,
            [
                ("bits_per_second", 2, Some(91e6)),
                ("retransmits", 2, Some(3.0)),
                ("rtt_mean_ms", 2, Some(2.5)),
            ]
        );
        let page = kept_series_page(&runs).expect("a page");
        assert!(page.contains("tapeline-series/1") && page.contains("\"warm_up\""));
    }

    #[test]
    fn different_tests_are_no_series() {
        let runs = [kept(90.0, "forward", None), kept(90.0, "reverse", None)];
        let why = kept_series_page(&runs).expect_err("no page");
        assert!(why.ends_with("these differ in direction"), "{why}");
    }
}
