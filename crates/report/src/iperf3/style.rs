//! What the program adds to the events.

use tapeline_base::FormatLetter;

/// How iperf3's forms report a test, and what no event says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Iperf3Style {
    /// `version`: `iperf 3.21+`.
    pub version: String,
    /// `system_info`: name, host, release, version and machine of the system.
    pub system_info: String,
    /// `-f`: unit of rates (text).
    pub format: FormatLetter,
    /// `-V` (text).
    pub verbose: bool,
    /// `-T`: begins each line (text).
    pub title: Option<String>,
    /// `-1`: a server listens no more after a test (text).
    pub one_off: bool,
    /// `--json-stream-full-output`: the document follows the events.
    pub full_output: bool,
}

/// The form in which a server's output is shown to its client.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Iperf3Output {
    /// As a document, else as text.
    pub json: bool,
    /// How it is reported.
    pub style: Iperf3Style,
}
