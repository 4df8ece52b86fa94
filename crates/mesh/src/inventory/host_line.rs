//! A host and its variables, as a line of an INI inventory has them.

/// The words of a line: quotation marks and backslashes as in a shell, a comment begins with `#`.
///
/// # Errors
/// What is wrong with it, as a sentence.
pub(crate) fn words(line: &str) -> Result<Vec<String>, String> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut letters = line.chars();
    while let Some(letter) = letters.next() {
        match letter {
            '#' if word.is_none() => break,
            ' ' | '\t' => words.extend(word.take()),
            '\'' | '"' => {
                let into = word.get_or_insert_default();
                loop {
                    match letters.next() {
                        None => return Err("a quotation mark is not closed".to_owned()),
                        Some(end) if end == letter => break,
                        Some('\\') if letter == '"' => into.extend(letters.next()),
                        Some(other) => into.push(other),
                    }
                }
            }
            '\\' => word.get_or_insert_default().extend(letters.next()),
            other => word.get_or_insert_default().push(other),
        }
    }
    words.extend(word);
    Ok(words)
}

/// A pattern of names without the port that may stand behind it: `web1:2222`, `[2001:db8::1]:22`.
pub(crate) fn name_and_port(word: &str) -> (&str, Option<u16>) {
    if let Some(rest) = word.strip_prefix('[')
        && let Some((address, behind)) = rest.split_once(']')
        && address.parse::<std::net::Ipv6Addr>().is_ok()
    {
        return (
            address,
            behind.strip_prefix(':').and_then(|port| port.parse().ok()),
        );
    }
    let port = word.rsplit_once(':').filter(|(name, _)| {
        // The colons of a range and of an address of IPv6 are no beginning of a port.
        name.matches('[').count() == name.matches(']').count() && !outside(name).contains(':')
    });
    match port.and_then(|(name, port)| Some((name, port.parse().ok()?))) {
        Some((name, port)) => (name, Some(port)),
        None => (word, None),
    }
}

/// A pattern without its ranges.
fn outside(pattern: &str) -> String {
    let mut depth = 0;
    let mut kept = String::new();
    for letter in pattern.chars() {
        match letter {
            '[' => depth += 1,
            ']' => depth -= 1,
            other if depth == 0 => kept.push(other),
            _ => {}
        }
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_cut_as_by_a_shell() {
        for (line, expected) in [
            ("web1 a=1  b='x y' # c", &["web1", "a=1", "b=x y"][..]),
            (r#"w "a\"b" c\ d e#f"#, &["w", "a\"b", "c d", "e#f"]),
            ("# all", &[]),
        ] {
            assert_eq!(words(line).expect(line), expected);
        }
        assert!(words("a b='c").is_err());
    }

    #[test]
    fn a_port_is_no_part_of_a_name() {
        for (word, name, port) in [
            ("web1", "web1", None),
            ("web1:2222", "web1", Some(2222)),
            ("web[1:3]", "web[1:3]", None),
            ("web[1:3]:22", "web[1:3]", Some(22)),
            ("2001:db8::1", "2001:db8::1", None),
            ("[2001:db8::1]:22", "2001:db8::1", Some(22)),
            ("web1:x", "web1:x", None),
        ] {
            assert_eq!(name_and_port(word), (name, port), "{word}");
        }
    }
}
