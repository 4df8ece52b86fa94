//! A comparison as a page, which loads nothing: the text, every run as a point, and the courses in time.

use std::sync::LazyLock;

use serde::Serialize;
use serde_json::{Value, json};

use super::document::Comparison;
use super::text::text;
use crate::document::{CHARTS_JS, DOCUMENTS_JS, page_of, template};

/// What shows a comparison: the global `comparisons`, which needs `charts` and `documents`.
pub const COMPARISONS_JS: &str = include_str!("comparisons.js");

static PAGE: LazyLock<String> = LazyLock::new(|| {
    let own = include_str!("page.js");
    template("", &[CHARTS_JS, DOCUMENTS_JS, COMPARISONS_JS, own])
});

/// Runs of a side whose course is drawn: more cannot be told apart.
const MAX_COURSES: usize = 12;
/// What a course needs of an interval.
const OF_AN_INTERVAL: [&str; 5] = [
    "start_seconds",
    "end_seconds",
    "seconds",
    "bits_per_second",
    "omitted",
];

/// Rates of runs in time.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Courses {
    a: Vec<Value>,
    b: Vec<Value>,
}

impl Courses {
    /// Of the reports of both sides' runs, with all intervals.
    #[must_use]
    pub fn new(a: impl IntoIterator<Item = Value>, b: impl IntoIterator<Item = Value>) -> Self {
        Self {
            a: courses(a),
            b: courses(b),
        }
    }
}

fn courses(reports: impl IntoIterator<Item = Value>) -> Vec<Value> {
    let some = reports.into_iter().take(MAX_COURSES);
    some.map(|report| course(&report)).collect()
}

/// The part of a report that its course needs.
fn course(report: &Value) -> Value {
    let of = |one: &Value, names: &[&str]| -> Value {
        let known = names
            .iter()
            .filter_map(|name| Some((*name, one.get(*name)?)));
        known
            .map(|(name, value)| (name.to_owned(), value.clone()))
            .collect()
    };
    let intervals = report["intervals"].as_array().into_iter().flatten();
    json!({
        "test": of(&report["test"], &["interval_seconds", "requested_seconds"]),
        "intervals": intervals.map(|one| of(one, &OF_AN_INTERVAL)).collect::<Vec<_>>(),
    })
}

/// The page. `utc` gives times in universal time.
#[must_use]
pub fn page(comparison: &Comparison, courses: &Courses, utc: bool) -> String {
    let whole = json!({
        "comparison": comparison,
        "runs": courses,
        "text": text(comparison, utc),
        "version": env!("CARGO_PKG_VERSION"),
    });
    page_of(&PAGE, &whole)
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
    fn the_page_has_the_comparison_and_the_courses_and_loads_nothing() {
        let (a, b) = (side("</script>", &[9e8, 9.1e8]), side("b&b", &[9.5e8]));
        let comparison = compare(&a, &b, &CompareOptions::default());
        let report = json!({
            "test": { "interval_seconds": 1.0, "streams": 1 },
            "intervals": [{ "start_seconds": 0.0, "bits_per_second": 9e8, "rtt_ms": 1.0 }],
        });
        let courses = Courses::new(vec![report.clone(); 20], [report]);
        let page = page(&comparison, &courses, true);
        let (_, rest) = page.split_once("id=\"report\">").expect("the document");
        let (kept, _) = rest.split_once("</script>").expect("its end");
        let kept: Value = serde_json::from_str(kept).expect("JSON");
        assert_eq!(kept["comparison"]["a"]["name"], "</script>");
        assert!(
            kept["text"]
                .as_str()
                .is_some_and(|text| text.contains("b&b"))
        );
        assert_eq!(
            kept["runs"]["a"].as_array().map(Vec::len),
            Some(MAX_COURSES)
        );
        let drawn = json!({
            "test": { "interval_seconds": 1.0 },
            "intervals": [{ "start_seconds": 0.0, "bits_per_second": 9e8 }],
        });
        assert_eq!(kept["runs"]["b"], json!([drawn]));
        let rest = page.replace("http://www.w3.org/2000/svg", "");
        for way in ["http:", "https:", "src=", "@import", "url(", "fetch("] {
            assert!(!rest.contains(way), "{way}");
        }
    }
}
