//! Choices of the reader: what is shown, and how.

use tapeline_base::FormatLetter;

/// Kinds of lines left out (`-x`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Exclude {
    /// `C`: connection lines.
    pub connection: bool,
    /// `S`: settings banners.
    pub settings: bool,
    /// `D`: rows of single flows.
    pub data: bool,
    /// `M`: rows of sums.
    pub sums: bool,
    /// `V`: the server report of a UDP client.
    pub server_report: bool,
}

/// Which build of iperf 2.2.1 the text is that of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Build {
    /// As `./configure` makes it: times in hundredths of a second.
    #[default]
    Plain,
    /// `./configure --enable-fastsampling`, which the packages of Debian and Ubuntu are: times with four
    /// decimals, and wider headers.
    FastSampling,
}

impl Build {
    /// Decimals of the seconds at which a row begins and ends.
    #[must_use]
    pub const fn decimals(self) -> usize {
        match self {
            Self::Plain => 2,
            Self::FastSampling => 4,
        }
    }
}

/// How much of a test tapeline's own text shows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Amount {
    /// Setup, intervals, totals and the result block.
    #[default]
    Usual,
    /// `-q`: the result block.
    Quiet,
    /// `--brief`: one line of keys and values.
    Brief,
}

/// How a test is told. Renderers of fixed formats ignore what does not concern them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Style {
    /// `-e`: enhanced rows.
    pub enhanced: bool,
    /// `-f`: units of transfer and rate.
    pub format: FormatLetter,
    /// `--hide-ips`: IPv4 addresses keep their last byte only.
    pub hide_addresses: bool,
    /// `--utc`: dates in UTC instead of local time.
    pub utc: bool,
    /// `-x`: kinds of lines left out.
    pub exclude: Exclude,
    /// `--sum-only`: sums, banners and server reports only.
    pub sum_only: bool,
    /// `-i` was given: interval rows will come.
    pub interval: bool,
    /// `--fast-sampling`: the build of iperf whose text it is.
    pub build: Build,
    /// `-q`, `--brief`.
    pub amount: Amount,
}

/// The device that shows the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Terminal {
    /// It understands ANSI colours and the user wants them.
    pub colour: bool,
    /// Columns.
    pub width: usize,
    /// It shows characters beyond ASCII.
    pub unicode: bool,
}

impl Default for Terminal {
    /// A pipe or a file: no colour, no width limit to speak of, ASCII.
    fn default() -> Self {
        Self {
            colour: false,
            width: 120,
            unicode: false,
        }
    }
}
