//! No command line, however odd, makes the program panic or end without a word.

use std::ffi::OsString;

use proptest::prelude::*;
use tapeline::{Invocation, understand};

fn word() -> impl Strategy<Value = String> {
    let option = prop_oneof![
        "-[a-zA-Z0-9]{1,4}",
        "--[a-z_-]{0,12}(=.{0,6})?",
        prop::sample::select(vec![
            "-c",
            "-s",
            "-p",
            "-B",
            "-b",
            "-l",
            "-n",
            "-t",
            "-i",
            "-w",
            "-M",
            "-P",
            "-S",
            "-T",
            "-L",
            "-x",
            "-y",
            "-f",
            "-o",
            "-u",
            "-d",
            "-R",
            "--dscp",
            "--connect-retry-time",
            "--connect-retry-timer",
            "--tos-override",
            "try",
            "--",
            "-",
        ])
        .prop_map(str::to_owned),
    ];
    let value = prop_oneof![
        "-?[0-9]{1,25}(\\.[0-9]{1,3})?[kmgKMGpx]?",
        "[0-9]{0,6}-[0-9]{0,6}",
        "\\[?[0-9a-f:.%]{0,14}\\]?(:[0-9]{0,6})?(%[a-z0-9]{0,4})?",
        "[-+]?(inf|nan|1e400|0x[0-9a-f]{0,20})",
        "\\PC{0,8}",
    ];
    prop_oneof![option, value]
}

proptest! {
    #[test]
    fn every_line_is_understood_or_refused_with_a_word(
        words in prop::collection::vec(word(), 0..8),
        variable in word(),
        iperf in any::<bool>(),
    ) {
        let (_, resolution) = understand(&Invocation {
            program: if iperf { "iperf".into() } else { "tapeline".into() },
            arguments: words.iter().map(OsString::from).collect(),
            variable: &|name| (name.len() % 7 == variable.len() % 7).then(|| variable.clone().into()),
            resolver: |_| Vec::new(),
        });
        prop_assert!(resolution.outcome.is_ok() || !resolution.messages.is_empty());
    }
}
