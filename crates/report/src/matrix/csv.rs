//! Tests between many hosts as comma-separated values.

use super::cell::{Cell, Measured};
use super::document::MeshDocument;
use super::finding::MatrixQuantity;
use crate::method::cell as known;
use crate::render::quoted;

const HEAD: &str = "from,to,attempts,outcome,bits_per_second,rtt_seconds,retransmits,lost_ratio,limited_by,\
confidence,rate_stands_out,rtt_stands_out,reason\n";

/// A header line, and a row for each test, after RFC 4180; what is not known is empty.
#[must_use]
pub fn render(document: &MeshDocument) -> String {
    let rows = document.run.cells.iter().map(|cell| row(document, cell));
    std::iter::once(HEAD.to_owned()).chain(rows).collect()
}

fn row(document: &MeshDocument, cell: &Cell) -> String {
    let unknown = Measured::default();
    let measured = cell.measured().unwrap_or(&unknown);
    let text = |text: Option<&str>| quoted(text.unwrap_or_default());
    let stands_out = |quantity: MatrixQuantity| {
        let known = cell.measured().and_then(|measured| quantity.of(measured));
        known.map_or_else(String::new, |_| {
            document.stands_out(cell, quantity).to_string()
        })
    };
    let columns = [
        quoted(&cell.from),
        quoted(&cell.to),
        cell.attempts.to_string(),
        cell.outcome.word().to_owned(),
        known(measured.rate),
        known(measured.rtt),
        known(measured.retransmits),
        known(measured.lost_ratio),
        text(measured.limited_by.as_deref()),
        text(measured.confidence.as_deref()),
        stands_out(MatrixQuantity::Rate),
        stands_out(MatrixQuantity::RoundTrip),
        text(cell.outcome.reason()),
    ];
    columns.join(",") + "\n"
}
