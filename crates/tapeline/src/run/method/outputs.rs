//! Where a method's results go, each in its form.

use std::io::Write;

use tapeline_base::{Clock, ExitCode, Role};
use tapeline_report::method::{
    MethodDocument, MethodHead, MethodPage, MethodSeriesDocument, MethodStream, PageStyle,
    PhaseRecord, TrialRecord, series_text, text,
};
use tapeline_report::{Terminal, Warning};
use tapeline_sys::{SystemClock, reason};

use crate::files::output_file;
use crate::message::{self, CliMessage};
use crate::presentation::{DocumentForm, Presentation, TextStyle};
use crate::run::printer;

/// Widest page, columns.
const WIDEST: usize = 80;

/// An output that is open.
struct Place {
    form: TextStyle,
    writer: Box<dyn Write + Send>,
    /// A write failed: nothing more is written.
    failed: bool,
    is_stdout: bool,
}

/// All outputs of a method.
pub(crate) struct Outputs {
    places: Vec<Place>,
    style: PageStyle,
    ascii: PageStyle,
}

impl Outputs {
    /// Opens them.
    ///
    /// # Errors
    /// The exit code, when one cannot be had; the reason has been printed.
    pub(crate) fn open(presentation: &Presentation) -> Result<Self, ExitCode> {
        let main = (presentation.style, presentation.output_file.as_deref());
        let files = presentation.files.iter();
        let files = files.map(|file| (TextStyle::Document(file.form), Some(file.path.as_path())));
        let mut places = Vec::new();
        for (form, path) in std::iter::once(main).chain(files) {
            let writer = output_file::open(form, path, Role::Client).map_err(|said| {
                // Without standard error the exit code says the same.
                let _ = message::print(&[said]);
                ExitCode::Failure
            })?;
            places.push(Place {
                form,
                writer,
                failed: false,
                is_stdout: path.is_none(),
            });
        }
        let Terminal {
            colour,
            width,
            unicode,
        } = printer::terminal(presentation.output_file.is_none());
        let ascii = PageStyle {
            format: presentation.format,
            ..PageStyle::default()
        };
        Ok(Self {
            places,
            style: PageStyle {
                unicode,
                colour,
                width: width.min(WIDEST),
                ..ascii
            },
            ascii,
        })
    }

    /// A phase begins, ends, or is left out.
    pub(crate) fn phase(&mut self, phase: &PhaseRecord) {
        self.stream(&MethodStream::phase(phase, SystemClock.wall()));
    }

    /// A trial has ended.
    pub(crate) fn trial(&mut self, trial: &TrialRecord) {
        self.stream(&MethodStream::trial(trial, SystemClock.wall()));
    }

    /// Something to know.
    pub(crate) fn warning(&mut self, warning: &Warning) {
        self.stream(&MethodStream::warning(warning, SystemClock.wall()));
    }

    /// A run of several has ended.
    pub(crate) fn run_ended(&mut self, document: &MethodDocument) {
        self.stream(&MethodStream::end(document, SystemClock.wall()));
    }

    fn stream(&mut self, line: &str) {
        for place in &mut self.places {
            if place.form == TextStyle::Document(DocumentForm::Stream) {
                place.write(line);
            }
        }
    }

    /// Writes what one run came to; whether all of it could be written.
    pub(crate) fn finish(mut self, document: &MethodDocument, head: &MethodHead) -> bool {
        self.run_ended(document);
        let shown = text(document, head, &self.style);
        let plain = text(document, head, &self.ascii);
        self.whole(MethodPage::One(document), &shown, &plain)
    }

    /// The same of several.
    pub(crate) fn finish_series(
        mut self,
        document: &MethodSeriesDocument,
        head: &MethodHead,
    ) -> bool {
        self.stream(&MethodStream::series(document, SystemClock.wall()));
        let shown = series_text(document, head);
        self.whole(MethodPage::Series(document), &shown, &shown)
    }

    fn whole(&mut self, page: MethodPage<'_>, shown: &str, plain: &str) -> bool {
        for place in &mut self.places {
            match place.form {
                TextStyle::Document(DocumentForm::Json) => place.write(&page.json()),
                TextStyle::Document(DocumentForm::Csv) => place.write(&page.csv()),
                TextStyle::Document(DocumentForm::Html) => {
                    place.write(&page.html(plain.to_owned()));
                }
                TextStyle::Document(DocumentForm::Stream | DocumentForm::SeriesCsv) => {}
                TextStyle::Native
                | TextStyle::Iperf2Text
                | TextStyle::Csv
                | TextStyle::Iperf3(_) => {
                    place.write(if place.is_stdout { shown } else { plain });
                }
            }
        }
        self.places.iter().all(|place| !place.failed)
    }
}

impl Place {
    /// The first failure is reported; a reader of standard output that went away wants no more.
    fn write(&mut self, text: &str) {
        if self.failed || text.is_empty() {
            return;
        }
        let written = self.writer.write_all(text.as_bytes());
        let Err(error) = written.and_then(|()| self.writer.flush()) else {
            return;
        };
        if self.is_stdout && error.kind() == std::io::ErrorKind::BrokenPipe {
            return;
        }
        self.failed = true;
        let why = format!("error: the report cannot be written: {}", reason(&error));
        let _ = message::print(&[CliMessage::err(why)]);
    }
}
