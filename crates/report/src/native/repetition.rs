//! What several runs came to: a line for each number.

use super::table::{Column, Table};
use super::unit::{Unit, percent};
use crate::model::{FlowDirection, LeftOut, Quantity, Series, Spread, WhyLeftOut};
use crate::style::Style;

/// A table of the numbers, then the runs that are in none of them.
pub(super) fn lines(series: &Series, style: &Style) -> Vec<String> {
    let titles: Vec<String> = series
        .quantities
        .iter()
        .map(|spread| title(spread, style))
        .collect();
    let count = plural(series.runs, "run");
    let width = titles.iter().map(|title| title.chars().count());
    let first = Column::new(&count, width.max().unwrap_or(0), 0);
    let table = Table::fitting(
        vec![
            first,
            Column::new("counted", 7, 0),
            Column::new("mean", 9, 0),
            Column::new(
                &format!("{} % confidence", series.confidence_percent),
                19,
                0,
            ),
            Column::new("width", 8, 0),
            Column::new("min", 9, 1),
            Column::new("max", 9, 1),
        ],
        usize::MAX / 2,
    );
    let mut lines = vec![table.header()];
    for (spread, title) in series.quantities.iter().zip(titles) {
        lines.push(table.line(cells(spread, title, style)));
    }
    lines.extend(series.left_out.iter().map(|one| left_out(one, series)));
    lines
}

/// That the interval wanted was not reached, and what it is.
pub(crate) fn unreached(series: &Series) -> Option<String> {
    let wanted = series.wanted_width_percent?;
    if series.reached != Some(false) {
        return None;
    }
    let widths = series.quantities.iter().filter(|spread| spread.is_main());
    let widest = widths.filter_map(|spread| spread.ci_width_percent);
    let runs = plural(series.runs, "run");
    Some(match widest.max_by(f64::total_cmp) {
        Some(widest) => format!(
            "after {runs} the confidence interval is {} of the mean wide, {} was asked for",
            percent(widest / 100.0),
            percent(wanted / 100.0)
        ),
        None => format!("after {runs} there is no confidence interval: too few of them count"),
    })
}

fn plural(count: u32, noun: &str) -> String {
    format!("{count} {noun}{}", if count == 1 { "" } else { "s" })
}

fn title(spread: &Spread, style: &Style) -> String {
    let name = match spread.quantity {
        Quantity::BitsPerSecond => unit(spread, style).label,
        Quantity::LostPercent => "loss %",
        Quantity::JitterMs => "jitter ms",
        Quantity::Retransmits => "retrans",
        Quantity::RttMeanMs => "rtt ms",
        Quantity::OneWayDelayMeanMs => "delay ms",
        Quantity::ConnectMeanMs => "connect ms",
    };
    match spread.direction {
        Some(FlowDirection::Forward) => format!("-> {name}"),
        Some(FlowDirection::Reverse) => format!("<- {name}"),
        Some(FlowDirection::RoundTrip) => format!("<> {name}"),
        None => name.to_owned(),
    }
}

fn unit(spread: &Spread, style: &Style) -> Unit {
    Unit::of_rate(spread.mean.unwrap_or(0.0), style.format)
}

fn cells(spread: &Spread, title: String, style: &Style) -> Vec<String> {
    let number = |value: f64| match spread.quantity {
        Quantity::BitsPerSecond => unit(spread, style).number(value),
        Quantity::Retransmits => format!("{value:.1}"),
        _ => format!("{value:.3}"),
    };
    let known = |value: Option<f64>| value.map_or_else(|| "-".to_owned(), number);
    let interval = spread.ci_lower.zip(spread.ci_upper);
    let interval = interval.map(|(lower, upper)| format!("{} to {}", number(lower), number(upper)));
    let width = spread.ci_width_percent.map(|width| percent(width / 100.0));
    let unknown = || "-".to_owned();
    vec![
        title,
        spread.runs.to_string(),
        known(spread.mean),
        interval.unwrap_or_else(unknown),
        width.unwrap_or_else(unknown),
        known(spread.min),
        known(spread.max),
    ]
}

fn left_out(one: &LeftOut, series: &Series) -> String {
    let number = one.run as usize - 1;
    let reason = match one.reason {
        WhyLeftOut::WarmUp => "it differs from all others by far, a warm-up",
        WhyLeftOut::Interrupted => "it was interrupted",
        WhyLeftOut::Failed => "it did not run to its end",
    };
    let main = series.quantities.iter().find(|spread| spread.is_main());
    let value = main.and_then(|spread| {
        let value = (*spread.values.get(number)?)?;
        Some(match spread.quantity {
            Quantity::BitsPerSecond => {
                format!(" ({})", super::unit::rate(value, Default::default()))
            }
            _ => format!(" ({value:.3} ms)"),
        })
    });
    format!(
        "run {} is not counted: {reason}{}",
        one.run,
        value.unwrap_or_default()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spread(quantity: Quantity, mean: f64, width: Option<f64>) -> Spread {
        Spread {
            quantity,
            direction: Some(FlowDirection::Forward),
            runs: 5,
            mean: Some(mean),
            deviation: width,
            min: Some(mean * 0.9),
            max: Some(mean * 1.1),
            ci_lower: width.map(|width| mean * (1.0 - width / 200.0)),
            ci_upper: width.map(|width| mean * (1.0 + width / 200.0)),
            ci_width_percent: width,
            values: vec![Some(mean / 2.0)],
        }
    }

    fn series() -> Series {
        Series {
            runs: 6,
            most_runs: 30,
            confidence_percent: 95.0,
            wanted_width_percent: Some(1.0),
            reached: Some(false),
            interrupted: false,
            left_out: vec![LeftOut {
                run: 1,
                reason: WhyLeftOut::WarmUp,
            }],
            quantities: vec![
                spread(Quantity::BitsPerSecond, 941.5e6, Some(2.5)),
                spread(Quantity::Retransmits, 12.4, None),
            ],
        }
    }

    #[test]
    fn means_stand_beside_how_sure_they_are() {
        let lines = lines(&series(), &Style::default());
        assert_eq!(
            lines,
            [
                "    6 runs  counted       mean      95 % confidence     width        min        max",
                " -> Mbit/s        5      941.5       929.7 to 953.3    2.50 %      847.4     1035.7",
                "-> retrans        5       12.4                    -         -       11.2       13.6",
                "run 1 is not counted: it differs from all others by far, a warm-up (470.8 Mbit/s)",
            ]
        );
    }

    #[test]
    fn an_interval_that_is_too_wide_is_said() {
        let mut series = series();
        assert_eq!(
            unreached(&series).as_deref(),
            Some(
                "after 6 runs the confidence interval is 2.50 % of the mean wide, 1.00 % was asked for"
            )
        );
        series.reached = Some(true);
        assert_eq!(unreached(&series), None);
    }
}
