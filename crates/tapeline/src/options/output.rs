//! Options for the output, and the rest.

use super::Section::{Both, Misc, Server};
use super::{Group, OptionId as Id, OptionSpec, Personalities, Sides};

pub(super) const OPTIONS: &[OptionSpec] = &[
    OptionSpec::new(Id::Enhanced, Some('e'), "enhanced")
        .variable(6, "IPERF_ENHANCEDREPORTS")
        .help(
            Group::Output,
            "more columns: retries, round-trip times, packet rates",
        )
        .listed(&[(
            Both,
            "",
            "enhanced reports: more about TCP, UDP and the traffic",
        )]),
    OptionSpec::new(Id::Format, Some('f'), "format")
        .value("LETTER")
        .variable(7, "IPERF_FORMAT")
        .help(
            Group::Output,
            "unit: b k m g t bits, B K M G T bytes, a or A by size (default a)",
        )
        .details("iperf3-json and iperf3-json-stream: JSON as that of iperf3, whatever the peer.")
        .listed(&[(
            Both,
            "[kmgKMG]",
            "unit of rates: Kbits, Mbits, Gbits, KBytes, ...",
        )]),
    OptionSpec::new(Id::SumOnly, None, "sum-only")
        .help(Group::Output, "show sums only")
        .listed(&[(Both, "", "show sum reports only")]),
    OptionSpec::new(Id::HideIps, None, "hide-ips")
        .help(Group::Output, "hide all but the last part of addresses")
        .listed(&[(Both, "", "hide addresses and host names in the output")]),
    OptionSpec::new(Id::Utc, None, "utc")
        .help(Group::Output, "dates in universal time")
        .listed(&[(Both, "", "dates in universal time (UTC)")]),
    OptionSpec::new(Id::Output, Some('o'), "output")
        .value("FILE")
        .sides(Sides::ANY)
        .help(Group::Output, "append the report to a file")
        .listed(&[(Both, "<filename>", "append the report to this file")]),
    OptionSpec::new(Id::Json, None, "json")
        .optional_value("FILE")
        .only(Personalities::Native)
        .help(Group::Output, "the results as a JSON document")
        .details(
            "Instead of the text, or beside it in FILE, which appears when it is complete. A server \
             writes a line with a document for each test.",
        ),
    OptionSpec::new(Id::JsonStream, None, "json-stream")
        .optional_value("FILE")
        .only(Personalities::Native)
        .help(Group::Output, "a line of JSON for each event, as it happens"),
    OptionSpec::new(Id::DocumentCsv, None, "csv")
        .optional_value("FILE")
        .only(Personalities::Native)
        .help(
            Group::Output,
            "a row of comma-separated values for each flow and interval",
        ),
    OptionSpec::new(Id::FailIfLimited, None, "fail-if-limited")
        .sides(Sides::CLIENT)
        .only(Personalities::Native)
        .help(
            Group::Output,
            "exit code 3 if a host limited the test, not the network",
        )
        .details(
            "That is: a processor, a socket buffer or window, the pacing; surely or likely, as the \
             verdict at the end says.",
        ),
    OptionSpec::new(Id::Html, None, "html")
        .value("FILE")
        .only(Personalities::Native)
        .help(Group::Output, "a page with charts, which opens offline")
        .details("A server's page is that of its last test; several runs of a client are one page."),
    OptionSpec::new(Id::Tui, None, "tui")
        .only(Personalities::Native)
        .help(Group::Output, "a live view on the terminal: curves, flows, verdicts")
        .details(
            "The text follows when the view ends, without its intervals; with -o it is written to the \
             file meanwhile. Frames are left out when the terminal is slow.",
        ),
    OptionSpec::new(Id::Metrics, None, "metrics")
        .value("ADDRESS:PORT")
        .sides(Sides::OBSERVED)
        .only(Personalities::Native)
        .help(Group::Output, "metrics for Prometheus over HTTP")
        .details(
            "A server's counters and its last results, at /metrics; :PORT is every address of this \
             host. The job exporter answers there (localhost:9579 without this option).",
        ),
    OptionSpec::new(Id::ReportExclude, Some('x'), "reportexclude")
        .value("LETTERS")
        .variable(18, "IPERF_REPORTEXCLUDE")
        .help(
            Group::Output,
            "leave out: C connections D data M sums S settings V server reports",
        )
        .listed(&[(
            Misc,
            "[CDMSV]",
            "leave out C(connection) D(data) M(multicast) S(settings) V(server) reports",
        )]),
    OptionSpec::new(Id::ReportStyle, Some('y'), "reportstyle")
        .value("C")
        .variable(19, "IPERF_REPORTSTYLE")
        .help(Group::Output, "C: comma-separated values")
        .listed(&[(Misc, "C", "report as comma-separated values")]),
    OptionSpec::new(Id::SumDstIp, None, "sum-dstip")
        .sides(Sides::SERVER)
        .help(
            Group::Output,
            "sum over flows to one address instead of one sender",
        )
        .listed(&[(Server, "", "sum flows by their destination address")]),
    OptionSpec::new(Id::ReportStructs, None, "NUM_REPORT_STRUCTS")
        .value("COUNT")
        .help(
            Group::Output,
            "accepted for old scripts; there is nothing to size",
        )
        .listed(&[(Both, "", "accepted; results pass through no ring here")]),
    OptionSpec::new(Id::Help, Some('h'), "help")
        .sides(Sides::ALL)
        .help(Group::Misc, "show help: -h in short, --help in full")
        .listed(&[(Misc, "", "show this and quit")]),
    OptionSpec::new(Id::Version, Some('v'), "version")
        .sides(Sides::ALL)
        .help(Group::Misc, "show the version")
        .listed(&[(Misc, "", "show the version and quit")]),
];
