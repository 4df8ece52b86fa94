//! Tests between many hosts as a page, which loads nothing.

use std::sync::LazyLock;

use super::document::MeshDocument;
use crate::document::{CHARTS_JS, DOCUMENTS_JS, PAGE_JS, page_of, template};

static PAGE: LazyLock<String> = LazyLock::new(|| {
    let scripts = [CHARTS_JS, DOCUMENTS_JS, include_str!("page.js"), PAGE_JS];
    template(include_str!("page.css"), &scripts)
});

/// The page: heat maps, and the charts of each test.
#[must_use]
pub fn render(document: &MeshDocument) -> String {
    page_of(&PAGE, document)
}
