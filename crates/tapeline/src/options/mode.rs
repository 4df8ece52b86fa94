//! Options that choose the job, the peer and the addresses.

use super::Section::{Both, Client, Server};
use super::{Group, OptionId as Id, OptionSpec, Personalities, Sides};

pub(super) const OPTIONS: &[OptionSpec] = &[
    OptionSpec::new(Id::Server, Some('s'), "server")
        .sides(Sides::SERVER)
        .variable(14, "IPERF_SERVER")
        .help(Group::Mode, "serve tests")
        .native_details("Together with -c HOST the server takes tests from that host only.")
        .listed(&[(Server, "", "serve tests")]),
    OptionSpec::new(Id::Client, Some('c'), "client")
        .value("HOST[%DEV]")
        .variable(4, "IPERF_CLIENT")
        .help(Group::Mode, "test towards a server")
        .details("HOST is a name or an address; %DEV leaves through that network device.")
        .native_details("[ADDRESS]:PORT and NAME:PORT are read too.")
        .listed(&[(Client, "<host>", "test towards the server at <host>")]),
    OptionSpec::new(Id::Udp, Some('u'), "udp")
        .variable(16, "IPERF_UDP")
        .help(Group::Mode, "UDP instead of TCP")
        .native_details("A server without -u takes both.")
        .listed(&[(Both, "", "UDP instead of TCP")]),
    OptionSpec::new(Id::V4, Some('4'), "")
        .manual_names(&["v4"])
        .sides(Sides::ANY)
        .help(Group::Addressing, "IPv4 only"),
    OptionSpec::new(Id::V6, Some('6'), "")
        .manual_names(&["v6"])
        .sides(Sides::ANY)
        .help(Group::Addressing, "IPv6 only; a server still takes IPv4"),
    OptionSpec::new(Id::Ipv6Domain, Some('V'), "ipv6_domain")
        .sides(Sides::ANY)
        .variable(1, "IPERF_IPV6_DOMAIN")
        .help(Group::Addressing, "the same as -6")
        .listed(&[
            (Server, "", "listen on IPv6 and, through it, on IPv4"),
            (Client, "", "send over IPv6"),
        ]),
    OptionSpec::new(Id::Port, Some('p'), "port")
        .value("PORT[-PORT]")
        .sides(Sides::ANY)
        .variable(12, "IPERF_PORT")
        .help(Group::Addressing, "port of the server (default 5001)")
        .details(
            "A range opens one listener per port at a server; a client sends one flow to each \
             port.",
        )
        .listed(&[
            (
                Both,
                "#",
                "port to listen on or to connect to (default 5001)",
            ),
            (Server, "#[-#]", "port or ports to listen on"),
        ]),
    OptionSpec::new(Id::Bind, Some('B'), "bind")
        .value("HOST[:PORT][%DEV]")
        .variable(20, "IPERF_BIND")
        .help(Group::Addressing, "own address")
        .details(
            "At a client PORT is the source port of the first flow, and later flows count up; at \
             a server %DEV is the device to listen on. A UDP server joins a multicast group given \
             here.",
        )
        .listed(&[
            (
                Both,
                "<host>[:<port>][%<dev>]",
                "own address, perhaps multicast, port and device",
            ),
            (
                Server,
                "<ip>[%<dev>]",
                "address or multicast group to receive on, and device",
            ),
            (
                Client,
                "[<ip> | <ip:port>]",
                "address, and port, to send from",
            ),
        ]),
    OptionSpec::new(Id::SsmHost, Some('H'), "ssm-host")
        .value("ADDRESS")
        .sides(Sides::SERVER)
        .help(
            Group::Addressing,
            "take the multicast group of -B from this sender only",
        )
        .listed(&[(
            Client,
            "<ip>",
            "only sender of the multicast group of -B (S,G)",
        )]),
    OptionSpec::new(Id::ListenPort, Some('L'), "listenport")
        .value("PORT")
        .sides(Sides::CLIENT)
        .variable(27, "IPERF_LISTENPORT")
        .help(
            Group::Addressing,
            "port for the connection back of -d and -r (default: that of -p)",
        )
        .listed(&[(Client, "#", "port for the connection back of -d and -r")]),
    OptionSpec::new(Id::Daemon, Some('D'), "daemon")
        .sides(Sides::SERVER)
        .variable(22, "IPERF_DAEMON")
        .help(Group::Mode, "serve in the background (Unix)")
        .details("The report goes to the file of -o, or nowhere.")
        .listed(&[(Server, "", "serve in the background")]),
    OptionSpec::new(Id::ReadyFd, None, "ready-fd")
        .value("NUMBER")
        .only(Personalities::Native)
        .sides(Sides::SERVER)
        .help(
            Group::Mode,
            "write a line end to this descriptor when the server listens (Unix)",
        )
        .details("systemd is told by itself (Type=notify)."),
    OptionSpec::new(Id::SingleClient, Some('1'), "singleclient")
        .sides(Sides::SERVER)
        .variable(2, "IPERF_SINGLECLIENT")
        .help(Group::Mode, "serve one test at a time; others wait")
        .listed(&[(Server, "", "serve one test at a time")]),
    OptionSpec::new(Id::SingleUdp, Some('U'), "single_udp")
        .sides(Sides::SERVER)
        .variable(31, "IPERF_SINGLE_UDP")
        .help(Group::Mode, "serve one UDP test at a time (-u -1)")
        .listed(&[(Server, "", "serve one UDP test at a time")]),
    OptionSpec::new(Id::Awdl, Some('A'), "awdl").only(Personalities::Iperf2),
    OptionSpec::new(Id::Remove, None, "")
        .manual_names(&["remove"])
        .sides(Sides::SERVER)
        .refused(),
];
