//! How results are shown: everything about the output that the command line decides.

use std::path::PathBuf;

use tapeline_base::FormatLetter;

/// Which renderer writes the report.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TextStyle {
    /// iperf 2.2.1's text, layout to the column.
    Iperf2Text,
    /// tapeline's own text.
    Native,
    /// iperf 2.2.1's comma-separated values (`-y C`).
    Csv,
}

/// Parts of the report that `-x` leaves out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Exclusions {
    /// `C`: connection lines.
    pub connections: bool,
    /// `D`: interval rows.
    pub data: bool,
    /// `M`: sum rows.
    pub sums: bool,
    /// `S`: the settings banner.
    pub settings: bool,
    /// `V`: the server's report at the client.
    pub server_reports: bool,
}

/// The output that was asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Presentation {
    /// Renderer.
    pub style: TextStyle,
    /// `-e`: enhanced rows and banner.
    pub enhanced: bool,
    /// `-f`.
    pub format: FormatLetter,
    /// `--hide-ips`.
    pub hide_addresses: bool,
    /// `--utc`: dates in coordinated universal time.
    pub utc: bool,
    /// `-x`.
    pub exclude: Exclusions,
    /// `--sum-only`: only sums and banners.
    pub sum_only: bool,
    /// `-o`: append the report to this file; `None` is standard output.
    pub output_file: Option<PathBuf>,
}

impl Presentation {
    /// The default output in a style.
    #[must_use]
    pub fn new(style: TextStyle) -> Self {
        Self {
            style,
            enhanced: false,
            format: FormatLetter::default(),
            hide_addresses: false,
            utc: false,
            exclude: Exclusions::default(),
            sum_only: false,
            output_file: None,
        }
    }
}
