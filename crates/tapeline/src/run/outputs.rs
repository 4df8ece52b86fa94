//! Every place to which a run's results go, each in its form.

use std::io::{self, Write};

use tapeline_base::{Clock, ExitCode, Role};
use tapeline_dialect::Interruption;
use tapeline_report::document::{DocumentCsv, DocumentStream, Occasion, SeriesCsv, WholeDocument};
use tapeline_report::{Event, Exclude, Iperf2Csv, Iperf2Text, NativeText, Output, Renderer, Style};
use tapeline_sys::SystemClock;

#[cfg(feature = "prometheus")]
use super::metrics::Board;
use super::printer::{Printer, iperf3_renderer, terminal};
use super::view::{Behind, View};
use crate::message;
use crate::output;
use crate::presentation::{DocumentForm, Presentation, TextStyle};

/// The outputs of a run. Each has a queue and a thread of its own, so that a slow one takes
/// nothing from the others.
pub(super) struct Outputs {
    printers: Vec<Printer>,
    view: Option<View>,
}

impl Outputs {
    /// Opens all of them.
    ///
    /// # Errors
    /// The exit code, when one cannot be had; the reason has been printed.
    pub(super) fn start(
        presentation: &Presentation,
        interval: bool,
        occasion: &Occasion,
        role: Role,
        interruption: &Interruption,
    ) -> Result<Self, ExitCode> {
        let behind = Behind::wanted(presentation.view);
        let main = (presentation.style, presentation.output_file.as_deref());
        let files = presentation.files.iter();
        let files = files.map(|file| (TextStyle::Document(file.form), Some(file.path.as_path())));
        let mut opened = Vec::new();
        for (style, path) in std::iter::once(main).chain(files) {
            let mut writer = output::open(style, path, role).map_err(|said| {
                // Without standard error the exit code says the same.
                let _ = message::print(&[said]);
                ExitCode::Failure
            })?;
            let mut renderer = renderer(style, presentation, interval, occasion);
            if path.is_some() && role == Role::Client && output::is_whole(style, role) {
                renderer = Box::new(AtTheEnd {
                    inner: renderer,
                    kept: Output::default(),
                });
            }
            let mut errors: Box<dyn Write + Send> = Box::new(io::stderr());
            if let Some(behind) = &behind {
                errors = behind.errors();
                if path.is_none() {
                    (renderer, writer) = (behind.text(renderer), behind.out());
                }
            }
            opened.push((renderer, writer, errors));
        }
        let printers = opened.into_iter().map(|(renderer, writer, errors)| {
            Printer::start(renderer, writer, errors, role, interruption)
        });
        Ok(Self {
            printers: printers.collect::<Result<_, ExitCode>>()?,
            view: behind.map(|behind| behind.view(occasion)).transpose()?,
        })
    }

    /// Adds metrics, where they are wanted; with the address at which they are to be read.
    ///
    /// # Errors
    /// The exit code; the reason has been printed.
    #[cfg(feature = "prometheus")]
    pub(super) fn add_metrics(
        &mut self,
        presentation: &Presentation,
        occasion: &Occasion,
        interruption: &Interruption,
    ) -> Result<Option<(String, Board)>, ExitCode> {
        let Some(address) = &presentation.metrics else {
            return Ok(None);
        };
        let board = Board::new(occasion.clone());
        self.printers.push(board.output(interruption)?);
        Ok(Some((address.clone(), board)))
    }

    /// Where the reporter sends its events.
    pub(super) fn sink(&self) -> impl FnMut(Event) + Send + 'static {
        let printers = self.printers.iter();
        let printers = printers.map(|one| Box::new(one.sink()) as Box<dyn FnMut(Event) + Send>);
        let mut sinks: Vec<_> = self.view.iter().map(View::sink).chain(printers).collect();
        move |event| {
            if let Some((last, others)) = sinks.split_last_mut() {
                for sink in others {
                    sink(event.clone());
                }
                last(event);
            }
        }
    }

    /// Writes what is queued and ends; the exit code knows whether all was written.
    pub(super) fn finish(self, code: ExitCode) -> ExitCode {
        let behind = self.view.map(View::close);
        let printers = self.printers.into_iter();
        let code = printers.fold(code, |code, printer| printer.finish(code));
        if let Some(behind) = behind {
            behind.print();
        }
        code
    }
}

/// Keeps the report of a file that is written whole until all is told.
struct AtTheEnd {
    inner: Box<dyn Renderer + Send>,
    kept: Output,
}

impl Renderer for AtTheEnd {
    fn render(&mut self, event: &Event, out: &mut Output) {
        self.inner.render(event, &mut self.kept);
        out.stderr.push_str(&std::mem::take(&mut self.kept.stderr));
    }

    fn missed(&mut self, rows: u64, out: &mut Output) {
        self.inner.missed(rows, &mut self.kept);
        out.stderr.push_str(&std::mem::take(&mut self.kept.stderr));
    }

    fn finish(&mut self, out: &mut Output) {
        self.inner.finish(&mut self.kept);
        out.stdout.push_str(&self.kept.stdout);
        out.stderr.push_str(&self.kept.stderr);
        self.kept.clear();
    }
}

/// The renderer of a form.
fn renderer(
    form: TextStyle,
    presentation: &Presentation,
    interval: bool,
    occasion: &Occasion,
) -> Box<dyn Renderer + Send> {
    let style = style(presentation, interval);
    match form {
        TextStyle::Iperf2Text => Box::new(Iperf2Text::new(style)),
        TextStyle::Iperf3(form) => iperf3_renderer(form, presentation),
        TextStyle::Csv => Box::new(Iperf2Csv::new(style)),
        TextStyle::Native => {
            let to_terminal = presentation.output_file.is_none();
            Box::new(NativeText::new(style, terminal(to_terminal)))
        }
        TextStyle::Document(form) => {
            let occasion = occasion.clone();
            match form {
                DocumentForm::Json => Box::new(WholeDocument::json(occasion)),
                DocumentForm::Stream => {
                    Box::new(DocumentStream::new(occasion).timed(|| SystemClock.wall()))
                }
                DocumentForm::Csv => Box::new(DocumentCsv::new(occasion)),
                DocumentForm::Html => Box::new(WholeDocument::html(occasion)),
                DocumentForm::SeriesCsv => Box::new(SeriesCsv),
            }
        }
    }
}

/// What every form needs to know beside the events.
pub(super) fn style(presentation: &Presentation, interval: bool) -> Style {
    let exclude = presentation.exclude;
    Style {
        enhanced: presentation.enhanced,
        format: presentation.format,
        hide_addresses: presentation.hide_addresses,
        utc: presentation.utc,
        exclude: Exclude {
            connection: exclude.connections,
            settings: exclude.settings,
            data: exclude.data,
            sums: exclude.sums,
            server_report: exclude.server_reports,
        },
        sum_only: presentation.sum_only,
        interval,
    }
}
