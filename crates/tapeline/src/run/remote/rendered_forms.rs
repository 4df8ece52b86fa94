//! `--rendered`: forms of a report as events of `--json-stream`, for whoever ordered the test.

use serde_json::json;
use tapeline_base::Clock;
use tapeline_report::document::event_line;
use tapeline_report::{Event, Output, Renderer};
use tapeline_sys::SystemClock;

use crate::presentation::{Rendering, TextStyle};

/// Most of a form that one event holds, bytes: a line of the stream is bounded.
const MAX_PIECE: usize = 1 << 20;

/// A stream of events, and other forms in events of it.
pub(crate) struct RenderedForms {
    stream: Box<dyn Renderer + Send>,
    forms: Vec<(TextStyle, Box<dyn Renderer + Send>)>,
}

impl RenderedForms {
    pub(crate) fn new(
        stream: Box<dyn Renderer + Send>,
        forms: Vec<(TextStyle, Box<dyn Renderer + Send>)>,
    ) -> Self {
        Self { stream, forms }
    }

    /// The forms first: with the test's end the stream is over.
    fn each(&mut self, out: &mut Output, mut act: impl FnMut(&mut dyn Renderer, &mut Output)) {
        for (form, renderer) in &mut self.forms {
            let mut more = Output::default();
            act(renderer.as_mut(), &mut more);
            let Some(form) = Rendering::name(*form) else {
                continue;
            };
            let mut say = |text: &str, err: &str| {
                if !text.is_empty() || !err.is_empty() {
                    let rendered = json!({ "form": form, "out": text, "err": err });
                    out.stdout
                        .push_str(&event_line("rendered", SystemClock.wall(), &rendered));
                }
            };
            say("", &more.stderr);
            let mut rest = more.stdout.as_str();
            while !rest.is_empty() {
                let piece = piece_of(rest);
                say(piece, "");
                rest = &rest[piece.len()..];
            }
        }
        act(self.stream.as_mut(), out);
    }
}

impl Renderer for RenderedForms {
    fn render(&mut self, event: &Event, out: &mut Output) {
        self.each(out, |renderer, out| renderer.render(event, out));
    }

    fn missed(&mut self, rows: u64, out: &mut Output) {
        self.each(out, |renderer, out| renderer.missed(rows, out));
    }

    fn finish(&mut self, out: &mut Output) {
        self.each(out, |renderer, out| renderer.finish(out));
    }
}

/// The beginning of a text, in whole characters.
fn piece_of(text: &str) -> &str {
    let mut ends = (0..=MAX_PIECE.min(text.len())).rev();
    let end = ends.find(|end| text.is_char_boundary(*end));
    &text[..end.unwrap_or(0)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_are_whole_characters() {
        assert_eq!(piece_of("abc"), "abc");
        let text = "é".repeat(MAX_PIECE);
        assert_eq!(piece_of(&text).len(), MAX_PIECE);
        let text = format!("a{text}");
        assert_eq!(piece_of(&text).len(), MAX_PIECE - 1);
    }
}
