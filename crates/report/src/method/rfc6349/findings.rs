//! What the numbers mean, in sentences.

use tapeline_base::FormatLetter;
use tapeline_stats::LimitedBy;
use tapeline_stats::rfc6349::PathFinding;

use super::super::phase::Direction;
use super::result::{DirectionResult, Rfc6349Result, TransferRun};
use crate::native::{digits, rate_words};

/// Queue of less that is added at full load and nobody notices, milliseconds.
const UNOBTRUSIVE: f64 = 30.0;

fn bits(bits_per_second: f64) -> String {
    rate_words(bits_per_second, FormatLetter::BITS)
}

/// What the transfer adds to the round trip, milliseconds.
fn queue(run: &TransferRun, baseline_ms: Option<f64>) -> Option<f64> {
    Some((run.rtt_mean_ms? - baseline_ms?).max(0.0))
}

/// A finding about one direction.
pub(crate) fn sentence(
    finding: PathFinding,
    way: Direction,
    direction: &DirectionResult,
    baseline_ms: Option<f64>,
) -> String {
    let run = direction.full();
    let rate = run.map_or_else(
        || "an unknown rate".to_owned(),
        |run| bits(run.bits_per_second),
    );
    let queue = run.and_then(|run| queue(run, baseline_ms));
    let window = direction.minimum_window_bytes.unwrap_or(0);
    // The kernel's buffer holds more than the window that it offers.
    let raise = |window: u64| format!("{} bytes", window.saturating_mul(2));
    let used = run.and_then(|run| run.window_used_bytes);
    let kilo = |bytes: Option<u64>| {
        bytes.map_or_else(
            || "unknown size".to_owned(),
            |bytes| format!("{} kB", digits(bytes as f64 / 1e3)),
        )
    };
    match finding {
        PathFinding::NoRatio => {
            "The bottleneck is not known, so there is no ratio. Give the contracted rate with --cir."
                .to_owned()
        }
        PathFinding::ProcessorLimited => {
            let (host, confidence) = limit(way, run);
            format!(
                "{host} (its processor), not the network, limited the transfer ({confidence} \
                 confidence); the ratio says nothing about the path."
            )
        }
        PathFinding::FasterThanBottleneck => {
            "TCP was faster than the measured bottleneck: the bottleneck figure is wrong or the path \
             changed. Repeat, or give --cir."
                .to_owned()
        }
        PathFinding::Filled => {
            let mut text = "One TCP connection fills this path.".to_owned();
            if let Some(added) = queue {
                text.push_str(&format!(" Its queue adds {} ms at full load", digits(added)));
                text.push_str(match added < UNOBTRUSIVE {
                    true => ", which is unobtrusive.",
                    false => ".",
                });
            }
            text
        }
        PathFinding::FilledByQueue => format!(
            "TCP reaches full speed, but by filling a queue of {} ms. Calls and games will suffer \
             while a transfer runs.",
            digits(queue.unwrap_or(0.0))
        ),
        PathFinding::LossAtLightLoad => {
            let lost = digits(direction.light_load_loss_percent.unwrap_or(0.0));
            let by = run.and_then(|run| run.congestion_control.as_deref());
            let by = by.map_or_else(String::new, |name| format!(" with {name}"));
            let mut text = format!(
                "{lost} % of packets are lost even at light load: line errors or a faulty segment. \
                 One connection{by} reaches {rate}"
            );
            match direction.several() {
                Some(several) => text.push_str(&format!(
                    "; {} together reach {}.",
                    count(several.connections),
                    bits(several.bits_per_second)
                )),
                None => text.push('.'),
            }
            text
        }
        PathFinding::Policed => format!(
            "Packets are dropped near full rate before any queue builds up: typical of a policer or a \
             very short buffer. Ask whether the contract is policed at {}.",
            direction
                .bottleneck
                .as_ref()
                .map_or_else(|| "that rate".to_owned(), |one| bits(one.bits_per_second))
        ),
        PathFinding::OnlyTogether => {
            let several = direction.several().map_or(4, |run| run.connections);
            format!(
                "A single connection does not fill this path, {} do: look at window limits and at \
                 the congestion control.",
                count(several)
            )
        }
        PathFinding::ReceiverWindow => format!(
            "The receiver's window ({}) is smaller than the bandwidth-delay product; raise tcp_rmem \
             to {}.",
            kilo(used),
            raise(window)
        ),
        PathFinding::SendBuffer => format!(
            "The sender's buffer ({} in use) is smaller than the bandwidth-delay product; raise \
             tcp_wmem to {}.",
            kilo(used),
            raise(window)
        ),
        PathFinding::LossUnderLoad => {
            let resent = run.and_then(TransferRun::resent_percent).unwrap_or(0.0);
            let mut text = format!("{} % of the data was sent again", digits(resent));
            if let Some(added) = queue {
                text.push_str(&format!(" while a queue added {} ms", digits(added)));
            }
            text.push_str(
                ": other traffic, or a buffer too short for this congestion control. Repeat when the \
                 path is idle, or compare algorithms with -Z.",
            );
            text
        }
        PathFinding::BelowUdp => {
            "TCP stays below the UDP capacity without visible loss: look for a per-connection limit, a \
             proxy, or a shaper with a larger burst for UDP."
                .to_owned()
        }
    }
}

/// Whose processor limited a run, and how sure that is.
fn limit(way: Direction, run: Option<&TransferRun>) -> (&'static str, &'static str) {
    let verdict = run.and_then(|run| run.limited_by.as_ref());
    let sender = verdict.and_then(|verdict| verdict.limited_by) == Some(LimitedBy::SenderCpu.id());
    let own = sender == (way == Direction::Up);
    let host = if own {
        "This computer"
    } else {
        "The server's computer"
    };
    (host, verdict.map_or("low", |verdict| verdict.confidence))
}

/// Small numbers in words.
fn count(number: u32) -> String {
    match number {
        2 => "two".to_owned(),
        3 => "three".to_owned(),
        4 => "four".to_owned(),
        other => other.to_string(),
    }
}

/// What both directions mean; that which both have is said once.
pub(crate) fn verdict(result: &Rfc6349Result) -> String {
    let said: Vec<_> = result
        .measured()
        .filter_map(|(direction, of)| Some((direction, of, of.finding_text.as_deref()?)))
        .collect();
    match said[..] {
        [] => "Nothing was measured.".to_owned(),
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
