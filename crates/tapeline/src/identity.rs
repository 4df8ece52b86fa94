//! What this program is called and how it was called: versions, and a command line as text.

use std::borrow::Cow;
use std::path::PathBuf;

use tapeline_dialect::Personality;

/// tapeline's version.
pub(crate) const OWN: &str = env!("CARGO_PKG_VERSION");
/// The iperf 2 that tapeline stands in for.
const REFERENCE: &str = "2.2.1";

/// The iperf3 whose place this program takes; peers and readers of JSON see it.
pub(crate) const IPERF3: &str = "3.22";

/// What `-v` prints: scripts look for `iperf version` at the start.
pub(crate) fn version(personality: Personality) -> String {
    match personality {
        Personality::Iperf2 => format!("iperf version {REFERENCE} (tapeline {OWN})"),
        Personality::Native => format!("tapeline {OWN}"),
    }
}

/// What `iperf3 -v` prints: scripts look for `iperf 3.` at the start.
pub(crate) fn iperf3_version() -> String {
    let logins = if cfg!(feature = "auth") {
        "authentication, "
    } else {
        ""
    };
    format!(
        "iperf {} (tapeline {OWN})\n{}\nOptional features available: CPU affinity setting, IPv6 \
         flow label, TCP congestion algorithm setting, sendfile / zerocopy, socket pacing, \
         {logins}bind to device, support IPv4 don't fragment, POSIX threads, GSO/GRO support",
        IPERF3,
        tapeline_sys::system_information(),
    )
}

/// The file of this program.
///
/// # Errors
/// It is not found: a sentence.
pub(crate) fn executable() -> Result<PathBuf, String> {
    let found = std::env::current_exe();
    found.map_err(|error| {
        format!(
            "this program is not found: {}",
            tapeline_sys::reason(&error)
        )
    })
}

/// Options whose values are secrets or identities: with the value behind `=`, or as the next word. A
/// command line may shorten them.
const PRIVATE: [&str; 3] = ["--permit-key", "--username", "--user"];
/// What stands in the place of such a value.
const REPLACED: &str = "***";
/// Shortest spelling that is taken for one of these options.
const SHORTEST: usize = "--p".len();

/// A command line that a shell reads back as it was, but for keys and user names, and without what only
/// says where results are shown.
pub(crate) fn command(words: impl Iterator<Item = String>) -> String {
    let mut value_follows = false;
    let words = words.filter(|word| !word.starts_with("--rendered="));
    let shown = words.map(|word| {
        if std::mem::take(&mut value_follows) && !word.starts_with('-') {
            return REPLACED.to_owned();
        }
        match word.split_once('=') {
            Some((name, _)) if is_private(name) => format!("{name}={REPLACED}"),
            Some(_) => quoted(&word).into_owned(),
            None => {
                // A key without `=` is none, but somebody may have meant it.
                value_follows = is_private(&word);
                quoted(&word).into_owned()
            }
        }
    });
    shown.collect::<Vec<_>>().join(" ")
}

fn is_private(name: &str) -> bool {
    name.len() >= SHORTEST && PRIVATE.iter().any(|known| known.starts_with(name))
}

/// The word as a shell reads it back.
pub(crate) fn quoted(word: &str) -> Cow<'_, str> {
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
    fn the_old_name_gives_the_old_version_first() {
        assert!(version(Personality::Iperf2).starts_with("iperf version 2.2.1 (tapeline "));
        assert!(iperf3_version().starts_with("iperf 3.22 (tapeline "));
        assert_eq!(iperf3_version().lines().count(), 3);
        assert_eq!(version(Personality::Native), format!("tapeline {OWN}"));
    }

    #[test]
    fn a_shell_reads_the_command_back() {
        let words = ["tapeline", "-l", "<256|1>", "", "it's", "[::1]:5001"];
        let line = command(words.iter().map(ToString::to_string));
        assert_eq!(line, r"tapeline -l '<256|1>' '' 'it'\''s' '[::1]:5001'");
    }

    #[test]
    fn keys_and_user_names_are_not_shown() {
        let shown = |line: &str| command(line.split(' ').map(str::to_owned));
        for (line, expected) in [
            ("-c h --permit-key=abcd -t 1", "-c h --permit-key=*** -t 1"),
            ("-c h --permit-k=ab=cd", "-c h --permit-k=***"),
            ("-c h --permit-key abcd", "-c h --permit-key ***"),
            ("-s --permit-key -p 1", "-s --permit-key -p 1"),
            ("-c h --username mario -R", "-c h --username *** -R"),
            ("-c h --usern=mario", "-c h --usern=***"),
            ("-s --user nobody", "-s --user ***"),
        ] {
            assert_eq!(shown(line), expected);
        }
        for line in [
            "-c h --permit-key-file k.txt",
            "-c --udp -p 5001 --parallel 4",
        ] {
            assert_eq!(shown(line), line);
        }
    }
}
