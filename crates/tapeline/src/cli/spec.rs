//! What the table says about one option, and an option as it is given.

use std::ffi::OsString;

use tapeline_dialect::Personality;

use super::diagnostics::{Diagnostics, Exit};
use super::parse::{Arity, Piece};
use super::settings::Settings;

/// Identity of an option, one per row of the table, in the order of the help and of what is
/// listed for an ambiguous beginning.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[rustfmt::skip]
pub(crate) enum OptionId {
    // what to do, addresses
    Server, Client, Udp, V4, V6, Ipv6Domain, Port, Bind, SsmHost, ListenPort, Daemon, ReadyFd,
    SingleClient, SingleUdp, Awdl, Remove,
    // other hosts
    From, Via, ServeOn,
    // amount, rate, timing
    Time, Num, Bandwidth, Len, Parallel, Interval, NoConnectSync, ConnectRetryTimer,
    ConnectRetryTime, ConnectTimeout, IgnoreShutdown, NoUdpFin, Ipg, TxStartTime, TxDelayTime,
    ConnectOnly,
    // directions
    Reverse, FullDuplex, DualTest, Tradeoff, PeerDetect, Compatibility,
    // shape of the traffic
    Isochronous, BurstPeriod, BurstSize, NearCongestion, RandomSeed, Pacing, FileInput,
    StdinInput, WorkingLoad, WorkingLoadCca, UdpL4s, UdpL4sVideo, IncrDstIp, IncrDstPort,
    IncrSrcIp, IncrSrcPort, Flow, Flows,
    // delays and responsiveness
    TripTimes, WriteTimes, Histograms, JitterHistograms, Bounceback, BouncebackPeriod,
    BouncebackHold, BouncebackRequest, BouncebackReply, BouncebackTxDelay, BouncebackNoQuickAck,
    L2Checks,
    // sockets
    Window, PrintMss, Mss, NoDelay, Tos, Dscp, TosOverride, TcpCongestion, TcpCca, Ttl,
    LocalOnly, FqRate, FqRateStep, FqRateStepInterval, RxWindowClamp, WritePrefetch, QuickAck,
    TxDelay, SkipRxCopy, ZeroCopy, TapDevice, TunDevice, Realtime, Wait, Affinity, SuggestWindowSize,
    // access
    PermitKey, PermitKeyFile, PermitKeyTimeout, TestExchangeTimeout, Trust, Allow, Deny, Limit,
    User, Config, PrintConfig, SyncTransferId,
    // iperf3 and other tapelines
    Peer, Omit, NoPeerResults, NoLatencyProbes, MaxTests, OneAtATime,
    // several runs
    Repeat, Precision, RepeatPause, RepeatCsv,
    // methods
    Direction, Pass, Budget, Plan,
    Draft,
    Cir, LineRate, Windows, NoSimultaneous,
    Bimodal, SubInterval, FeedbackInterval, LowDelay, UpperDelay, ErrorThreshold, CountReordering, OneWay,
    LossGoal, Resolution, Frames, Rfc2544, Tst009, LossCurve,
    // output
    Enhanced, Quiet, Brief, Color, Format, SumOnly, HideIps, Utc, FastSampling, Output, Json, JsonStream,
    DocumentCsv, Rendered, FailIfHostLimited, Exclusive, Html, Tui, Metrics, ReportExclude, ReportStyle, SumDstIp,
    ReportStructs,
    // results that stay
    Save, NoSave, Tag, History, HistorySize, Retention,
    Help, Version,
}

/// Under which names the option is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Personalities {
    /// All.
    All,
    /// Only under the name iperf (no use anywhere else).
    Iperf2,
    /// Only under the name tapeline.
    Native,
}

impl Personalities {
    /// Whether the option is known to `personality`.
    pub(crate) fn include(self, personality: Personality) -> bool {
        match self {
            Self::All => true,
            Self::Iperf2 => personality == Personality::Iperf2,
            Self::Native => personality == Personality::Native,
        }
    }
}

/// Whether the option can be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Availability {
    /// With full effect.
    Available,
    /// Recognised so that it can be refused with its reason; no help lists it.
    Refused,
}

/// Which jobs an option applies to; under the name tapeline it is refused elsewhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Sides {
    pub(crate) client: bool,
    pub(crate) server: bool,
    pub(crate) trial: bool,
    pub(crate) exporter: bool,
}

