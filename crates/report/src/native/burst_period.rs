//! Rows of single bursts, over their period.

use crate::model::{BurstKind, Measure, Phase, Row, Span};

/// The row of a burst of `--burst-period` from its start to that of the next burst, any other row
/// as it is. A burst takes too few milliseconds for a column of times, and its own rate would not
/// compare with that of the test.
pub(crate) fn over_period(row: &Row) -> Row {
    let period = match &row.measure {
        Measure::TcpReceive(receive) if row.phase == Phase::Interval => {
            receive.bursts.and_then(|bursts| match bursts.kind {
                BurstKind::Periodic { period } => Some(period),
                BurstKind::Write | BurstKind::Frame => None,
            })
        }
        _ => None,
    };
    let span = period.map_or(row.span, |period| Span {
        start: row.span.start,
        end: row.span.end.max(row.span.start + period),
    });
    Row {
        span,
        ..row.clone()
    }
}
