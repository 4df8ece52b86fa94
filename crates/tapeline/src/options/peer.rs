//! Tests with iperf3.

use super::{Group, OptionId as Id, OptionSpec, Personalities, Sides};

pub(super) const OPTIONS: &[OptionSpec] = &[
    OptionSpec::new(Id::Peer, None, "peer")
        .value("PROGRAM")
        .only(Personalities::Native)
        .sides(Sides::CLIENT)
        .help(
            Group::Mode,
            "what the server is: iperf2 (default), or iperf3 of any version",
        )
        .details("Towards iperf3 the port is 5201 unless -p is given."),
    OptionSpec::new(Id::Omit, Some('O'), "omit")
        .value("SECONDS")
        .only(Personalities::Native)
        .sides(Sides::CLIENT)
        .help(
            Group::Amount,
            "start of the test that does not count, 0 to 600 (--peer iperf3)",
        ),
    OptionSpec::new(Id::NoControl, None, "no-control")
        .only(Personalities::Native)
        .sides(Sides::ANY)
        .help(Group::Mode, "no control connection with another tapeline")
        .details(
            "Without it two tapelines recognise each other and tell each other what they counted, \
             over one more connection to the server's port.",
        ),
    OptionSpec::new(Id::NoProbe, None, "no-probe")
        .only(Personalities::Native)
        .sides(Sides::CLIENT)
        .help(Group::Mode, "no round trips measured beside the traffic")
        .details(
            "Without it a client whose server is tapeline measures how much longer the path takes \
             under the test's load, by a flow of small datagrams to the same port: at most 50 a \
             second and 0.1 % of the test's bytes.",
        ),
    OptionSpec::new(Id::MaxTests, None, "max-tests")
        .value("NUMBER")
        .only(Personalities::Native)
        .sides(Sides::SERVER)
        .help(Group::Access, "iperf3 tests at the same time (default 64)"),
    OptionSpec::new(Id::OneAtATime, None, "one-at-a-time")
        .only(Personalities::Native)
        .sides(Sides::SERVER)
        .help(
            Group::Access,
            "one iperf3 test at a time: others hear that the server is busy",
        ),
];
