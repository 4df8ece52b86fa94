//! Command lines that iperf 2.2.1 complains about, against recordings of what it says.
//!
//! `golden/bad/NAME.cmd` is the line, `.stderr` what the reference wrote there (absent
//! when nothing), `.exit` its exit status. Lines that use options of later versions are
//! not recorded here.

use std::collections::HashSet;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use tapeline::{HelpPage, Invocation, Plan, Resolution, Stream, understand};

/// Lines whose messages come while the test runs: what the command line itself says of
/// them, and why the rest comes later.
#[rustfmt::skip]
const SAID_BY_THE_RUN: &[(&str, &str, &str)] = &[
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
    ("udp_l_one", "", "the server does not answer"),
];

/// Lines on which the reference crashes, hangs or reports success without a result:
/// tapeline ends with status 1 and these words.
#[rustfmt::skip]
const IMPROVED: &[(&str, &str, &str)] = &[
    ("D_client", "Iperf client cannot be run as a daemon\n", "nothing was measured: no success"),
    ("b_bad_udp", "ERROR: -b value of 'abc' not recognized\n", "sends without limit"),
    ("b_neg_udp", "ERROR: -b value of '-1' not recognized\n", "sends without limit"),
    ("l_bad", "ERROR: -l value of 'abc' is not between 1 and 268435456 bytes\n", "sends a header"),
    ("l_huge", "ERROR: -l value of '2G' is not between 1 and 268435456 bytes\n", "crashes"),
    ("l_negative", "ERROR: -l value of '-5' is not between 1 and 268435456 bytes\n", "crashes"),
    ("l_zero", "ERROR: -l value of '0' is not between 1 and 268435456 bytes\n", "sends a header"),
    ("markov_l", concat!("ERROR: option -l: chains of lengths are not available in tapeline ", env!("CARGO_PKG_VERSION"), "\n"), "reads 0"),
    ("n_negative", "Invalid value for -n amount of '-5'\n", "never ends"),
    ("p_neg", "ERROR: -p value of '-5' not recognized\n", "crashes"),
    ("tcp_multicast_client", "Multicast requires -u option  failed\n", "nothing was measured: no success"),
    ("tcp_multicast_server", "Multicast requires -u option  failed\n", "nothing was measured: no success"),
    ("udp_l_65508", "ERROR: option -l: 65508 bytes do not fit a UDP datagram (at most 65507)\n", "43 lines of errors"),
    ("udp_l_70000", "ERROR: option -l: 70000 bytes do not fit a UDP datagram (at most 65507)\n", "43 lines of errors"),
    ("udp_l_zero", "ERROR: -l value of '0' is not between 1 and 268435456 bytes\n", "sends a header"),
];

fn golden() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/bad")
}

fn read(name: &str, extension: &str) -> String {
    std::fs::read_to_string(golden().join(format!("{name}.{extension}"))).unwrap_or_default()
}

fn names() -> Vec<String> {
    let mut names: Vec<String> = std::fs::read_dir(golden())
        .expect("the recordings")
        .map(|entry| entry.expect("a directory entry").path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "cmd"))
        .map(|path| {
            path.file_stem()
                .expect("a name")
                .to_string_lossy()
                .into_owned()
        })
        .collect();
    names.sort();
    names
}

/// Words of a recorded line: split at blanks, `''` and `""` quote.
fn words(line: &str) -> Vec<OsString> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quote = None;
    for letter in line.trim_end().chars() {
        match (letter, quote) {
            (' ', None) => words.extend(word.take().map(OsString::from)),
            (_, Some(open)) if letter == open => quote = None,
            ('\'' | '"', None) => {
                quote = Some(letter);
                word.get_or_insert_default();
            }
            _ => word.get_or_insert_default().push(letter),
        }
    }
    words.extend(word.map(OsString::from));
    words
}

fn resolve(name: &str) -> Resolution {
    let (_, resolution) = understand(&Invocation {
        program: "iperf".into(),
        arguments: words(&read(name, "cmd")),
        variable: &|_| None,
        resolver: |_| Vec::new(),
    });
    resolution
}

/// Everything on standard error, as the reference would write it.
fn stderr(resolution: &Resolution) -> String {
    resolution
        .messages
        .iter()
        .filter(|message| message.stream == Stream::Err)
        .map(|message| format!("{}\n", message.text))
        .collect()
}

#[test]
fn messages_and_exit_status_are_those_of_the_reference() {
    let elsewhere: HashSet<&str> = SAID_BY_THE_RUN
        .iter()
        .chain(IMPROVED)
        .map(|(name, ..)| *name)
        .collect();
    let mut compared = 0;
    for name in names()
        .iter()
        .filter(|name| !elsewhere.contains(name.as_str()))
    {
        let resolution = resolve(name);
        assert_eq!(stderr(&resolution), read(name, "stderr"), "{name}");
        let status = read(name, "exit");
        match resolution.outcome {
            Ok(_) => assert!(
                status.trim() == "0" || status.starts_with("SIGINT"),
                "{name} runs, the reference ended with {status}"
            ),
            Err(code) => assert_eq!(code.code().to_string(), status.trim(), "{name}"),
        }
        compared += 1;
    }
    assert!(compared > 100, "only {compared} recordings were compared");
}

#[test]
fn what_fails_in_the_run_reaches_the_run() {
    for (name, said, reason) in SAID_BY_THE_RUN {
        let resolution = resolve(name);
        assert!(resolution.outcome.is_ok(), "{name} ({reason})");
        assert_eq!(stderr(&resolution), *said, "{name}");
        assert!(read(name, "stderr").starts_with(said), "{name}");
    }
}

#[test]
fn crashes_hangs_and_empty_successes_become_errors() {
    for (name, said, reference) in IMPROVED {
        let resolution = resolve(name);
        assert_eq!(stderr(&resolution), *said, "{name} ({reference})");
        assert_eq!(
            resolution.outcome.map_err(|code| code.code()),
            Err(1),
            "{name}"
        );
        assert_ne!(read(name, "exit").trim(), "1", "{name} is no improvement");
    }
}

#[test]
fn help_and_version_are_pages_and_the_output_notice_goes_to_standard_output() {
    for name in ["help_short", "help_long"] {
        assert_eq!(
            resolve(name).outcome,
            Ok(Plan::Help(HelpPage::Iperf2)),
            "{name}"
        );
    }
    for name in ["version", "version_long"] {
        assert_eq!(resolve(name).outcome, Ok(Plan::Version), "{name}");
    }
    let notice = resolve("o_bad");
    let [message] = notice.messages.as_slice() else {
        panic!("{:?}", notice.messages)
    };
    assert_eq!(message.stream, Stream::Out);
    assert_eq!(
        message.text,
        "Output from stdout (but not from stderr) will be redirected to file /no/such/dir/x"
    );
}
