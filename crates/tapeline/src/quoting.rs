//! A command line as text.

use std::borrow::Cow;

/// A command line that a shell reads back as it was.
pub(crate) fn command(words: impl Iterator<Item = String>) -> String {
    let quoted = words.map(|word| quoted(&word).into_owned());
    quoted.collect::<Vec<_>>().join(" ")
}

fn quoted(word: &str) -> Cow<'_, str> {
    let plain = |letter: char| letter.is_ascii_alphanumeric() || "-_./:=,@%+".contains(letter);
    if !word.is_empty() && word.chars().all(plain) {
        Cow::Borrowed(word)
    } else {
        Cow::Owned(format!("'{}'", word.replace('\'', "'\\''")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shell_reads_the_command_back() {
        let words = ["tapeline", "-l", "<256|1>", "", "it's", "[::1]:5001"];
        let line = command(words.iter().map(ToString::to_string));
        assert_eq!(line, r"tapeline -l '<256|1>' '' 'it'\''s' '[::1]:5001'");
    }
}
