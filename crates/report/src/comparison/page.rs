//! A comparison as a page, which loads nothing: the text, and every run as a point.

use std::fmt::Write as _;

use super::document::{Comparison, QuantityComparison, SideValues};
use super::text::text;
use super::words::Shown;
use crate::quantity::QuantityInfo;

/// Width and height of a picture, pixels.
const SIZE: (f64, f64) = (640.0, 90.0);
/// Room for the names of the sides, pixels.
const LEFT: f64 = 40.0;
/// Where the points of a side are, pixels from above.
const ROWS: [f64; 2] = [25.0, 50.0];

const HEAD: &str = "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n\
<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>Comparison</title>\n\
<style>\n:root { color-scheme: light dark; --a: #2166ac; --b: #b2182b; }\n\
@media (prefers-color-scheme: dark) { :root { --a: #7fb8e6; --b: #f4a582; } }\n\
body { font-family: system-ui, sans-serif; margin: 1.5em auto; max-width: 60em; padding: 0 1em; }\n\
pre { overflow-x: auto; }\nsvg { max-width: 100%; height: auto; }\n\
svg text { font-size: 12px; fill: currentColor; }\n.a { color: var(--a); } .b { color: var(--b); }\n\
</style>\n</head>\n<body>\n";

/// The page. `utc` gives times in universal time.
#[must_use]
pub fn page(comparison: &Comparison, utc: bool) -> String {
    let mut out = HEAD.to_owned();
    let (a, b) = (escaped(&comparison.a.name), escaped(&comparison.b.name));
    let _ = writeln!(out, "<h1>{b} compared with {a}</h1>");
    let _ = writeln!(out, "<pre>{}</pre>", escaped(&text(comparison, utc)));
    for one in &comparison.quantities {
        if let Some(picture) = picture(one) {
            let direction = one.direction.unwrap_or_default().replace('_', " ");
            let _ = writeln!(out, "<h2>{} {direction}</h2>", one.quantity);
            let _ = writeln!(out, "<p>{}</p>\n{picture}", escaped(&one.verdict));
        }
    }
    out.push_str("</body>\n</html>\n");
    out
}

/// Every run of both sides on one axis, a stroke at each median.
fn picture(one: &QuantityComparison) -> Option<String> {
    let info = QuantityInfo::find(one.quantity)?;
    let all = || one.a.values.iter().chain(&one.b.values).copied();
    let (low, high) = (all().reduce(f64::min)?, all().reduce(f64::max)?);
    let shown = Shown::new(info.dimension, high);
    // Values that are all the same stand in the middle.
    let span = if high > low { high - low } else { 1.0 };
    let (width, height) = SIZE;
    let room = width - 2.0 * LEFT;
    let at = |value: f64| {
        let share = if high > low {
            (value - low) / span
        } else {
            0.5
        };
        LEFT + room * share
    };
    let mut out = format!(
        "<svg viewBox=\"0 0 {width} {height}\" width=\"{width}\" height=\"{height}\" role=\"img\" \
         aria-label=\"{} of each run\">\n",
        one.quantity
    );
    for ((class, side), row) in [("a", &one.a), ("b", &one.b)].into_iter().zip(ROWS) {
        points(&mut out, class, side, row, &at);
    }
    let axis = ROWS[1] + 15.0;
    let end = width - LEFT;
    let _ = writeln!(
        out,
        "<line x1=\"{LEFT}\" x2=\"{end}\" y1=\"{axis}\" y2=\"{axis}\" stroke=\"currentColor\"/>"
    );
    let ticks = if high > low {
        vec![low, high]
    } else {
        vec![low]
    };
    for value in ticks {
        let (x, y) = (at(value), axis + 15.0);
        let number = format!("{} {}", shown.number(value), escaped(shown.label));
        let _ = writeln!(
            out,
            "<text x=\"{x:.1}\" y=\"{y}\" text-anchor=\"middle\">{number}</text>"
        );
    }
    out.push_str("</svg>");
    Some(out)
}

fn points(out: &mut String, class: &str, side: &SideValues, row: f64, at: &dyn Fn(f64) -> f64) {
    let letter = class.to_uppercase();
    let base = row + 4.0;
    let _ = writeln!(
        out,
        "<g class=\"{class}\"><text x=\"8\" y=\"{base}\">{letter}</text>"
    );
    for value in &side.values {
        let x = at(*value);
        let _ = writeln!(
            out,
            "<circle cx=\"{x:.1}\" cy=\"{row}\" r=\"4\" fill=\"currentColor\" fill-opacity=\"0.5\"/>"
        );
    }
    if let Some(median) = side.median {
        let (x, top, bottom) = (at(median), row - 9.0, row + 9.0);
        let _ = writeln!(
            out,
            "<line x1=\"{x:.1}\" x2=\"{x:.1}\" y1=\"{top}\" y2=\"{bottom}\" stroke=\"currentColor\" stroke-width=\"2\"/>"
        );
    }
    out.push_str("</g>\n");
}

/// A text in HTML.
fn escaped(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::comparison::{CompareOptions, Side, compare};
    use crate::quantity::Measurement;
    use crate::run_facts::RunFacts;

    fn side(name: &str, rates: &[f64]) -> Side {
        let run = |rate: &f64| RunFacts {
            complete: true,
            measurements: vec![Measurement {
                quantity: "rate",
                direction: "forward",
                value: *rate,
                counted_by: None,
            }],
            ..RunFacts::default()
        };
        Side {
            name: name.to_owned(),
            runs: rates.iter().map(run).collect(),
        }
    }

    #[test]
    fn every_run_is_a_point_on_a_page_that_loads_nothing() {
        let (a, b) = (
            side("<a>", &[9e8, 9.1e8]),
            side("b&b", &[9.5e8, 9.6e8, 9.7e8]),
        );
        let comparison = compare(&a, &b, &CompareOptions::default());
        let page = page(&comparison, true);
        assert_eq!(page.matches("<circle ").count(), 5);
        assert_eq!(page.matches("stroke-width=\"2\"").count(), 2);
        assert!(
            page.contains("<h1>b&amp;b compared with &lt;a&gt;</h1>"),
            "{page}"
        );
        assert!(
            page.contains(">900.0 Mbit/s</text>") && page.contains(">970.0 Mbit/s</text>"),
            "{page}"
        );
        assert!(page.ends_with("</svg>\n</body>\n</html>\n"), "{page}");
        for way in ["http:", "https:", "src=", "@import", "url(", "<script"] {
            assert!(!page.contains(way), "{way}");
        }
    }

    #[test]
    fn equal_values_stand_in_the_middle() {
        let same = side("a", &[9e8, 9e8]);
        let comparison = compare(&same, &same, &CompareOptions::default());
        let page = page(&comparison, true);
        assert_eq!(page.matches("cx=\"320.0\"").count(), 4, "{page}");
    }
}
