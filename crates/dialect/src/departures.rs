//! How a UDP sender's datagrams left, as a report tells it.

use std::time::Duration;

use tapeline_base::FlowTag;
use tapeline_engine::Spacing;
use tapeline_report::{Departures, GapErrors};

/// Of a flow that sent up to `group` datagrams with one call, and `late` of them late.
pub(crate) fn departures(
    tag: FlowTag,
    group: usize,
    spacing: Option<&Spacing>,
    late: u64,
) -> Departures {
    let gaps = spacing.and_then(|spacing| {
        let errors = spacing.errors();
        let percentile = |percent| errors.percentile(percent).map(Duration::from_nanos);
        Some(GapErrors {
            gap: spacing.gap(),
            p50: percentile(50.0)?,
            p99: percentile(99.0)?,
            max: percentile(100.0)?,
            back_to_back: spacing.back_to_back() as f64 / spacing.count() as f64,
            late,
        })
    });
    Departures {
        tag,
        group: group as u64,
        gaps,
    }
}
