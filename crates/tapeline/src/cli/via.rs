//! A command that reaches a host in ssh's place.

use std::ffi::OsString;

use tapeline_remote::Transport;

use super::flows;

/// Reads a command; `{host}` stands for the destination. Nothing if it is empty, or a quotation mark is not
/// closed.
pub(crate) fn via(command: &str, destination: Option<&str>) -> Option<Transport> {
    let words = flows::words(command).filter(|words| !words.is_empty())?;
    let words = words.into_iter().map(|word| match destination {
        Some(destination) => word.replace("{host}", destination),
        None => word,
    });
    Some(Transport::Command(words.map(OsString::from).collect()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_destination_stays_one_word() {
        let words = |command, destination| match via(command, destination)? {
            Transport::Command(words) => Some(words),
            _ => None,
        };
        let expected = ["ip", "netns", "exec", "a b"].map(OsString::from);
        assert_eq!(
            words("ip netns exec {host}", Some("a b")),
            Some(expected.to_vec())
        );
        let expected = ["x y", "{host}"].map(OsString::from);
        assert_eq!(words("'x y' {host}", None), Some(expected.to_vec()));
        assert_eq!(words(" ", Some("a")), None);
        assert_eq!(words("'", Some("a")), None);
    }
}
