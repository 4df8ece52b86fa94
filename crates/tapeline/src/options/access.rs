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
    OptionSpec::new(Id::PermitKeyFile, None, "permit-key-file")
        .value("FILE")
        .only(Personalities::Native)
        .help(
            Group::Access,
            "the same key from a file that others cannot read",
        )
        .details("A line end behind the key is left out. The variable TAPELINE_PERMIT_KEY holds a key, too."),
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
    OptionSpec::new(Id::Allow, None, "allow")
        .value("NETWORKS")
        .only(Personalities::Native)
        .sides(Sides::SERVER)
        .help(
            Group::Access,
            "networks whose clients are served: any (default), none, or a list",
        ),
    OptionSpec::new(Id::Deny, None, "deny")
        .value("NETWORKS")
        .only(Personalities::Native)
        .sides(Sides::SERVER)
        .help(
            Group::Access,
            "networks whose clients are not served, although allowed: any, none (default), or a list",
        ),
    OptionSpec::new(Id::Limit, None, "limit")
        .value("NAME=VALUE")
        .only(Personalities::Native)
        .sides(Sides::SERVER)
        .help(
            Group::Access,
            "limit of clients that are not trusted; may be given often",
        )
        .details(
            "Names: tests, tests-of-source, streams, streams-of-test, duration (seconds), bytes and rate \
             (of a test, in each direction; none), block (bytes), lowest-port, pending, \
             pending-of-source, newcomers, unverified-rate (bit/s), wrong-keys, wrong-keys-of-source \
             (for all clients), refusals-told. docs/operations.md explains them; --print-config shows their values.",
        ),
    OptionSpec::new(Id::User, None, "user")
        .value("NAME[:GROUP]")
        .only(Personalities::Native)
        .sides(Sides::SERVER)
        .help(
            Group::Access,
            "go on as this user once all sockets and files are open (Unix)",
        )
        .details(
            "Names or numbers. Without GROUP the user's own. Nobody is served before, and there is no way \
             back.",
        ),
    OptionSpec::new(Id::Config, None, "config")
        .value("FILE")
        .only(Personalities::Native)
        .sides(Sides::SERVER)
        .help(
            Group::Access,
            "options of the server from a file (TOML: long names, and a table of limits)",
        )
        .details("Variables and the command line count more than the file."),
    OptionSpec::new(Id::PrintConfig, None, "print-config")
        .only(Personalities::Native)
        .sides(Sides::SERVER)
        .help(
            Group::Access,
            "show what the server would do and where each value came from, then end",
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
