//! Every option of iperf3 3.22, in the order in which its ambiguities are listed.

use std::ffi::OsString;

use crate::cli::parse::{Arity, NameMatch, Piece, SyntaxFault, Table, Typed, cut};
use Arity::{Optional, Required, Switch};
use End::{Both, Client, Server};

/// Identity of an option; one per row of the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[rustfmt::skip]
pub(crate) enum Id {
    Port, Format, Interval, Daemon, OneOff, Verbose, Json, JsonStream, JsonStreamFull, Version,
    Server, Client, Udp, Bitrate, BitrateLimit, MaxDuration, Time, Bytes, Blocks, Length,
    Parallel, Reverse, Bidir, Window, Bind, BindDevice, ClientPort, SegmentSize, NoDelay,
    Version4, Version6, Tos, Dscp, FlowLabel, ZeroCopy, Omit, File, RepeatingPayload,
    Timestamps, Affinity, Title, Congestion, Sctp, SctpStreams, SctpBind, PidFile, LogFile,
    ForceFlush, ServerOutput, WideCounters, NoFairQueue, ExtraData, FairQueueRate, PacingTimer,
    ConnectTimeout, IdleTimeout, ReceiveTimeout, SendTimeout, Keepalive, Mptcp, SkipReceiveCopy,
    DontFragment, SegmentOffload, User, PublicKey, PrivateKey, AuthorizedUsers, TimeSkew,
    Pkcs1Padding, Debug, Help,
}

/// Which end an option belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    Both,
    Client,
    Server,
}

/// One row of the table.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Spec {
    pub(crate) id: Id,
    pub(crate) letter: Option<char>,
    /// Names behind `--`, the main one first.
    pub(crate) names: &'static [&'static str],
    pub(crate) arity: Arity,
    pub(crate) end: End,
    /// The value as the help shows it.
    pub(crate) value: &'static str,
    /// One line of help; empty where the help is silent.
    pub(crate) help: &'static str,
}

const fn row(
    id: Id,
    letter: Option<char>,
    names: &'static [&'static str],
    arity: Arity,
    end: End,
    value: &'static str,
    help: &'static str,
) -> Spec {
    Spec {
        id,
        letter,
        names,
        arity,
        end,
        value,
        help,
    }
}

