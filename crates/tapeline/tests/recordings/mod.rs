//! Command lines that iperf 2.2.1 complains about, as recorded.
//!
//! `golden/bad/NAME.cmd` is the line, `.stdout` and `.stderr` what the reference wrote
//! there (absent when nothing), `.exit` its exit status.

use std::path::{Path, PathBuf};

/// Lines whose messages come while the test runs: what the command line itself says of
/// them, and why the rest comes later.
#[rustfmt::skip]
pub(crate) const SAID_BY_THE_RUN: &[(&str, &str, &str)] = &[
    ("B_bad_addr", "", "bind() fails"),
    ("B_bad_addr_server", "", "bind() fails"),
    ("B_unresolvable", "", "the resolver fails"),
    ("M_bad", "", "setsockopt() fails"),
    ("M_big", "", "setsockopt() fails"),
    ("S_ecn", "", "the kernel keeps the ECN bits of TCP for itself"),
    ("S_le", "", "the same, and the value is 0x04 where the reference uses 0x01"),
    ("Z_bad", "", "setsockopt() fails"),
    ("Z_bad_server", "", "setsockopt() fails"),
    ("c_dev_bad", "", "setsockopt() fails"),
    ("client_unresolvable", "", "the resolver fails"),
    ("client_v6_literal_without_V", "", "connect() is refused"),
    ("connect_refused", "", "connect() is refused"),
    ("connect_refused_P2", "", "connect() is refused"),
    ("connect_refused_e", "", "connect() is refused"),
    ("connect_retry", "", "connect() is refused"),
    ("connect_retry_only_time", "WARN: companion option of --connect-retry-timer not set - setting to default value of one second\n", "connect() is refused"),
    ("o_bad", "", "the file is opened when the run starts"),
    ("opt_6", "", "connect() is refused"),
    ("p_bad", "", "connect() to port 0 is refused"),
    ("p_big", "", "connect() is refused"),
    ("p_in_use_server", "", "bind() fails"),
    ("p_range_P_less", "WARNING: port-range and -P mismatch (adjusting -P to 2)\n", "connect() is refused"),
    ("p_range_P_more", "", "connect() is refused"),
    ("p_zero", "", "connect() to port 0 is refused"),
    ("permit_key_client_only", "", "the server does not know the key"),
    ("udp_l_one", "", "the server does not answer"),
];

/// Where the recordings are.
pub(crate) fn golden() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/bad")
}

/// The file of a recording; empty when there is none.
pub(crate) fn read(name: &str, extension: &str) -> String {
    std::fs::read_to_string(golden().join(format!("{name}.{extension}"))).unwrap_or_default()
}

/// Words of a recorded line: split at blanks, `''` and `""` quote.
pub(crate) fn words(line: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quote = None;
    for letter in line.trim_end().chars() {
        match (letter, quote) {
            (' ', None) => words.extend(word.take()),
            (_, Some(open)) if letter == open => quote = None,
            ('\'' | '"', None) => {
                quote = Some(letter);
                word.get_or_insert_default();
            }
            _ => word.get_or_insert_default().push(letter),
        }
    }
    words.extend(word);
    words
}
