//! What a peer cannot do, whoever its peer is.

use interop::Program;

use crate::mode::Mode;

/// Which side of a test a peer is on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Side {
    Client,
    Server,
    Either,
}

struct Limitation {
    programs: &'static [Program],
    side: Side,
    /// Names of modes, or beginnings of options.
    what: What,
    reason: &'static str,
}

enum What {
    Modes(&'static [&'static str]),
    /// Options that the programs do not have.
    Options(&'static [&'static str]),
    Events,
}

const LIMITATIONS: &[Limitation] = {
    use Program::{Iperf3V9, Iperf3V12, Iperf3V18, Tapeline};
    &[
        Limitation {
            programs: &[Iperf3V9],
            side: Side::Client,
            what: What::Modes(&[
                "tcp bytes reverse",
                "tcp blocks reverse",
                "tcp congestion reverse",
                "udp bytes reverse",
            ]),
            reason: "does not end a reverse test of an amount",
        },
        Limitation {
            programs: &[Iperf3V9],
            side: Side::Client,
            what: What::Modes(&["tcp file"]),
            reason: "sends on behind the end of a file",
        },
        Limitation {
            programs: &[Iperf3V9],
            side: Side::Client,
            what: What::Modes(&["tcp bound to a device by address"]),
            reason: "takes the device for a part of the address",
        },
        Limitation {
            programs: &[Iperf3V9],
            side: Side::Client,
            what: What::Options(&["-I"]),
            reason: "has process id files of servers only",
        },
        Limitation {
            programs: &[Iperf3V9, Iperf3V18],
            side: Side::Client,
            what: What::Modes(&["tcp bursts", "udp bursts"]),
            reason: "sends one burst behind the other, without a pause",
        },
        Limitation {
            programs: &[Tapeline],
            side: Side::Server,
            what: What::Modes(&["tcp server's document", "udp server's document"]),
            reason: "shows a client its own text, whatever it prints itself",
        },
        Limitation {
            programs: &[Iperf3V9],
            side: Side::Either,
            what: What::Options(&[
                "--bind-dev",
                "--dont-fragment",
                "--idle-timeout",
                "--rcv-timeout",
                "--snd-timeout",
            ]),
            reason: "came with 3.10 to 3.12",
        },
        Limitation {
            programs: &[Iperf3V9, Iperf3V12, Iperf3V18],
            side: Side::Either,
            what: What::Options(&[
                "--cntl-ka",
                "--gsro",
                "-m",
                "--skip-rx-copy",
                "--server-max-duration",
            ]),
            reason: "came after 3.18",
        },
        Limitation {
            programs: &[Iperf3V9, Iperf3V12],
            side: Side::Either,
            what: What::Events,
            reason: "--json-stream came with 3.17",
        },
    ]
};

/// Whether both programs have the mode.
pub(crate) fn has(mode: &Mode, client: Program, server: Program) -> bool {
    let own_words = (client != Program::Tapeline || mode.own.is_some())
        && (server != Program::Tapeline || mode.server.is_empty());
    own_words
        && !LIMITATIONS.iter().any(|limitation| {
            debug_assert!(!limitation.reason.is_empty());
            let at = |program| limitation.programs.contains(&program);
            let sides = [
                (
                    at(client) && limitation.side != Side::Server,
                    mode.client,
                    mode.client_form,
                ),
                (
                    at(server) && limitation.side != Side::Client,
                    mode.server,
                    mode.server_form,
                ),
            ];
            sides.into_iter().any(|(here, options, form)| {
                here && match limitation.what {
                    What::Modes(names) => names.contains(&mode.name),
                    What::Options(missing) => options.split(' ').any(|word| {
                        let name = word.split('=').next().unwrap_or_default();
                        missing.contains(&name)
                    }),
                    What::Events => form == crate::mode::Form::Events,
                }
            })
        })
}
