//! A document as a page with charts, which loads nothing.

use std::sync::LazyLock;

use serde::Serialize;
use tapeline_stats::LimitedBy;

use crate::native::limit_words;

/// What every page has; the document takes the place of [`REPORT`].
static PAGE: LazyLock<String> = LazyLock::new(|| {
    let several = include_str!("several.js");
    template("", &[CHARTS_JS, DOCUMENTS_JS, several, PAGE_JS])
});

/// A page with styles of its own and these scripts; [`page_of`] puts a document in.
pub(crate) fn template(css: &str, scripts: &[&str]) -> String {
    let limits = LimitedBy::ALL.map(|limit| (limit.id().to_owned(), limit_words(limit).into()));
    let limits = serde_json::Value::Object(limits.into_iter().collect());
    let parts = [
        ("@CHARTS_CSS@", CHARTS_CSS),
        ("@OWN_CSS@", css),
        ("@LIMITS@", &embedded(&limits)),
        ("@SCRIPTS@", &scripts.concat()),
    ];
    let page = include_str!("page.html").to_owned();
    parts
        .iter()
        .fold(page, |page, (place, part)| page.replacen(place, part, 1))
}
const REPORT: &str = "@REPORT@";
/// Colours and forms of charts; light, dark and on paper.
pub const CHARTS_CSS: &str = include_str!("charts.css");
/// Draws charts of measurements; needs nothing else.
pub const CHARTS_JS: &str = include_str!("charts.js");
/// What shows a document: the global `documents`, which needs `charts` and the element `limits`.
pub const DOCUMENTS_JS: &str = include_str!("documents.js");

/// The frame of a page: headlines, command and buttons.
pub(crate) const PAGE_JS: &str = include_str!("page.js");

/// A document as a page.
pub(crate) fn page(document: &impl Serialize) -> String {
    page_of(&PAGE, document)
}

/// A document in a [`template`].
pub(crate) fn page_of(template: &str, document: &impl Serialize) -> String {
    template.replacen(REPORT, &embedded(document), 1)
}

/// A document as JSON, of which no text can end the element that it stands in.
fn embedded(document: &impl Serialize) -> String {
    let json = serde_json::to_string(document).unwrap_or_default();
    json.replace('<', "\\u003c")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_is_whole_and_loads_nothing() {
        assert_eq!(PAGE.matches(REPORT).count(), 1);
        let rest = PAGE
            .replace(REPORT, "")
            .replace("http://www.w3.org/2000/svg", "");
        for way in [
            "http:", "https:", "src=", "@import", "url(", "fetch(", "import(",
        ] {
            assert!(!rest.contains(way), "{way}");
        }
        for place in ["@CHARTS_CSS@", "@OWN_CSS@", "@LIMITS@", "@SCRIPTS@"] {
            assert!(!rest.contains(place), "{place}");
        }
        for policy in ["default-src 'none'", "script-src 'unsafe-inline'"] {
            assert!(rest.contains(policy), "{policy}");
        }
    }

    #[test]
    fn no_text_of_a_document_leaves_its_element() {
        let hostile = "</script><script>alert(1)</script><!-- @REPORT@ @SCRIPTS@ $& ";
        let page = page(&hostile);
        let (_, rest) = page.split_once("id=\"report\">").expect("the document");
        let (kept, _) = rest.split_once("</script>").expect("its end");
        assert_eq!(
            serde_json::from_str::<String>(kept).expect("the document"),
            hostile
        );
        assert!(!page.contains("alert(1)</script>"));
    }

    #[test]
    fn limits_are_named_as_in_the_text() {
        let (_, rest) = PAGE.split_once("id=\"limits\">").expect("the limits");
        assert!(rest.contains(r#""requested_rate":"your -b""#));
        assert!(rest.contains(r#""sender_cpu":"sender's CPU""#));
        let (limits, _) = rest.split_once('<').expect("their end");
        let web = concat!(env!("CARGO_MANIFEST_DIR"), "/../web/assets/index.html");
        assert!(
            std::fs::read_to_string(web)
                .expect("a page")
                .contains(limits)
        );
    }
}
