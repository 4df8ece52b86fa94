//! A page for each test.

use super::assembler::{Assembler, Occasion, Step};
use super::report::Report;
use crate::model::Event;
use crate::render::{Output, Renderer};

/// The page; the document takes the place of [`PLACE`].
const PAGE: &str = include_str!("page.html");
const PLACE: &str = "@REPORT@";

/// `--html`: one page with charts, which needs nothing else. Of several tests it is the last one's.
#[derive(Debug)]
pub struct DocumentHtml {
    assembler: Assembler,
}

impl DocumentHtml {
    /// A renderer for one process.
    #[must_use]
    pub fn new(occasion: Occasion) -> Self {
        Self {
            assembler: Assembler::new(occasion),
        }
    }
}

impl Renderer for DocumentHtml {
    fn render(&mut self, event: &Event, out: &mut Output) {
        print(self.assembler.note(event), out);
    }

    fn missed(&mut self, rows: u64, _out: &mut Output) {
        self.assembler.missed(rows);
    }

    fn finish(&mut self, out: &mut Output) {
        print(self.assembler.finish(), out);
    }
}

fn print(steps: Vec<Step>, out: &mut Output) {
    for step in steps {
        if let Step::End { report, .. } = step {
            out.stdout = page(&report);
        }
    }
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
