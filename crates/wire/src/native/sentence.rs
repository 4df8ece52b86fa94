//! Texts of a peer, made fit to be shown.

/// Longest sentence taken from a peer, bytes.
pub(crate) const MAX_SENTENCE: usize = 1024;

/// A sentence fit to be shown: control characters would move a terminal's cursor.
pub(crate) fn readable(body: &[u8]) -> Option<String> {
    std::str::from_utf8(body).ok().map(tame)
}

/// A peer's text without control characters, and not longer than a sentence.
pub(crate) fn tame(words: &str) -> String {
    beginning(words)
        .chars()
        .map(|c| if c.is_control() { ' ' } else { c })
        .collect()
}

/// As much of a sentence as a peer takes.
pub(crate) fn beginning(words: &str) -> &str {
    let fits = |end: &usize| words.is_char_boundary(*end);
    let end = (0..=words.len().min(MAX_SENTENCE)).rev().find(fits);
    &words[..end.unwrap_or(0)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_move_no_cursor_and_end_between_letters() {
        assert_eq!(tame("a\x1b[2Jb\nc"), "a [2Jb c");
        let long = "ä".repeat(MAX_SENTENCE);
        assert_eq!(beginning(&long).len(), MAX_SENTENCE);
        let odd = format!("a{long}");
        assert_eq!(beginning(&odd).len(), MAX_SENTENCE - 1);
        assert_eq!(readable(b"ok").as_deref(), Some("ok"));
        assert_eq!(readable(&[0xff]), None);
    }
}
