//! How results are shown: everything about the output that the command line decides.

use std::fmt;
use std::path::PathBuf;

use tapeline_base::FormatLetter;
use tapeline_report::{Amount, Build, Terminal};

/// Which renderer writes the report.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TextStyle {
    /// iperf 2.2.1's text, layout to the column.
    Iperf2Text,
    /// tapeline's own text.
    Native,
    /// iperf 2.2.1's comma-separated values (`-y C`).
    Csv,
    /// iperf3 3.22's.
    Iperf3(Iperf3Form),
    /// tapeline's own, for programs.
    Document(DocumentForm),
}

/// Forms of tapeline's own report for programs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DocumentForm {
    /// `--json`: a document for each test.
    Json,
    /// `--json-stream`: a line of JSON for each event.
    Stream,
    /// `--csv`: a row for each flow and interval.
    Csv,
    /// `--html`: a page.
    Html,
    /// `--repeat-csv`: a row for each mean of a series.
    SeriesCsv,
}

impl DocumentForm {
    /// Whether it is of several runs.
    pub(crate) fn is_of_series(self) -> bool {
        self == Self::SeriesCsv
    }
}

/// A form that goes to a file of its own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DocumentFile {
    /// The form.
    pub form: DocumentForm,
    /// The file.
    pub path: PathBuf,
}

/// The forms that iperf3 has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Iperf3Form {
    /// Lines of text.
    Text,
    /// `-J`: a document for each test.
    Json,
    /// `--json-stream`: a line of JSON for each event.
    Stream {
        /// `--json-stream-full-output`: the document follows.
        full: bool,
    },
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

/// Whether output has colours.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Color {
    /// On a terminal, unless the environment forbids it (`NO_COLOR`, `CLICOLOR=0`, `TERM=dumb`).
    #[default]
    Auto,
    /// Wherever it goes.
    Always,
    /// Nowhere.
    Never,
}

/// Where results are kept, and how they are marked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SavePlan {
    /// The file.
    pub file: PathBuf,
    /// Words to find the results by.
    pub tags: Vec<(String, String)>,
    /// Bytes that the file may have.
    pub most_bytes: u64,
    /// A full file loses old results.
    pub drops_runs: bool,
}

/// Forms that events of `--json-stream` hold, for whoever ordered the test and shows them elsewhere.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rendering {
    /// The forms.
    pub forms: Vec<TextStyle>,
    /// What shows the text.
    pub terminal: Terminal,
    /// What shows warnings.
    pub errors: Terminal,
    /// The text goes to a file there.
    pub to_file: bool,
}

/// Forms that can be shown elsewhere, and their names in `--rendered`.
const SHOWN_ELSEWHERE: [(&str, TextStyle); 6] = [
    ("text", TextStyle::Native),
    ("json", TextStyle::Document(DocumentForm::Json)),
    ("json-stream", TextStyle::Document(DocumentForm::Stream)),
    ("csv", TextStyle::Document(DocumentForm::Csv)),
    ("html", TextStyle::Document(DocumentForm::Html)),
    ("repeat-csv", TextStyle::Document(DocumentForm::SeriesCsv)),
];

impl Rendering {
    /// What a form is called; none of a form that belongs to another program.
    pub(crate) fn name(form: TextStyle) -> Option<&'static str> {
        let mut known = SHOWN_ELSEWHERE.iter();
        known
            .find(|(_, known)| *known == form)
            .map(|(name, _)| *name)
    }

    /// Reads `text,csv,width=80,unicode,errors-colour`: forms, and what shows them.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let mut rendering = Self {
            forms: Vec::new(),
            terminal: Terminal::default(),
            errors: Terminal::default(),
            to_file: false,
        };
        for word in text.split(',') {
            let form = SHOWN_ELSEWHERE.iter().find(|(name, _)| *name == word);
            if let Some((_, form)) = form {
                rendering.forms.push(*form);
                continue;
            }
            if word == "file" {
                rendering.to_file = true;
                continue;
            }
            let (device, word) = match word.strip_prefix("errors-") {
                Some(word) => (&mut rendering.errors, word),
                None => (&mut rendering.terminal, word),
            };
            match (word, word.strip_prefix("width=")) {
                ("unicode", _) => device.unicode = true,
                ("colour", _) => device.colour = true,
                (_, Some(width)) => device.width = width.parse().ok()?,
                _ => return None,
            }
        }
        Some(rendering)
    }
}

