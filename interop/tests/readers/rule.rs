//! What a rule is.

use std::fmt;

use interop::Program;

/// Whose output a rule reads.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Family {
    Iperf2,
    Iperf3,
}

impl Family {
    /// The reference and tapeline in its place.
    pub(crate) const fn programs(self) -> [Program; 2] {
        match self {
            Self::Iperf2 => [Program::Iperf221, Program::TapelineAsIperf],
            Self::Iperf3 => [Program::Iperf3V22, Program::TapelineAsIperf3],
        }
    }

    /// The servers of tapeline's runs: a client may have either, a server is read itself.
    pub(crate) const fn servers(self, side: Side) -> &'static [Program] {
        use Program::{Iperf3V22, Iperf221, TapelineAsIperf, TapelineAsIperf3};
        match (self, side) {
            (Self::Iperf2, Side::Client) => &[TapelineAsIperf, Iperf221],
            (Self::Iperf2, Side::Server) => &[TapelineAsIperf],
            (Self::Iperf3, Side::Client) => &[TapelineAsIperf3, Iperf3V22],
            (Self::Iperf3, Side::Server) => &[TapelineAsIperf3],
        }
    }
}

/// The end whose output is read.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Side {
    Client,
    Server,
}

impl fmt::Display for Side {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Client => "of a client of",
            Self::Server => "of the server",
        })
    }
}

/// How an output is read.
#[derive(Clone, Copy)]
pub(crate) enum Read {
    /// Expressions whose named groups are fields, wherever they match.
    Lines(&'static [&'static str]),
    /// Lines of so many values with commas between them; fields have names and places.
    Columns(usize, &'static [(&'static str, usize)]),
    /// The same, named by the first line.
    Headed,
    /// One JSON document; fields are paths in it.
    Document,
    /// A line of JSON for each event; fields are paths below the event's name.
    Events,
}

/// What the values of a field may be.
#[derive(Clone, Copy)]
pub(crate) enum Plausible {
    /// A number within these bounds.
    Between(f64, f64),
    /// The same, and none below half of their mean: readers print the least, the most and the mean.
    Steady(f64, f64),
    /// A text that is not empty.
    Text,
    /// A truth.
    Truth,
    /// An object: it has the keys that the reference gives it.
    Keys,
}

/// A number above zero.
pub(crate) const POSITIVE: Plausible = Plausible::Between(f64::MIN_POSITIVE, f64::MAX);
/// A number that may be zero.
pub(crate) const COUNT: Plausible = Plausible::Between(0.0, f64::MAX);
/// A share in percent.
pub(crate) const PERCENT: Plausible = Plausible::Between(0.0, 100.0);

/// What one program of others does with an output.
pub(crate) struct Rule {
    pub(crate) name: &'static str,
    pub(crate) family: Family,
    /// Options behind `-s -p PORT`, and behind `-c HOST -p PORT`.
    pub(crate) server: &'static str,
    pub(crate) client: &'static str,
    /// A variable that is set at both ends.
    pub(crate) variable: Option<&'static str>,
    pub(crate) side: Side,
    pub(crate) read: Read,
    pub(crate) fields: &'static [(&'static str, Plausible)],
}

impl Rule {
    /// A rule for a client's output that has no fields yet.
    pub(crate) const fn new(
        family: Family,
        name: &'static str,
        client: &'static str,
        read: Read,
        fields: &'static [(&'static str, Plausible)],
    ) -> Self {
        Self {
            name,
            family,
            server: "",
            client,
            variable: None,
            side: Side::Client,
            read,
            fields,
        }
    }

    /// The server has these options.
    pub(crate) const fn served(mut self, server: &'static str) -> Self {
        self.server = server;
        self
    }

    /// It reads the server's output.
    pub(crate) const fn at_server(mut self) -> Self {
        self.side = Side::Server;
        self
    }

    /// With this variable in the environment.
    pub(crate) const fn with(mut self, variable: &'static str) -> Self {
        self.variable = Some(variable);
        self
    }
}