/// The table.
#[rustfmt::skip]
pub(crate) const TABLE: &[Spec] = &[
    row(Id::Port, Some('p'), &["port"], Required, Both, "N", "server's port, 1 to 65535 (5201)"),
    row(Id::Format, Some('f'), &["format"], Required, Both, "[kmgtKMGT]", "unit of rates: bits (k m g t) or bytes (K M G T)"),
    row(Id::Interval, Some('i'), &["interval"], Required, Both, "SEC", "time between reports, 0.1 to 60; 0 for none (1)"),
    row(Id::Daemon, Some('D'), &["daemon"], Switch, Server, "", "serve in the background"),
    row(Id::OneOff, Some('1'), &["one-off"], Switch, Server, "", "serve one test, then end"),
    row(Id::Verbose, Some('V'), &["verbose"], Switch, Both, "", "tell more about the test"),
    row(Id::Json, Some('J'), &["json"], Switch, Both, "", "one JSON document for each test"),
    row(Id::JsonStream, None, &["json-stream"], Switch, Both, "", "one line of JSON for each event"),
    row(Id::JsonStreamFull, None, &["json-stream-full-output"], Switch, Both, "", "the lines of --json-stream, then the document"),
    row(Id::Version, Some('v'), &["version"], Switch, Both, "", "show the version"),
    row(Id::Server, Some('s'), &["server"], Switch, Server, "", "be the server"),
    row(Id::Client, Some('c'), &["client"], Required, Client, "HOST[%DEV]", "test towards the server HOST, leaving through DEV"),
    row(Id::Udp, Some('u'), &["udp"], Switch, Client, "", "UDP rather than TCP"),
    row(Id::Bitrate, Some('b'), &["bitrate", "bandwidth"], Required, Client, "RATE[/N]", "bits per second of a stream, 0 for no limit (UDP 1 Mi, TCP 0);\nN packets in a burst"),
    row(Id::BitrateLimit, None, &["server-bitrate-limit"], Required, Server, "RATE[/SEC]", "most bits per second of a test, averaged over SEC (5)"),
    row(Id::MaxDuration, None, &["server-max-duration"], Required, Server, "SEC", "longest test that is accepted"),
    row(Id::Time, Some('t'), &["time"], Required, Client, "SEC", "length of the test, 0 for no end (10)"),
    row(Id::Bytes, Some('n'), &["bytes"], Required, Client, "N[KMGT]", "end after so many bytes"),
    row(Id::Blocks, Some('k'), &["blockcount"], Required, Client, "N[KMGT]", "end after so many blocks"),
    row(Id::Length, Some('l'), &["length"], Required, Client, "N[KMGT]", "bytes of a block or datagram (TCP 128K, UDP fits the path)"),
    row(Id::Parallel, Some('P'), &["parallel"], Required, Client, "N", "streams in each direction, 1 to 128 (1)"),
    row(Id::Reverse, Some('R'), &["reverse"], Switch, Client, "", "the server sends"),
    row(Id::Bidir, None, &["bidir"], Switch, Client, "", "both send"),
    row(Id::Window, Some('w'), &["window"], Required, Client, "N[KMGT]", "bytes of the socket buffers"),
    row(Id::Bind, Some('B'), &["bind"], Required, Both, "HOST[%DEV]", "own address, and device"),
    row(Id::BindDevice, None, &["bind-dev"], Required, Both, "DEV", "device of all sockets (SO_BINDTODEVICE)"),
    row(Id::ClientPort, None, &["cport"], Required, Client, "N", "own port of the first data connection"),
    row(Id::SegmentSize, Some('M'), &["set-mss"], Required, Client, "N", "TCP maximum segment size, bytes"),
    row(Id::NoDelay, Some('N'), &["no-delay"], Switch, Client, "", "send small segments at once (TCP_NODELAY)"),
    row(Id::Version4, Some('4'), &["version4"], Switch, Both, "", "IPv4 only"),
    row(Id::Version6, Some('6'), &["version6"], Switch, Both, "", "IPv6 only"),
    row(Id::Tos, Some('S'), &["tos"], Required, Client, "N", "type of service byte, 0 to 255 (also 0x.. and 0..)"),
    row(Id::Dscp, None, &["dscp"], Required, Client, "N|NAME", "DSCP, 0 to 63 or af11 .. cs7, ef, va, lowdelay, throughput,\nreliability"),
    row(Id::FlowLabel, Some('L'), &["flowlabel"], Required, Client, "N", "IPv6 flow label, 1 to 0xfffff"),
    row(Id::ZeroCopy, Some('Z'), &["zerocopy"], Switch, Client, "", "send without copying"),
    row(Id::Omit, Some('O'), &["omit"], Required, Client, "SEC", "time at the start that does not count, 0 to 600"),
    row(Id::File, Some('F'), &["file"], Required, Both, "FILE", "send this file, or write what arrives to it"),
    row(Id::RepeatingPayload, None, &["repeating-payload"], Switch, Client, "", "a pattern as payload rather than random bytes"),
    row(Id::Timestamps, None, &["timestamps"], Optional, Both, "FORMAT", "begin each line with the time, as strftime(3) writes it"),
    row(Id::Affinity, Some('A'), &["affinity"], Required, Both, "N[,M]", "processor of this process, and (client) of the server's"),
    row(Id::Title, Some('T'), &["title"], Required, Client, "TEXT", "begin each line with TEXT"),
    row(Id::Congestion, Some('C'), &["congestion", "linux-congestion"], Required, Client, "NAME", "TCP congestion control"),
    row(Id::Sctp, None, &["sctp"], Switch, Client, "", "SCTP instead of TCP, where the system has it"),
    row(Id::SctpStreams, None, &["nstreams"], Required, Client, "N", ""),
    row(Id::SctpBind, Some('X'), &["xbind"], Required, Client, "NAME", ""),
    row(Id::PidFile, Some('I'), &["pidfile"], Required, Both, "FILE", "write the process id to FILE"),
    row(Id::LogFile, None, &["logfile"], Required, Both, "FILE", "append all output to FILE"),
    row(Id::ForceFlush, None, &["forceflush"], Switch, Both, "", "write each interval out at once (always so)"),
    row(Id::ServerOutput, None, &["get-server-output"], Switch, Client, "", "show the server's output too"),
    row(Id::WideCounters, None, &["udp-counters-64bit"], Switch, Client, "", "packet numbers of 64 bits"),
    row(Id::NoFairQueue, None, &["no-fq-socket-pacing"], Switch, Client, "", ""),
    row(Id::ExtraData, None, &["extra-data"], Required, Client, "TEXT", "put TEXT into the JSON of both ends"),
    row(Id::FairQueueRate, None, &["fq-rate"], Required, Client, "RATE", "pacing by the kernel, bits per second (SO_MAX_PACING_RATE)"),
    row(Id::PacingTimer, None, &["pacing-timer"], Required, Client, "USEC", "step of the rate for old servers; tapeline: precise, economical"),
    row(Id::ConnectTimeout, None, &["connect-timeout"], Required, Client, "MS", "time for the control connection"),
    row(Id::IdleTimeout, None, &["idle-timeout"], Required, Server, "SEC", "with -1: end without a client after this time"),
    row(Id::ReceiveTimeout, None, &["rcv-timeout"], Required, Both, "MS", "end a test when nothing is received for so long (120000)"),
    row(Id::SendTimeout, None, &["snd-timeout"], Required, Both, "MS", "time for TCP data to be acknowledged"),
    row(Id::Keepalive, None, &["cntl-ka"], Optional, Both, "IDLE/INTERVAL/COUNT", "keepalive of the control connection, seconds"),
    row(Id::Mptcp, Some('m'), &["mptcp"], Switch, Both, "", "data connections over several paths (MPTCP)"),
    row(Id::SkipReceiveCopy, None, &["skip-rx-copy"], Switch, Client, "", "received data stays in the kernel (MSG_TRUNC)"),
    row(Id::DontFragment, None, &["dont-fragment"], Switch, Client, "", "UDP over IPv4 is not fragmented"),
    row(Id::SegmentOffload, None, &["gsro"], Switch, Client, "", "UDP segmentation offload at both ends"),
    row(Id::User, None, &["username"], Required, Client, "NAME", "log in; the password is in IPERF3_PASSWORD, or tapeline prompts for it"),
    row(Id::PublicKey, None, &["rsa-public-key-path"], Required, Client, "FILE", "the server's public key (PEM)"),
    row(Id::PrivateKey, None, &["rsa-private-key-path"], Required, Server, "FILE", "the private key for logins (PEM)"),
    row(Id::AuthorizedUsers, None, &["authorized-users-path"], Required, Server, "FILE", "who may test: lines of user and hash"),
    row(Id::TimeSkew, None, &["time-skew-threshold"], Required, Server, "SEC", "largest difference of clocks at a login (10)"),
    row(Id::Pkcs1Padding, None, &["use-pkcs1-padding"], Switch, Both, "", "log in at servers before 3.17; servers take both kinds anyway"),
    row(Id::Debug, Some('d'), &["debug"], Optional, Both, "LEVEL", "tell what happens inside, 1 to 4 (4)"),
    row(Id::Help, Some('h'), &["help"], Switch, Both, "", "show this help"),
];

