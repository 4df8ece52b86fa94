//! The document as a page.

use serde::Serialize;

use super::report::Report;
use super::series::SeriesReport;
use crate::render::Output;

/// The page; the document takes the place of [`PLACE`].
const PAGE: &str = include_str!("page.html");
const PLACE: &str = "@REPORT@";

/// Writes the document as a page, in the place of an earlier one.
pub(super) fn write(report: &Report, out: &mut Output) {
    out.stdout = page(report);
}

/// Writes the document of several runs as a page.
pub(super) fn write_series(series: &SeriesReport, out: &mut Output) {
    out.stdout = page(series);
}

/// A document as a page. No text of it can end the element that it stands in.
pub(super) fn page(document: &impl Serialize) -> String {
    let json = serde_json::to_string(document).unwrap_or_default();
    PAGE.replacen(PLACE, &json.replace('<', "\\u003c"), 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_loads_nothing() {
        assert_eq!(PAGE.matches(PLACE).count(), 1);
        let names = "http://www.w3.org/2000/svg";
        let rest = PAGE.replace(names, "");
        for way in ["http:", "https:", "src=", "@import", "url(", "fetch("] {
            assert!(!rest.contains(way), "{way}");
        }
    }
}
