//! What a method's page needs besides its result.

use tapeline_base::FormatLetter;

use super::pass::PassResult;
use super::phase::Direction;
use crate::native::hanging;

/// What the page says where a peer cannot tell.
pub const NOT_KNOWN: &str = "not known with this peer";
/// What it says of a phase that was not over.
pub const NOT_MEASURED: &str = "not measured";

/// How a page is laid out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PageStyle {
    /// It may have characters beyond ASCII.
    pub unicode: bool,
    /// It may have ANSI colours.
    pub colour: bool,
    /// Columns, at most 80.
    pub width: usize,
    /// `-f`: unit of rates in sentences.
    pub format: FormatLetter,
}

impl Default for PageStyle {
    /// 80 columns of plain ASCII.
    fn default() -> Self {
        Self {
            unicode: false,
            colour: false,
            width: 80,
            format: FormatLetter::default(),
        }
    }
}

impl PageStyle {
    /// Sentences in the width of the page, every line ended.
    #[must_use]
    pub fn paragraph(&self, text: &str) -> String {
        let mut lines = hanging("", text, self.width).join("\n");
        lines.push('\n');
        lines
    }
}

/// Who measured what, when, and how that ended.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct MethodHead {
    /// The method's word: `mtu`.
    pub method: &'static str,
    /// The standard that it follows: `RFC 6349`.
    pub standard: &'static str,
    /// Version of this program.
    pub version: String,
    /// The host as typed.
    pub host: String,
    /// Its port.
    pub port: u16,
    /// Its address, once it is known.
    pub address: Option<std::net::IpAddr>,
    /// The other end in words: `tapeline 0.2.0`, `iperf 2.2.1`, `iperf3`; `None` while not known.
    pub peer: Option<String>,
    /// What was typed for `-Z`; `None` leaves the choice to the system.
    pub congestion: Option<String>,
    /// Directions that were asked for.
    pub directions: Vec<Direction>,
    /// How long it took, seconds.
    pub seconds: f64,
    /// It ended before its end: by a signal, a failure, or the budget.
    pub interrupted: bool,
    /// How the criteria came out.
    pub pass: Vec<PassResult>,
    /// Where it leaves the letter of the standard.
    pub deviations: Vec<String>,
}

impl MethodHead {
    /// The host without the address behind it, or with: `router (192.0.2.10)`.
    #[must_use]
    pub fn target(&self) -> String {
        match self.address {
            Some(address) if address.to_string() != self.host => {
                format!("{} ({address})", self.host)
            }
            _ => self.host.clone(),
        }
    }

    /// `IPv4` or `IPv6`, once it is known.
    #[must_use]
    pub fn family(&self) -> Option<&'static str> {
        self.address
            .map(|address| if address.is_ipv6() { "IPv6" } else { "IPv4" })
    }

    /// What a number reads that has none: it was not measured in time, or the peer cannot tell.
    #[must_use]
    pub fn missing(&self) -> &'static str {
        if self.interrupted {
            NOT_MEASURED
        } else {
            NOT_KNOWN
        }
    }
}
