//! What a file can be.

use std::fmt;

/// What a file can be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Reports and series of tapeline.
    Tapeline,
    /// iperf3's `-J` and `--json-stream`.
    Iperf3Json,
    /// iperf 2's `-y C`.
    Iperf2Csv,
    /// The text of iperf 1.7 to 2.2.1.
    Iperf2Text,
    /// The text of iperf3.
    Iperf3Text,
}

impl Kind {
    /// All of them.
    pub const ALL: [Self; 5] = [
        Self::Tapeline,
        Self::Iperf3Json,
        Self::Iperf2Csv,
        Self::Iperf2Text,
        Self::Iperf3Text,
    ];

    /// Its name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Tapeline => "tapeline",
            Self::Iperf3Json => "iperf3-json",
            Self::Iperf2Csv => "iperf2-csv",
            Self::Iperf2Text => "iperf2-text",
            Self::Iperf3Text => "iperf3-text",
        }
    }

    /// The kind of this name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == name)
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
