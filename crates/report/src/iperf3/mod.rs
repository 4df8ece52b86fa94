//! iperf3 3.22's forms: documents, streams of JSON, and text.
//!
//! Events say what belongs to which test; the book keeps each test until its end, because a
//! server may run several at once.

mod book;
mod document;
mod figure;
mod json;
mod kept;
mod renderer;
mod row;
mod style;
mod test;
mod text;
mod words;

#[cfg(test)]
mod tests;

pub use renderer::Iperf3Json;
pub use style::{Iperf3Output, Iperf3Style};
pub use text::Iperf3Text;

use crate::model::{Event, PeerOutput};
use crate::render::{Output, Renderer};

/// The events of a test as its client is to see them (`--get-server-output`).
#[must_use]
pub fn iperf3_output(events: &[Event], form: &Iperf3Output) -> PeerOutput {
    let told = |mut renderer: Box<dyn Renderer>| {
        let mut out = Output::default();
        for event in events {
            renderer.render(event, &mut out);
        }
        out.stdout
    };
    let style = form.style.clone();
    if form.json {
        PeerOutput::Json(told(Box::new(Iperf3Json::documents(style))))
    } else {
        PeerOutput::Text(told(Box::new(Iperf3Text::new(style))))
    }
}