/// The options that help and documents list.
pub(crate) fn listed() -> impl Iterator<Item = &'static Spec> {
    TABLE.iter().filter(|spec| !spec.help.is_empty())
}

/// The row of an option.
#[cfg(any(feature = "web", test))]
pub(crate) fn row_of(id: Id) -> &'static Spec {
    // Rows stand in the order of their identities.
    &TABLE[id as usize]
}

/// The option with this letter.
pub(crate) fn by_letter(letter: char) -> Option<&'static Spec> {
    TABLE.iter().find(|spec| spec.letter == Some(letter))
}

/// The option with this name, or with the only name that begins so. Names of one option do not
/// contradict each other.
pub(crate) fn by_name(typed: &str) -> NameMatch<Spec> {
    let names = || {
        TABLE
            .iter()
            .flat_map(|spec| spec.names.iter().map(move |name| (spec, *name)))
    };
    if let Some((spec, name)) = names().find(|(_, name)| *name == typed) {
        return NameMatch::One(spec, name);
    }
    let mut candidates: Vec<_> = names()
        .filter(|(_, name)| name.starts_with(typed))
        .collect();
    let Some((first, name)) = candidates.first().copied() else {
        return NameMatch::Unknown;
    };
    candidates.retain(|(spec, other)| *other == name || spec.id != first.id);
    match candidates.len() {
        1 => NameMatch::One(first, name),
        _ => NameMatch::Ambiguous(candidates.into_iter().map(|(_, name)| name).collect()),
    }
}

/// The table, for the cutter.
struct Iperf3Options;

impl Table for Iperf3Options {
    type Spec = Spec;
    type Given = Given;

