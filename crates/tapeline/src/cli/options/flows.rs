//! Different flows in one test.

use crate::cli::spec::{Group, OptionId as Id, OptionSpec, Personalities, Sides};

pub(crate) const OPTIONS: &[OptionSpec] = &[
    OptionSpec::new(Id::Flow, None, "flow")
        .value("OPTIONS")
        .only(Personalities::Native)
        .sides(Sides::CLIENT)
        .help(
            Group::Traffic,
            "a flow of its own in the same test; give it again for each",
        )
        .details(
            "OPTIONS are a client's, quoted as one word: '-u -b 100M -S ef'. A name may stand before \
             them: 'voice: -u -b 64k'. What stands outside is for all flows; where packets go, what \
             is reported and access can only stand there. --txdelay-time is the start of a flow, in \
             seconds after that of the test. The server is tapeline or iperf 2.",
        ),
    OptionSpec::new(Id::Flows, None, "flows")
        .value("FILE")
        .only(Personalities::Native)
        .sides(Sides::CLIENT)
        .help(
            Group::Traffic,
            "different flows in one test, from a TOML file",
        )
        .details(
            "The file has a table [[flow]] for each. Keys are long names of options: those of a flow in \
             its table, with name for its name; those of all flows, and host for the server, at the top.",
        ),
];
