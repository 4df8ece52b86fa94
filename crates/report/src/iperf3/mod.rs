//! iperf3 3.22's forms: documents, streams of JSON, and text.
//!
//! Events say what belongs to which test; the tracker keeps each test until its end, because a
//! server may run several at once.

mod amounts;
mod document;
mod figure;
mod flow;
mod interval_buffer;
mod json;
mod record;
mod renderer;
mod row;
mod stored;
mod style;
mod text;
mod tracker;
mod words;

#[cfg(test)]
mod tests;

pub use renderer::{Iperf3Json, iperf3_output};
pub use stored::iperf3_document;
pub use style::{Iperf3Output, Iperf3Style};
pub use text::Iperf3Text;
