//! Command lines that iperf 2.2.1 complains about, against recordings of what it says.
//!
//! What fails only while the test runs is in `run_failures.rs`.

mod recordings;

use std::collections::HashSet;
use std::ffi::OsString;

use recordings::{SAID_BY_THE_RUN, golden, read, words};
use tapeline::{HelpPage, Invocation, Plan, Resolution, Stream, understand};

/// Lines on which the reference crashes, hangs or reports success without a result:
/// tapeline ends with status 1 and these words.
#[rustfmt::skip]
const IMPROVED: &[(&str, &str, &str)] = &[
    ("D_client", "Iperf client cannot be run as a daemon\n", "nothing was measured: no success"),
    ("b_bad_udp", "ERROR: -b value of 'abc' not recognized\n", "sends without limit"),
    ("b_neg_udp", "ERROR: -b value of '-1' not recognized\n", "sends without limit"),
    ("histograms_bad", "ERROR: option --histograms: 'abc' has no bin width above 0 (such as 100u or 1m)\n", "counts nothing"),
    ("l_bad", "ERROR: -l value of 'abc' is not between 1 and 268435456 bytes\n", "sends a header"),
    ("l_huge", "ERROR: -l value of '2G' is not between 1 and 268435456 bytes\n", "crashes"),
    ("l_negative", "ERROR: -l value of '-5' is not between 1 and 268435456 bytes\n", "crashes"),
    ("l_zero", "ERROR: -l value of '0' is not between 1 and 268435456 bytes\n", "sends a header"),
    ("n_negative", "Invalid value for -n amount of '-5'\n", "never ends"),
    ("p_neg", "ERROR: -p value of '-5' not recognized\n", "crashes"),
    ("tcp_multicast_client", "Multicast requires -u option  failed\n", "nothing was measured: no success"),
    ("tcp_multicast_server", "Multicast requires -u option  failed\n", "nothing was measured: no success"),
    ("udp_l_65508", "ERROR: option -l: 65508 bytes do not fit a UDP datagram (at most 65507)\n", "43 lines of errors"),
    ("udp_l_70000", "ERROR: option -l: 70000 bytes do not fit a UDP datagram (at most 65507)\n", "43 lines of errors"),
    ("udp_l_zero", "ERROR: -l value of '0' is not between 1 and 268435456 bytes\n", "sends a header"),
];

/// Lines that tapeline carries out where the reference does not, or explains: what it says,
/// and what the reference does.
#[rustfmt::skip]
const CARRIED_OUT: &[(&str, &str, &str)] = &[
    ("markov_l", "", "reads 0"),
    ("set_rand_seed", "", "does not know the option"),
    ("udp_l4s", "", "is built without"),
    ("udp_l4s_video", "", "is built without"),
];

/// Words of the reference that would be wrong here, and ours instead.
#[rustfmt::skip]
const OTHER_WORDS: &[(&str, &str, &str)] = &[
    ("ipg_b", "ERROR: IPG delay target of 10000.0 secs too large (max value is 60 secs)\n", ""),
    ("server_client_opts", "WARN: UDP L4S --udp-l4s not supported", "WARN: option of --udp-l4s is not supported on the server"),
];

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

fn resolve(name: &str) -> Resolution {
    let (_, resolution) = understand(&Invocation {
        program: "iperf".into(),
        arguments: words(&read(name, "cmd"))
            .into_iter()
            .map(OsString::from)
            .collect(),
        variable: &|_| None,
        resolver: |_| Vec::new(),
    });
    resolution
}

/// What the reference wrote to standard error, but for [`OTHER_WORDS`].
fn reference_says(name: &str) -> String {
    let mut text = read(name, "stderr");
    for (_, theirs, ours) in OTHER_WORDS.iter().filter(|(other, ..)| *other == name) {
        assert!(text.contains(theirs), "{name}: {theirs}");
        text = text.replace(theirs, ours);
    }
    text
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
        .chain(CARRIED_OUT)
        .map(|(name, ..)| *name)
        .collect();
    let mut compared = 0;
    for name in names()
        .iter()
        .filter(|name| !elsewhere.contains(name.as_str()))
    {
        let resolution = resolve(name);
        assert_eq!(stderr(&resolution), reference_says(name), "{name}");
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
    assert!(compared > 170, "only {compared} recordings were compared");
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
fn what_the_reference_lacks_is_carried_out() {
    for (name, said, reference) in CARRIED_OUT {
        let resolution = resolve(name);
        assert!(resolution.outcome.is_ok(), "{name} ({reference})");
        assert_eq!(stderr(&resolution), *said, "{name} ({reference})");
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
