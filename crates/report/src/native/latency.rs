//! What load does to round trips, in words.

use super::number::decimals;
use crate::model::LoadedLatency;

/// `+45.2 ms` or `no increase`: how much longer a round trip takes under load than on the idle path;
/// nothing where one of both is unknown.
pub(crate) fn increase(latency: &LoadedLatency) -> Option<String> {
    let idle = latency.idle.round_trips.percentile(50.0)? as f64 * 1e-6;
    let loaded = latency.loaded.round_trips.percentile(50.0)? as f64 * 1e-6;
    let measured = latency.increase.map(|seconds| seconds * 1e3);
    let longer = measured.unwrap_or(loaded - idle);
    if longer < 0.0005 {
        return Some("no increase".to_owned());
    }
    // Not finer than the median that it was taken from.
    let decimals = decimals(loaded);
    Some(format!("+{longer:.decimals$} ms"))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tapeline_stats::DelayCounts;

    use super::*;
    use crate::model::ProbeSeries;

    #[test]
    fn an_increase_is_as_fine_as_the_median_and_never_negative() {
        let series = |micros: i64| ProbeSeries {
            sent: 10,
            round_trips: DelayCounts::from_iter([(micros * 1000, 10)]),
        };
        let said = |loaded: i64, seconds: Option<f64>| {
            increase(&LoadedLatency {
                idle: series(2100),
                loaded: series(loaded),
                load: Duration::from_secs(10),
                increase: seconds,
                increase_there: None,
                increase_back: None,
                grade: None,
            })
        };
        assert_eq!(said(47_300, Some(0.045_2)).as_deref(), Some("+45.2 ms"));
        assert_eq!(said(2160, None).as_deref(), Some("+0.06 ms"));
        assert_eq!(said(2000, None).as_deref(), Some("no increase"));
    }
}
