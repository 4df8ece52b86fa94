//! Tests between many hosts as a page, which loads nothing.

use std::sync::LazyLock;

use super::document::MeshDocument;
use crate::document::{CHARTS_JS, DOCUMENTS_JS, PAGE_JS, page_of, template};

/// Colours and forms of heat maps.
pub const MATRIX_CSS: &str = include_str!("matrix.css");
/// What shows tests between many hosts: the global `matrix`, which needs `documents`.
pub const MATRIX_JS: &str = include_str!("matrix.js");

static PAGE: LazyLock<String> =
    LazyLock::new(|| template(MATRIX_CSS, &[CHARTS_JS, DOCUMENTS_JS, MATRIX_JS, PAGE_JS]));

/// The page: heat maps, and the charts of each test.
#[must_use]
pub fn render(document: &MeshDocument) -> String {
    page_of(&PAGE, document)
}
