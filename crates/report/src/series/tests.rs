use super::*;
use crate::document::tests::report_of_rate;
use crate::model::{ExcludedRun, ExclusionReason, FlowDirection, Quantity};

fn runs(rule: StopRule, rates: &[f64]) -> Runs {
    let mut runs = Runs::new(rule);
    for rate in rates {
        runs.add(&report_of_rate(*rate));
    }
    runs
}

const THREE: StopRule = StopRule {
    least: 3,
    most: 3,
    width: None,
};
const UNTIL: StopRule = StopRule {
    least: 3,
    most: 10,
    width: Some(0.05),
};

#[test]
fn the_interval_is_that_of_the_means_of_runs() {
    let series = runs(THREE, &[9e6, 10e6, 11e6]).series(false);
    let rate = &series.quantities[0];
    assert_eq!(rate.kind.quantity, Quantity::BitsPerSecond);
    assert_eq!(rate.kind.direction, Some(FlowDirection::Forward));
    assert_eq!((rate.runs, rate.mean), (3, Some(10e6)));
    assert_eq!((rate.min, rate.max), (Some(9e6), Some(11e6)));
    assert_eq!(rate.deviation, Some(1e6));
    // 4.3027 is Student's t of two degrees of freedom.
    let half = 4.302_652_729_749_464e6 / 3f64.sqrt();
    let near = |value: Option<f64>, wanted: f64| (value.unwrap() - wanted).abs() < 1.0;
    assert!(near(rate.ci_lower, 10e6 - half), "{rate:?}");
    assert!(near(rate.ci_upper, 10e6 + half), "{rate:?}");
    assert!(near(rate.ci_width_percent, 2.0 * half / 1e5), "{rate:?}");
    assert_eq!(rate.values, [9e6, 10e6, 11e6].map(Some));
    assert_eq!((series.precise_enough, series.excluded.len()), (None, 0));
}

#[test]
fn one_run_has_no_interval() {
    let series = runs(THREE, &[10e6]).series(true);
    let rate = &series.quantities[0];
    assert_eq!((rate.runs, rate.mean), (1, Some(10e6)));
    assert_eq!((rate.deviation, rate.ci_lower), (None, None));
    assert!(series.interrupted);
}

#[test]
fn the_number_of_runs_is_kept() {
    assert!(!runs(THREE, &[]).is_enough());
    assert!(!runs(THREE, &[1e6, 2e6]).is_enough());
    assert!(runs(THREE, &[1e6, 2e6, 3e6]).is_enough());
}

#[test]
fn a_series_ends_when_its_interval_is_narrow_enough() {
    assert!(!runs(UNTIL, &[10e6, 10e6]).is_enough(), "too few");
    assert!(runs(UNTIL, &[10e6, 10.05e6, 9.95e6]).is_enough());
    let wide = [9e6, 10e6, 11e6];
    assert!(!runs(UNTIL, &wide).is_enough());
    assert_eq!(runs(UNTIL, &wide).series(false).precise_enough, Some(false));
    // At most so many, however wide.
    let many: Vec<f64> = wide.iter().copied().cycle().take(10).collect();
    let ended = runs(UNTIL, &many);
    assert!(ended.is_enough());
    assert_eq!(ended.series(false).precise_enough, Some(false));
}

#[test]
fn a_first_run_far_from_all_others_is_a_warm_up() {
    let others = [10.0e6, 10.1e6, 9.9e6, 10.0e6, 10.05e6];
    let with = |first: f64| {
        let rates: Vec<f64> = std::iter::once(first).chain(others).collect();
        runs(UNTIL, &rates).series(false)
    };
    let warm_up = ExcludedRun {
        run: 1,
        reason: ExclusionReason::WarmUp,
    };
    let cold = with(5e6);
    assert_eq!(cold.excluded, [warm_up]);
    assert_eq!((cold.runs, cold.quantities[0].runs), (6, 5));
    assert_eq!(cold.quantities[0].values[0], Some(5e6));
    assert_eq!(with(10.02e6).excluded, []);
    // Too few others to know what is usual.
    let few = runs(UNTIL, &[5e6, 10e6, 10e6, 10e6]);
    assert_eq!(few.series(false).excluded, []);
}

#[test]
fn what_was_interrupted_or_failed_does_not_count() {
    let mut runs = runs(UNTIL, &[10e6, 10e6, 10e6]);
    let mut broken = report_of_rate(1e6);
    broken.test.complete = false;
    runs.add(&broken);
    broken.test.interrupted = true;
    runs.add(&broken);
    let series = runs.series(true);
    let reasons: Vec<_> = series
        .excluded
        .iter()
        .map(|one| (one.run, one.reason))
        .collect();
    let wanted = [
        (4, ExclusionReason::Failed),
        (5, ExclusionReason::Interrupted),
    ];
    assert_eq!(reasons, wanted);
    assert_eq!(series.quantities[0].runs, 3);
    assert_eq!(series.quantities[0].mean, Some(10e6));
}