impl Sides {
    const NONE: Self = Self {
        client: false,
        server: false,
        trial: false,
        exporter: false,
    };
    /// Clients.
    pub(crate) const CLIENT: Self = Self {
        client: true,
        ..Self::NONE
    };
    /// Servers.
    pub(crate) const SERVER: Self = Self {
        server: true,
        ..Self::NONE
    };
    /// Clients and servers.
    pub(crate) const BOTH: Self = Self {
        client: true,
        server: true,
        ..Self::NONE
    };
    /// Clients, servers and `try`.
    pub(crate) const ANY: Self = Self {
        trial: true,
        ..Self::BOTH
    };
    /// Servers and `exporter`.
    pub(crate) const OBSERVED: Self = Self {
        exporter: true,
        ..Self::SERVER
    };
    /// Every job.
    pub(crate) const ALL: Self = Self {
        exporter: true,
        ..Self::ANY
    };
}

/// Which methods an option applies to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Methods {
    None,
    All,
    /// Those of these words.
    Only(&'static [&'static str]),
}

impl Methods {
    /// Whether the method of that word is among them.
    pub(crate) fn include(self, word: &str) -> bool {
        match self {
            Self::None => false,
            Self::All => true,
            Self::Only(words) => words.contains(&word),
        }
    }
}

/// Of what kind the value of an option is: what a form asks for, what an order from elsewhere is checked
/// by, and what a shell can complete.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ValueKind {
    /// None: the option is given or not.
    Switch,
    /// An amount with or without a unit.
    Bytes,
    /// Bits per second, or packets.
    Rate,
    Seconds,
    Millis,
    Percent,
    /// A whole number.
    Count,
    /// A port, or a range of ports.
    Port,
    /// A name or an address, perhaps with a port.
    Host,
    /// A list of networks.
    Networks,
    /// One of these words.
    Choice(&'static [&'static str]),
    /// Anything of one line.
    Text,
}

impl ValueKind {
    /// What it is called.
    pub(crate) const fn noun(self) -> &'static str {
        match self {
            Self::Switch => "value",
            Self::Bytes => "amount of bytes",
            Self::Rate => "rate",
            Self::Seconds | Self::Millis => "time",
            Self::Percent => "percentage",
            Self::Count => "whole number",
            Self::Port => "port",
            Self::Host => "host",
            Self::Networks => "list of networks",
            Self::Choice(_) => "word of the list",
            Self::Text => "text",
        }
    }
}

/// Whether somebody elsewhere may give the option in an order (`tapeline remote`, the page).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Remote {
    Yes(ValueKind),
    /// And why not.
    No(&'static str),
}

/// Groups of options in tapeline's own help and in the manual pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Group {
    Mode,
    Addressing,
    Amount,
    Direction,
    /// Shape of the traffic: bursts, frames, payload.
    Traffic,
    /// Delays and responsiveness.
    Latency,
    /// Whole measurement procedures.
    Method,
    Socket,
    /// Who may test, and for how long.
    Access,
    Output,
    Misc,
}

impl Group {
    /// Every group, in the order of the help.
    pub(crate) const ALL: [Self; 11] = [
        Self::Mode,
        Self::Addressing,
        Self::Amount,
        Self::Direction,
        Self::Traffic,
        Self::Latency,
        Self::Method,
        Self::Socket,
        Self::Access,
        Self::Output,
        Self::Misc,
    ];

    /// The heading.
    pub(crate) const fn title(self) -> &'static str {
        match self {
            Self::Mode => "What to do",
            Self::Addressing => "Addresses",
            Self::Amount => "How much, how fast, how long",
            Self::Direction => "Directions",
            Self::Traffic => "Shape of the traffic",
            Self::Latency => "Delays and responsiveness",
            Self::Method => "Methods",
            Self::Socket => "Sockets",
            Self::Access => "Access",
            Self::Output => "Output",
            Self::Misc => "Help",
        }
    }
}

/// Sections of iperf 2's help.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Section {
    Both,
    Server,
    Client,
    Misc,
}

impl Section {
    /// Every section, in iperf 2's order.
    pub(crate) const ALL: [Self; 4] = [Self::Both, Self::Server, Self::Client, Self::Misc];

    /// iperf 2's heading.
    pub(crate) const fn title(self) -> &'static str {
        match self {
            Self::Both => "Client/Server",
            Self::Server => "Server specific",
            Self::Client => "Client specific",
            Self::Misc => "Miscellaneous",
        }
    }
}

/// One line of iperf 2's help: section, argument, text.
pub(crate) type Listing = (Section, &'static str, &'static str);

/// What an option that was given does to the settings.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Effect {
    /// Nothing: it is accepted, or known beforehand.
    None,
    /// A switch's.
    Sets(fn(&mut Settings)),
    /// That of a value, or of a switch that can be wrong.
    Reads(fn(&mut Settings, &Given, &mut Diagnostics) -> Result<(), Exit>),
}

