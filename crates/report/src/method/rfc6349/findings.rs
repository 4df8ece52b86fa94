//! What the numbers of both directions mean.

use tapeline_stats::rfc6349::PathFinding;

use super::result::{DirectionResult, Rfc6349Result};

/// What both directions mean; that which both have is said once.
pub(crate) fn verdict(result: &Rfc6349Result) -> String {
    let said: Vec<_> = result
        .measured()
        .filter_map(|(direction, of)| Some((direction, of, of.finding_text.as_deref()?)))
        .collect();
    match said[..] {
        [] => "No run of TCP was measured.".to_owned(),
        [(_, _, text)] => text.to_owned(),
        [(_, up, one), (_, down, other)] => {
            if one == other {
                return one.to_owned();
            }
            let fills = [PathFinding::Filled.id(), PathFinding::FilledByQueue.id()];
            if up.finding == down.finding && up.finding.is_some_and(|id| fills.contains(&id)) {
                // The longer queue counts.
                let delay = |of: &DirectionResult| of.headline.buffer_delay_percent.unwrap_or(0.0);
                let longer = if delay(up) >= delay(down) { one } else { other };
                return longer.to_owned();
            }
            format!("Up: {one}\nDown: {other}")
        }
        _ => said
            .iter()
            .map(|(_, _, text)| *text)
            .collect::<Vec<_>>()
            .join(" "),
    }
}
