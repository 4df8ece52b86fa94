//! What every renderer is: a function from events to text; and how text shows peers and their words.

use std::net::IpAddr;

use crate::model::Event;

/// Text that a renderer produced, by the stream it belongs to. The program writes it
/// and empties it; a renderer only appends whole lines.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Output {
    /// For standard output (or the file of `-o`).
    pub stdout: String,
    /// For standard error.
    pub stderr: String,
}

impl Output {
    /// Whether there is nothing to write.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.stdout.is_empty() && self.stderr.is_empty()
    }

    /// Forgets the text after it was written; keeps the memory.
    pub fn clear(&mut self) {
        self.stdout.clear();
        self.stderr.clear();
    }

    /// Appends a line to standard output.
    pub(crate) fn line(&mut self, text: &str) {
        push_line(&mut self.stdout, text);
    }

    /// Appends a line to standard error.
    pub(crate) fn error_line(&mut self, text: &str) {
        push_line(&mut self.stderr, text);
    }
}

fn push_line(buffer: &mut String, text: &str) {
    buffer.push_str(text);
    buffer.push('\n');
}

/// Tells a test in one format.
pub trait Renderer {
    /// Appends what `event` adds to the report.
    fn render(&mut self, event: &Event, out: &mut Output);

    /// Learns that so many interval rows never came, because the output was too slow.
    fn missed(&mut self, _rows: u64, _out: &mut Output) {}

    /// Appends what can only be said after the last event (a closing summary).
    fn finish(&mut self, _out: &mut Output) {}
}

/// An address; hidden, IPv4 keeps its last byte only.
pub(crate) fn address(address: IpAddr, hide: bool) -> String {
    match address {
        IpAddr::V4(v4) if hide => format!("*.*.*.{}", v4.octets()[3]),
        _ => address.to_string(),
    }
}

/// An IPv4 address of which only the last byte is shown.
pub(crate) fn hidden(address: IpAddr) -> String {
    self::address(address, true)
}

/// What is shown of a peer's word, bytes.
const WORD: usize = 256;

/// Text that came from a peer, without characters that could move a cursor, and cut where nobody
/// would read on.
pub(crate) fn tame(text: &str) -> String {
    text.char_indices()
        .take_while(|(at, letter)| at + letter.len_utf8() <= WORD)
        .map(|(_, letter)| if letter.is_control() { '?' } else { letter })
        .collect()
}

/// A cell of comma-separated values; quoted where it has to be (RFC 4180).
pub(crate) fn quoted(cell: &str) -> String {
    if cell.contains([',', '"', '\n', '\r']) {
        return format!("\"{}\"", cell.replace('"', "\"\""));
    }
    cell.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hidden_addresses_show_their_last_byte() {
        let hidden = |text: &str| address(text.parse().expect("an address"), true);
        assert_eq!(hidden("192.168.77.11"), "*.*.*.11");
        assert_eq!(hidden("2001:db8::1"), "2001:db8::1");
    }

    #[test]
    fn text_of_a_peer_cannot_move_the_cursor() {
        assert_eq!(tame("2.2.1\u{1b}[2J\n"), "2.2.1?[2J?");
    }

    #[test]
    fn a_peers_word_is_tamed_and_cut() {
        assert_eq!(tame("tape\u{1b}[2Jline\n"), "tape?[2Jline?");
        assert_eq!(tame(&"a".repeat(300)).len(), 256);
        // No letter is cut in two.
        assert_eq!(tame(&"\u{20ac}".repeat(100)).len(), 255);
    }
}