/// One row of the table.
#[derive(Clone, Copy, Debug)]
pub(crate) struct OptionSpec {
    pub(crate) id: OptionId,
    pub(crate) short: Option<char>,
    /// Name after `--`; empty for the few that have only a letter.
    pub(crate) long: &'static str,
    /// Second name with the same rights (it may be abbreviated).
    pub(crate) alias: Option<&'static str>,
    /// Names that manuals mention although iperf 2.2.1 does not know them. Only the whole
    /// word is accepted, so that no abbreviation changes its meaning.
    pub(crate) manual_names: &'static [&'static str],
    /// Names that it had once: the whole word is accepted, and nothing shows it.
    pub(crate) former_names: &'static [&'static str],
    pub(crate) arity: Arity,
    pub(crate) remote: Remote,
    pub(crate) personalities: Personalities,
    pub(crate) availability: Availability,
    pub(crate) sides: Sides,
    pub(crate) methods: Methods,
    /// Environment variable and its place in the order of reading.
    pub(crate) variable: Option<(u8, &'static str)>,
    pub(crate) group: Group,
    /// Value as shown in tapeline's help.
    pub(crate) value_name: &'static str,
    /// One line of help.
    pub(crate) help: &'static str,
    /// What `--help` and the manual pages add.
    pub(crate) details: &'static str,
    /// What is so under the name tapeline only.
    pub(crate) native_details: &'static str,
    /// `help` and `details` under the name iperf, where they differ.
    pub(crate) iperf2_words: Option<(&'static str, &'static str)>,
    /// Lines of iperf 2's help.
    pub(crate) listings: &'static [Listing],
    pub(crate) effect: Effect,
}

impl OptionSpec {
    /// A switch that is available everywhere.
    pub(crate) const fn new(
        id: OptionId,
        short: Option<char>,
        long: &'static str,
        remote: Remote,
    ) -> Self {
        Self {
            id,
            short,
            long,
            alias: None,
            manual_names: &[],
            former_names: &[],
            arity: Arity::Switch,
            remote,
            personalities: Personalities::All,
            availability: Availability::Available,
            sides: Sides::BOTH,
            methods: Methods::None,
            variable: None,
            group: Group::Misc,
            value_name: "",
            help: "",
            details: "",
            native_details: "",
            iperf2_words: None,
            listings: &[],
            effect: Effect::None,
        }
    }

    /// Takes a value.
    pub(crate) const fn value(mut self, value_name: &'static str) -> Self {
        self.arity = Arity::Required;
        self.value_name = value_name;
        self
    }

    /// Takes a value behind `=`, or none.
    pub(crate) const fn optional_value(mut self, value_name: &'static str) -> Self {
        self.arity = Arity::Optional;
        self.value_name = value_name;
        self
    }

    /// Is refused wherever it is given.
    pub(crate) const fn refused(mut self) -> Self {
        self.availability = Availability::Refused;
        self
    }

    /// Has a second name.
    pub(crate) const fn alias(mut self, alias: &'static str) -> Self {
        self.alias = Some(alias);
        self
    }

