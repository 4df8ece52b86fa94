//! A row of the targets: a workload, who takes part, and the bars.

use std::fmt;

use super::contender::Contender;
use super::quantity::{Bound, Quantity};

/// What a row measures.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Workload {
    /// TCP streams.
    Streams(Streams),
    /// UDP as fast as it goes, in so many flows of datagrams of so many bytes.
    Flood { length: u32, flows: usize },
    /// UDP at a rate in bits per second, as a third party sees it.
    Paced { rate: u64 },
    /// Requests and responses, one at a time.
    Exchange { transport: Transport, place: Place },
    /// Connections without data.
    Connects,
    /// `-v`, again and again.
    Starts,
    /// `-v` once, stopped at its first word.
    StartMemory,
    /// A server that nobody calls.
    Idle,
}

/// What carries requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Transport {
    Tcp,
    Udp,
}

/// Where both ends run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Place {
    /// Where the system puts them.
    Free,
    /// Both on the first processor.
    OneProcessor,
}

/// TCP streams and their options.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Streams {
    /// `-P`.
    pub(crate) count: u32,
    pub(crate) direction: Direction,
    /// `-l`, as typed.
    pub(crate) length: Option<&'static str>,
    /// `-N`.
    pub(crate) nodelay: bool,
    /// `-b`, as typed.
    pub(crate) rate: Option<&'static str>,
    /// Seconds of a run, where the row fixes them.
    pub(crate) seconds: Option<f64>,
}

/// Where data flow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Direction {
    Forward,
    Reverse,
    Duplex,
}

impl Streams {
    /// One stream with all defaults.
    pub(crate) const ONE: Self = Self::many(1);

    /// So many streams.
    pub(crate) const fn many(count: u32) -> Self {
        Self {
            count,
            direction: Direction::Forward,
            length: None,
            nodelay: false,
            rate: None,
            seconds: None,
        }
    }
}

/// Whom a bar compares with.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Against {
    /// The best of the other contenders that are here.
    Best,
    /// One of them.
    Peer(Contender),
    /// Nobody: the value itself is bounded.
    Nobody,
}

/// A bar of a row.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Bar {
    /// Its row in the targets; 0 for those of techniques.
    pub(crate) number: u32,
    pub(crate) quantity: Quantity,
    pub(crate) against: Against,
    pub(crate) must: Bound,
    pub(crate) stretch: Option<Bound>,
    /// The only path that it holds on.
    pub(crate) only: Option<PathKind>,
}

impl Bar {
    /// A bar against the best peer.
    pub(crate) const fn new(number: u32, quantity: Quantity, must: Bound) -> Self {
        Self {
            number,
            quantity,
            against: Against::Best,
            must,
            stretch: None,
            only: None,
        }
    }

    pub(crate) const fn against(self, against: Against) -> Self {
        Self { against, ..self }
    }

    pub(crate) const fn stretch(self, bound: Bound) -> Self {
        Self {
            stretch: Some(bound),
            ..self
        }
    }

    pub(crate) const fn only(self, path: PathKind) -> Self {
        Self {
            only: Some(path),
            ..self
        }
    }
}

/// Where the data of a row go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PathKind {
    Loopback,
    Veth,
}

impl fmt::Display for PathKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Loopback => "loopback",
            Self::Veth => "veth",
        })
    }
}

/// Which congestion control is in force.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Congestion {
    Cubic,
    /// The system's default.
    System,
}

impl Congestion {
    /// Its name in commands, where one has to be given.
    pub(crate) const fn name(self) -> Option<&'static str> {
        match self {
            Self::Cubic => Some("cubic"),
            Self::System => None,
        }
    }
}

impl fmt::Display for Congestion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Cubic => f.write_str("cubic"),
            Self::System => {
                let path = "/proc/sys/net/ipv4/tcp_congestion_control";
                let name = std::fs::read_to_string(path).unwrap_or_default();
                write!(f, "system default ({})", name.trim())
            }
        }
    }
}

/// A row: what is measured, who takes part, which bars hold.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Row {
    /// Its name, for `--rows`.
    pub(crate) name: String,
    /// What a reader sees.
    pub(crate) title: String,
    pub(crate) workload: Workload,
    /// Ours first.
    pub(crate) contenders: Vec<Contender>,
    pub(crate) paths: &'static [PathKind],
    /// Nothing where no TCP is in play.
    pub(crate) congestion: &'static [Congestion],
    pub(crate) bars: Vec<Bar>,
    /// Bars with the system's congestion control.
    pub(crate) system_bars: Vec<Bar>,
    /// Who should take part and cannot be had.
    pub(crate) absent: &'static str,
}

impl Row {
    /// Whether a word of `--rows` means it: a number of the targets, or a part of its name.
    pub(crate) fn is_meant(&self, word: &str) -> bool {
        match word.parse::<u32>() {
            Ok(number) => self.bars.iter().any(|bar| bar.number == number),
            Err(_) => self.name.contains(word),
        }
    }

    /// The bars that hold on a path, with a congestion control.
    pub(crate) fn bars_on(
        &self,
        path: Option<PathKind>,
        congestion: Option<Congestion>,
    ) -> Vec<Bar> {
        let bars = match congestion {
            Some(Congestion::System) => &self.system_bars,
            _ => &self.bars,
        };
        let holds = |bar: &&Bar| bar.only.is_none() || bar.only == path;
        bars.iter().filter(holds).copied().collect()
    }
}
