//! A comparison in words.

use jiff::Timestamp;

use super::document::{Comparison, Difference, QuantityComparison, SideSummary};
use super::words::{Shown, runs_words, signed};
use crate::calendar::zone;
use crate::quantity::{Better, QUANTITIES, QuantityInfo, Scale};

/// The text, with a line end behind each line. `utc` gives times in universal time.
#[must_use]
pub fn text(comparison: &Comparison, utc: bool) -> String {
    let mut out = String::new();
    let mut line = |text: &str| {
        out.push_str(text.trim_end());
        out.push('\n');
    };
    let width = comparison
        .a
        .name
        .chars()
        .count()
        .max(comparison.b.name.chars().count());
    line(&side("A", &comparison.a, None, width, utc));
    line(&side("B", &comparison.b, Some(&comparison.a), width, utc));
    if !comparison.differs.is_empty() {
        let differs: Vec<String> = comparison.differs.iter().map(difference).collect();
        line(&format!("differs: {}", differs.join("; ")));
    }
    for note in &comparison.notes {
        line(&format!("note: {note}"));
    }
    line("");
    let rows: Vec<[String; 7]> = comparison
        .quantities
        .iter()
        .map(|one| row(one, &comparison.quantities))
        .collect();
    let head = [
        "",
        "A",
        "B",
        "change",
        "95 % confidence",
        "chance",
        "verdict",
    ]
    .map(str::to_owned);
    let widths: Vec<usize> = (0..7)
        .map(|column| {
            let cells = rows.iter().chain([&head]);
            cells
                .map(|row| row[column].chars().count())
                .max()
                .unwrap_or(0)
        })
        .collect();
    for row in std::iter::once(&head).chain(&rows) {
        let mut text = format!("  {:width$}", row[0], width = widths[0]);
        for column in 1..6 {
            text.push_str(&format!(
                "  {:>width$}",
                row[column],
                width = widths[column]
            ));
        }
        text.push_str("  ");
        text.push_str(&row[6]);
        line(&text);
    }
    if rows.is_empty() {
        line("  no number is known of both sides");
    }
    out
}

fn side(
    letter: &str,
    side: &SideSummary,
    like: Option<&SideSummary>,
    width: usize,
    utc: bool,
) -> String {
    let mut parts = vec![runs_words(side.runs)];
    if side.left_out > 0 {
        parts.push(format!("{} left out", side.left_out));
    }
    parts.extend(span(side, utc));
    match like.filter(|like| like.test.first() == side.test.first() && !side.test.is_empty()) {
        Some(like) => {
            parts.push("the same".to_owned());
            parts.extend(
                side.test
                    .iter()
                    .filter(|word| !like.test.contains(word))
                    .cloned(),
            );
        }
        None => parts.extend(side.test.iter().cloned()),
    }
    format!("{letter}  {:width$}  {}", side.name, parts.join(", "))
}

/// When the runs of a side took place.
fn span(side: &SideSummary, utc: bool) -> Option<String> {
    let zone = zone(utc);
    let at = |text: &Option<String>| {
        let time: Timestamp = text.as_ref()?.parse().ok()?;
        Some(time.to_zoned(zone.clone()))
    };
    let (first, last) = (at(&side.first)?, at(&side.last)?);
    let begin = first.strftime("%Y-%m-%d %H:%M");
    Some(match (side.runs > 1, first.date() == last.date()) {
        (true, true) => format!("{begin} to {}", last.strftime("%H:%M")),
        (true, false) => format!("{begin} to {}", last.strftime("%Y-%m-%d %H:%M")),
        (false, _) => begin.to_string(),
    })
}

fn difference(difference: &Difference) -> String {
    let list = |values: &[String]| {
        let values = values
            .iter()
            .map(|one| if one.is_empty() { "none" } else { one });
        values.collect::<Vec<_>>().join(" and ")
    };
    let (a, b) = (list(&difference.a), list(&difference.b));
    format!("{} ({a}, {b})", difference.what)
}

fn row(one: &QuantityComparison, all: &[QuantityComparison]) -> [String; 7] {
    let Some(info) = QuantityInfo::find(one.quantity) else {
        return Default::default();
    };
    let median = |values: &super::SideValues| values.median;
    let about = median(&one.a).or(median(&one.b)).unwrap_or(0.0);
    let shown = Shown::new(info.dimension, about);
    let twice = all
        .iter()
        .filter(|other| other.quantity == one.quantity)
        .count()
        > 1;
    let direction = one.direction.filter(|_| twice).unwrap_or_default();
    let gap = if direction.is_empty() { "" } else { " " };
    let name = format!(
        "{}{gap}{} {}",
        one.quantity,
        direction.replace('_', " "),
        shown.label
    );
    let number = |value: Option<f64>| value.map_or_else(|| "–".to_owned(), |v| shown.number(v));
    let unit = if one.compared_as == "ratio" {
        "%"
    } else {
        shown.label
    };
    let change = |value: f64| match one.compared_as {
        "ratio" => percent(value),
        _ => shown.change(value),
    };
    let bounds = one.change_lower.zip(one.change_upper);
    let pairs = if one.pairs == 0 {
        "–".to_owned()
    } else {
        format!("{} of {}", one.better_pairs, one.pairs)
    };
    [
        name,
        number(median(&one.a)),
        number(median(&one.b)),
        one.change.map_or_else(
            || "–".to_owned(),
            |value| format!("{} {unit}", change(value)),
        ),
        bounds.map_or_else(
            || "–".to_owned(),
            |(low, high)| format!("{} to {} {unit}", change(low), change(high)),
        ),
        pairs,
        one.verdict.clone(),
    ]
}

/// A change in percent with one decimal.
fn percent(value: f64) -> String {
    if value.abs() >= 999.5 {
        return signed(value);
    }
    let text = format!("{value:+.1}");
    if text == "-0.0" {
        "+0.0".to_owned()
    } else {
        text
    }
}

/// What `tapeline compare --list` prints.
#[must_use]
pub fn quantity_list() -> String {
    let mut out = String::new();
    let width = QUANTITIES
        .iter()
        .map(|info| info.name.len())
        .max()
        .unwrap_or(0);
    for info in QUANTITIES {
        let better = match info.better {
            Better::Higher => "higher",
            Better::Lower => "lower",
        };
        let scale = match info.scale {
            Scale::Ratio => "ratio",
            Scale::Difference => "difference",
        };
        out.push_str(&format!(
            "{:width$}  {:5}  {better:6}  {scale:10}  {}\n",
            info.name,
            info.dimension.unit(),
            info.place
        ));
    }
    out
}
