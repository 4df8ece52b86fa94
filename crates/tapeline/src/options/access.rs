//! Who may test, and how flows are named.

use super::Section::{Both, Client, Server};
use super::{Group, OptionId as Id, OptionSpec, Personalities, Sides};

pub(super) const OPTIONS: &[OptionSpec] = &[
    OptionSpec::new(Id::PermitKey, None, "permit-key")
        .optional_value("KEY")
        .help(
            Group::Access,
            "key of 4 to 128 bytes that both ends must know (TCP)",
        )
        .details("A server without KEY makes one up and shows it. It crosses the network as it is.")
        .listed(&[(Both, "", "key that client and server must share (TCP)")]),
    OptionSpec::new(Id::PermitKeyTimeout, None, "permit-key-timeout")
        .value("SECONDS")
        .sides(Sides::SERVER)
        .help(
            Group::Access,
            "how long the key is good (default 20; 0: for ever)",
        )
        .listed(&[(Server, "", "seconds for which a permit key is good")]),
    OptionSpec::new(Id::TestExchangeTimeout, None, "test-exchange-timeout")
        .value("SECONDS")
        .sides(Sides::SERVER)
        .help(
            Group::Access,
            "time for a client's first message (default 10, of iperf 60; 0: no limit)",
        )
        .listed(&[(
            Server,
            "",
            "seconds for a client's first message, 0 is no limit",
        )]),
    OptionSpec::new(Id::Trust, None, "trust")
        .value("NETWORKS")
        .only(Personalities::Native)
        .sides(Sides::SERVER)
        .help(
            Group::Access,
            "networks whose clients have no limits: any, none, or a list such as 192.0.2.0/24",
        )
        .details(
            "Default: this host and networks that are not routed on the internet. Others have \
             limits, and get no datagrams on their order.",
        ),
    OptionSpec::new(Id::SyncTransferId, None, "sync-transfer-id")
        .sides(Sides::CLIENT)
        .help(
            Group::Access,
            "the server shows the flow numbers of this client",
        )
        .listed(&[(
            Client,
            "",
            "the server shows the flow numbers of this client",
        )]),
];