    /// Is called so in manuals.
    pub(crate) const fn manual_names(mut self, names: &'static [&'static str]) -> Self {
        self.manual_names = names;
        self
    }

    /// Had these names once.
    pub(crate) const fn formerly(mut self, names: &'static [&'static str]) -> Self {
        self.former_names = names;
        self
    }

    /// Is known only under some names of the program.
    pub(crate) const fn only(mut self, personalities: Personalities) -> Self {
        self.personalities = personalities;
        self
    }

    /// Applies to these jobs.
    pub(crate) const fn sides(mut self, sides: Sides) -> Self {
        self.sides = sides;
        self
    }

    /// Applies to every method.
    pub(crate) const fn every_method(mut self) -> Self {
        self.methods = Methods::All;
        self
    }

    /// Applies to these methods and to no other job.
    pub(crate) const fn methods_only(mut self, methods: Methods) -> Self {
        self.personalities = Personalities::Native;
        self.sides = Sides::NONE;
        self.methods = methods;
        self
    }

    /// Can be set by an environment variable, the `rank`-th that is read.
    pub(crate) const fn variable(mut self, rank: u8, name: &'static str) -> Self {
        self.variable = Some((rank, name));
        self
    }

    /// Sets something.
    pub(crate) const fn sets(mut self, effect: fn(&mut Settings)) -> Self {
        self.effect = Effect::Sets(effect);
        self
    }

    /// Reads its value, or does what else a switch cannot.
    pub(crate) const fn apply(
        mut self,
        effect: fn(&mut Settings, &Given, &mut Diagnostics) -> Result<(), Exit>,
    ) -> Self {
        self.effect = Effect::Reads(effect);
        self
    }

    /// Help under the name tapeline.
    pub(crate) const fn help(mut self, group: Group, help: &'static str) -> Self {
        self.group = group;
        self.help = help;
        self
    }

    /// What `--help` and the manual pages add.
    pub(crate) const fn details(mut self, details: &'static str) -> Self {
        self.details = details;
        self
    }

    /// What they add under the name tapeline only.
    pub(crate) const fn native_details(mut self, details: &'static str) -> Self {
        self.native_details = details;
        self
    }

    /// What the manual page and the completions of the name iperf say instead.
    pub(crate) const fn iperf2_words(mut self, help: &'static str, details: &'static str) -> Self {
        self.iperf2_words = Some((help, details));
        self
    }

    /// Help under the name iperf.
    pub(crate) const fn listed(mut self, listings: &'static [Listing]) -> Self {
        self.listings = listings;
        self
    }

    /// `-l` or, without a letter, `--name`.
    pub(crate) fn shortest_name(&self) -> String {
        match (self.short, self.long_name()) {
            (Some(letter), _) => format!("-{letter}"),
            (None, name) => format!("--{}", name.unwrap_or_default()),
        }
    }

    /// The name behind `--` that is shown: the option's own, or the one that manuals use for
    /// an option without a letter. `-4` and `-6` have none.
    pub(crate) fn long_name(&self) -> Option<&'static str> {
        match (self.long, self.short) {
            ("", None) => self.manual_names.first().copied(),
            ("", Some(_)) => None,
            (name, _) => Some(name),
        }
    }

    /// One line of help under a name, and what `--help` and the manual pages add.
    pub(crate) fn words(&self, personality: Personality) -> (&'static str, &'static str) {
        match (personality, self.iperf2_words) {
            (Personality::Iperf2, Some(words)) => words,
            _ => (self.help, self.details),
        }
    }

    /// Help, and what is to be added under a name, as sentences.
    pub(crate) fn explanation(&self, personality: Personality) -> String {
        let (help, details) = self.words(personality);
        let mut letters = help.chars();
        let first = letters.next().map(|letter| letter.to_ascii_uppercase());
        let first: String = first.into_iter().chain(letters).collect();
        let native = match personality {
            Personality::Native => self.native_details,
            Personality::Iperf2 => "",
        };
        let parts = [&format!("{first}."), details, native];
        let parts: Vec<&str> = parts.into_iter().filter(|part| !part.is_empty()).collect();
        parts.join(" ")
    }

    /// The value as it is written behind the name: ` BYTES`, `[=BYTES]`, or nothing.
    pub(crate) fn shown_value(&self) -> String {
        match self.arity {
            Arity::Switch => String::new(),
            Arity::Required => format!(" {}", self.value_name),
            Arity::Optional => format!("[={}]", self.value_name),
        }
    }
}

/// Where an option came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Origin {
    CommandLine,
    Environment(&'static str),
    /// A file, which `spelled` names with the line.
    File,
}

/// An option with its value, as given.
#[derive(Clone, Debug)]
pub(crate) struct Given {
    pub(crate) spec: &'static OptionSpec,
    /// `-l`, `--len`, `IPERF_LEN`.
    pub(crate) spelled: String,
    /// Present when the arity asks for it.
    pub(crate) value: Option<OsString>,
    pub(crate) origin: Origin,
    /// The value was attached with `=` to a letter (`-P=4`), which iperf 2 reads as `=4`.
    pub(crate) letter_with_equals: bool,
}

impl Given {
    /// The value as text; bytes that are no UTF-8 become replacement characters.
    pub(crate) fn text(&self) -> String {
        self.value
            .as_ref()
            .map_or_else(String::new, |value| value.to_string_lossy().into_owned())
    }

    /// `option -l` or `variable IPERF_LEN`, for messages.
    pub(crate) fn named(&self) -> String {
        match self.origin {
            Origin::CommandLine => format!("option {}", self.spelled),
            Origin::Environment(name) => format!("variable {name}"),
            Origin::File => self.spelled.clone(),
        }
    }
}

/// One piece of the command line.
pub(crate) type RawItem = Piece<Given>;

/// The command line, cut into pieces.
#[derive(Clone, Debug, Default)]
pub(crate) struct RawArgs {
    /// Options from a server's file, in the order of its lines.
    pub(crate) file: Vec<Given>,
    /// Options from environment variables, in the order of reading.
    pub(crate) environment: Vec<Given>,
    /// Pieces of the command line.
    pub(crate) line: Vec<RawItem>,
}