/// As [`Rendering::parse`] reads it.
impl fmt::Display for Rendering {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = self.forms.iter().filter_map(|form| Self::name(*form));
        f.write_str(&names.collect::<Vec<_>>().join(","))?;
        for (device, prefix) in [(&self.terminal, ""), (&self.errors, "errors-")] {
            write!(f, ",{prefix}width={}", device.width)?;
            for (has, word) in [(device.unicode, "unicode"), (device.colour, "colour")] {
                if has {
                    write!(f, ",{prefix}{word}")?;
                }
            }
        }
        f.write_str(if self.to_file { ",file" } else { "" })
    }
}

/// The output that was asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Presentation {
    /// Renderer.
    pub style: TextStyle,
    /// iperf 2's enhanced rows and banner: `-e`, and options that bring them.
    pub enhanced: bool,
    /// `-e`: more of tapeline's own text.
    pub details: bool,
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
    /// `--fast-sampling`: the build of iperf 2.2.1 whose text it is.
    pub build: Build,
    /// `-q`, `--brief`: how much tapeline's own text shows.
    pub amount: Amount,
    /// `--color`.
    pub color: Color,
    /// `-o`: append the report to this file; `None` is standard output.
    pub output_file: Option<PathBuf>,
    /// `--json=FILE` and the like: written beside the other output.
    pub files: Vec<DocumentFile>,
    /// `--rendered`: forms that events of `--json-stream` hold.
    pub rendered: Option<Rendering>,
    /// `--tui`: a live view on the terminal.
    pub view: bool,
    /// `--metrics`: where a server's metrics are, as typed.
    pub metrics: Option<String>,
    /// `--save`: results are kept.
    pub save: Option<SavePlan>,
    /// `--fail-if-host-limited`: a test that a host limited is a failure.
    pub fail_if_host_limited: bool,
    /// `--exclusive`: the file whose lock is held while the test runs.
    pub exclusive: Option<PathBuf>,
    /// `--logfile`: lines of standard error go to the file too.
    pub errors_to_file: bool,
    /// `-V` (iperf3).
    pub verbose: bool,
    /// `-T` (iperf3): begins each line of text.
    pub title: Option<String>,
    /// `-1` (iperf3): the server listens no more after a test.
    pub one_off: bool,
    /// `--timestamps`: each line begins with the time in this format of strftime(3).
    pub timestamps: Option<String>,
    /// `-d` (iperf3): events are shown as they are, from 1 (few) to 4 (all); 0 shows none.
    pub debug: u8,
}

impl Presentation {
    /// The default output in a style.
    #[must_use]
    pub fn new(style: TextStyle) -> Self {
        Self {
            style,
            enhanced: false,
            details: false,
            format: FormatLetter::default(),
            hide_addresses: false,
            utc: false,
            exclude: Exclusions::default(),
            sum_only: false,
            build: Build::default(),
            amount: Amount::default(),
            color: Color::default(),
            output_file: None,
            files: Vec::new(),
            rendered: None,
            view: false,
            metrics: None,
            save: None,
            fail_if_host_limited: false,
            exclusive: None,
            errors_to_file: false,
            verbose: false,
            title: None,
            one_off: false,
            timestamps: None,
            debug: 0,
        }
    }

    /// Whether any output is for programs.
    pub(crate) fn has_documents(&self) -> bool {
        matches!(self.style, TextStyle::Document(_)) || !self.files.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_shows_forms_elsewhere_is_read_as_it_is_written() {
        let rendering = Rendering {
            forms: vec![TextStyle::Native, TextStyle::Document(DocumentForm::Csv)],
            terminal: Terminal {
                width: 80,
                unicode: true,
                colour: false,
            },
            errors: Terminal {
                width: usize::MAX,
                unicode: false,
                colour: true,
            },
            to_file: true,
        };
        assert_eq!(Rendering::parse(&rendering.to_string()), Some(rendering));
        for text in ["", "text,", "word", "text,width=x", "errors-text"] {
            assert_eq!(Rendering::parse(text), None, "{text}");
        }
    }
}
