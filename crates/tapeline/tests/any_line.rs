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
            "--bounceback",
            "--bounceback-period",
            "--bounceback-hold",
            "--bounceback-request",
            "--bounceback-txdelay",
            "--burst-period",
            "--burst-size",
            "--isochronous",
            "--ipg",
            "--near-congestion",
            "--set-rand-seed",
            "--txstart-time",
            "--txdelay-time",
            "--connect-only",
            "--histograms",
            "--jitter-histograms",
            "--trip-times",
            "--fq-rate",
            "--fq-rate-step",
            "--fq-rate-step-interval",
            "--tcp-tx-delay",
            "--tcp-write-prefetch",
            "--tcp-rx-window-clamp",
            "--working-load",
            "--permit-key",
            "--permit-key-timeout",
            "--test-exchange-timeout",
            "--incr-srcport",
            "-H",
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
        "[-+]?(inf|nan|1e400|1e18|1e-300|0x[0-9a-f]{0,20})",
        "[0-9]{0,3}:[0-9]{1,3}[kmgKMGp]?,[0-9]{1,3}m?",
        "(<[0-9]{1,5}\\|[01](,0\\.[0-9])?){1,3}",
        "\\PC{0,8}",
    ]
    .boxed();
    let joined = (
        prop::sample::select(vec![
            "bounceback",
            "connect-only",
            "histograms",
            "isochronous",
            "jitter-histograms",
            "local-only",
            "near-congestion",
            "permit-key",
            "udp-l4s-video",
            "working-load",
        ]),
        value.clone(),
    )
        .prop_map(|(name, value)| format!("--{name}={value}"));
    prop_oneof![option, value, joined]
}

proptest! {
    #[test]
    fn every_line_is_understood_or_refused_with_a_word(
        words in prop::collection::vec(word(), 0..10),
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
