//! iperf3 3.22's forms: documents, streams of JSON, and text.
//!
//! Events say what belongs to which test; the book keeps each test until its end, because a
//! server may run several at once.

mod book;
mod document;
mod figure;
mod json;
mod renderer;
mod row;
mod style;
mod test;
mod text;
mod words;

#[cfg(test)]
mod tests;

pub use renderer::{Iperf3Json, Iperf3Stream};
pub use style::Iperf3Style;
pub use text::Iperf3Text;
