//! The document as a page.

use super::report::Report;
use crate::render::Output;

/// The page; the document takes the place of [`PLACE`].
const PAGE: &str = include_str!("page.html");
const PLACE: &str = "@REPORT@";

/// Writes the document as a page, in the place of an earlier one.
pub(super) fn write(report: &Report, out: &mut Output) {
    out.stdout = page(report);
}

/// The document as a page. No text of it can end the element that it stands in.
fn page(report: &Report) -> String {
    let json = serde_json::to_string(report).unwrap_or_default();
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