    fn by_letter(&self, letter: char) -> Option<&'static Spec> {
        by_letter(letter)
    }

    fn by_name(&self, typed: &str) -> NameMatch<Spec> {
        by_name(typed)
    }

    fn arity(&self, spec: &Spec) -> Arity {
        spec.arity
    }

    fn given(&self, spec: &'static Spec, typed: Typed) -> Given {
        Given {
            spec,
            value: typed
                .value
                .map(|value| value.to_string_lossy().into_owned()),
        }
    }
}

/// An option with its value.
#[derive(Clone, Debug)]
pub(crate) struct Given {
    pub(crate) spec: &'static Spec,
    /// As typed; bytes that are no UTF-8 are replaced.
    pub(crate) value: Option<String>,
}

impl Given {
    /// The value, empty for a switch.
    pub(crate) fn text(&self) -> &str {
        self.value.as_deref().unwrap_or_default()
    }
}

/// The options of a line, or getopt's complaint without the program's name. Words that are no option
/// are left out, as iperf3 does; nothing follows a fault.
pub(crate) fn given(arguments: impl IntoIterator<Item = OsString>) -> Vec<Result<Given, String>> {
    let mut found = Vec::new();
    for piece in cut(arguments, &Iperf3Options) {
        match piece {
            Piece::Option(given) => found.push(Ok(given)),
            Piece::Operand(_) => {}
            Piece::Fault(fault) => {
                found.push(Err(complaint(&fault)));
                break;
            }
        }
    }
    found
}

/// What getopt says.
fn complaint(fault: &SyntaxFault) -> String {
    match fault {
        SyntaxFault::UnknownLetter(letter) => format!("invalid option -- '{letter}'"),
        SyntaxFault::UnknownName(word) => format!("unrecognized option '--{word}'"),
        SyntaxFault::Ambiguous { word, candidates } => {
            let list: String = candidates
                .iter()
                .map(|name| format!(" '--{name}'"))
                .collect();
            format!("option '--{word}' is ambiguous; possibilities:{list}")
        }
        SyntaxFault::MissingValue(spelled) => match spelled.strip_prefix("--").map(by_name) {
            Some(NameMatch::One(_, whole)) => format!("option '--{whole}' requires an argument"),
            _ => format!("option requires an argument -- '{}'", &spelled[1..]),
        },
        SyntaxFault::UnexpectedValue(whole) => {
            format!("option '--{whole}' doesn't allow an argument")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `port=7`, `udp`, `!fault`.
    fn pieces(line: &str) -> Vec<String> {
        let words = line.split_whitespace().map(OsString::from);
        let shown = |piece| match piece {
            Ok(Given {
                spec,
                value: Some(value),
            }) => format!("{}={value}", spec.names[0]),
            Ok(given) => given.spec.names[0].to_owned(),
            Err(fault) => format!("!{fault}"),
        };
        given(words).into_iter().map(shown).collect()
    }

    #[test]
    fn options_come_in_any_order_and_words_are_left_out() {
        assert_eq!(
            pieces("one -c h two -u -p7 --time=5 --bitr 1M -- -R"),
            ["client=h", "udp", "port=7", "time=5", "bitrate=1M"]
        );
        assert_eq!(
            pieces("-uRc h -i -1"),
            ["udp", "reverse", "client=h", "interval=-1"]
        );
        assert_eq!(pieces("--cntl-ka 5 --cntl-ka=5"), ["cntl-ka", "cntl-ka=5"]);
        assert_eq!(pieces("-d1 --debug=2"), ["debug", "one-off", "debug=2"]);
        assert_eq!(pieces("--linux cubic"), ["congestion=cubic"]);
    }

    #[test]
    fn rows_are_found_by_identity() {
        assert_eq!(TABLE.len(), Id::Help as usize + 1);
        for spec in TABLE {
            assert_eq!(row_of(spec.id).id, spec.id);
        }
    }

    #[test]
    fn the_first_fault_ends_the_line_in_the_words_of_getopt() {
        for (line, fault) in [
            ("-u -Q -R", "invalid option -- 'Q'"),
            ("-u --foo=1", "unrecognized option '--foo=1'"),
            ("-u -c", "option requires an argument -- 'c'"),
            ("-u --extra", "option '--extra-data' requires an argument"),
            (
                "-u --no-delay=1",
                "option '--no-delay' doesn't allow an argument",
            ),
            (
                "-u --bi=5",
                "option '--bi=5' is ambiguous; possibilities: '--bitrate' '--bidir' '--bind' \
                 '--bind-dev'",
            ),
        ] {
            assert_eq!(
                pieces(line),
                ["udp".to_owned(), format!("!{fault}")],
                "{line}"
            );
        }
    }
}
