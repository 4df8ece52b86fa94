//! Text for readers whose locale is not UTF-8.

use tapeline_report::{Event, Output, Renderer};

/// A renderer whose text is ASCII.
pub(crate) struct Ascii(pub(crate) Box<dyn Renderer + Send>);

impl Renderer for Ascii {
    fn render(&mut self, event: &Event, out: &mut Output) {
        self.0.render(event, out);
        spell_out(out);
    }

    fn missed(&mut self, rows: u64, out: &mut Output) {
        self.0.missed(rows, out);
        spell_out(out);
    }

    fn finish(&mut self, out: &mut Output) {
        self.0.finish(out);
        spell_out(out);
    }
}

fn spell_out(out: &mut Output) {
    for text in [&mut out.stdout, &mut out.stderr] {
        if !text.is_ascii() {
            *text = ascii(text);
        }
    }
}

/// Every other character in its usual spelling.
pub(crate) fn ascii(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '±' => plain.push_str("+/-"),
            'µ' | 'μ' => plain.push('u'),
            '→' => plain.push_str("->"),
            '←' => plain.push_str("<-"),
            '↔' => plain.push_str("<>"),
            '–' => plain.push('-'),
            '…' => plain.push_str("..."),
            '·' => plain.push('.'),
            '█' | '▇' | '▆' | '▅' | '▄' | '▃' | '▂' | '▁' => plain.push('#'),
            letter if letter.is_ascii() => plain.push(letter),
            _ => plain.push('?'),
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn characters_have_their_usual_spelling() {
        assert_eq!(ascii("5 ± 1 µs → here"), "5 +/- 1 us -> here");
        assert_eq!(ascii("naïve"), "na?ve");
    }
}
