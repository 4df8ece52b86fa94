//! Every place to which a run's results go, each in its form.

use std::io::{self, IsTerminal, Stderr, Write};
use std::time::Instant;

use tapeline_base::{Clock, ExitCode, Role};
use tapeline_dialect::Interruption;
use tapeline_report::document::{
    DocumentCsv, DocumentStream, PlannedLimit, RunInfo, SeriesCsv, WholeDocument,
};
use tapeline_report::flows::{FlowsCsv, FlowsDocument, FlowsInfo, FlowsStream, FlowsText};
use tapeline_report::{
    Event, Exclude, Iperf2Csv, Iperf2Text, NativeText, Output, Renderer, ServerText, Style,
};
use tapeline_sys::SystemClock;

use super::printer::{Closer, Printer, choose_color, error_terminal, speaks_utf8, terminal};
use super::progress::Progress;
use super::remote::RenderedForms;
use super::view::{Behind, View};
use crate::files::output_file;
use crate::message;
use crate::output::ascii::Ascii;
use crate::output::iperf3_renderer::iperf3_renderer;
use crate::presentation::{DocumentForm, Presentation, TextStyle};

#[cfg(feature = "prometheus")]
use crate::run::metrics::Board;
#[cfg(feature = "history")]
use crate::run::saving;

/// The outputs of a run. Each has a queue and a thread of its own, so that a slow one takes
/// nothing from the others.
pub(crate) struct Outputs {
    printers: Vec<Printer>,
    view: Option<View>,
}

impl Outputs {
    /// Opens all of them.
    ///
    /// # Errors
    /// The exit code, when one cannot be had; the reason has been printed.
    pub(crate) fn start(
        presentation: &Presentation,
        interval: bool,
        run_info: &RunInfo,
        role: Role,
        interruption: &Interruption,
    ) -> Result<Self, ExitCode> {
        let form = |style| renderer(style, presentation, interval, run_info);
        let progress = progress(presentation, run_info);
        Self::open(presentation, run_info, role, interruption, progress, form)
    }

    /// Opens those of a client of different flows.
    ///
    /// # Errors
    /// As [`Outputs::start`].
    pub(crate) fn of_flows(
        presentation: &Presentation,
        info: &FlowsInfo,
        interruption: &Interruption,
    ) -> Result<Self, ExitCode> {
        let form = |style| flows_renderer(style, presentation, info);
        let run_info = &info.run_info;
        Self::open(
            presentation,
            run_info,
            Role::Client,
            interruption,
            None,
            form,
        )
    }

    fn open(
        presentation: &Presentation,
        run_info: &RunInfo,
        role: Role,
        interruption: &Interruption,
        mut progress: Option<Progress<Stderr>>,
        form: impl Fn(TextStyle) -> Box<dyn Renderer + Send>,
    ) -> Result<Self, ExitCode> {
        choose_color(presentation.color);
        let behind = Behind::wanted(presentation.view);
        let main = (presentation.style, presentation.output_file.as_deref());
        let files = presentation.files.iter();
        let files = files.map(|file| (TextStyle::Document(file.form), Some(file.path.as_path())));
        let mut opened = Vec::new();
        for (style, path) in std::iter::once(main).chain(files) {
            let mut writer = output_file::open(style, path, role).map_err(|said| {
                // Without standard error the exit code says the same.
                let _ = message::print(&[said]);
                ExitCode::Failure
            })?;
            let mut renderer = form(style);
            if path.is_some() && role == Role::Client && output_file::is_whole(style, role) {
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
        #[cfg(feature = "history")]
        if let Some(saver) = saving::output(presentation, run_info) {
            // Behind the report: what was kept is the last that is said of it.
            let (writer, errors) = match &behind {
                Some(behind) => (behind.out(), behind.errors()),
                None => (
                    Box::new(io::stdout()) as Box<dyn Write + Send>,
                    Box::new(io::stderr()) as Box<dyn Write + Send>,
                ),
            };
            opened.push((saver, writer, errors));
        }
        let printers = opened.into_iter().map(|(renderer, writer, errors)| {
            let progress = progress.take();
            Printer::start(renderer, writer, errors, role, interruption, progress)
        });
        Ok(Self {
            printers: printers.collect::<Result<_, ExitCode>>()?,
            view: behind.map(|behind| behind.view(run_info)).transpose()?,
        })
    }

    /// Adds metrics, where they are wanted; with the address at which they are to be read.
    ///
    /// # Errors
    /// The exit code; the reason has been printed.
    #[cfg(feature = "prometheus")]
    pub(crate) fn add_metrics(
        &mut self,
        presentation: &Presentation,
        run_info: &RunInfo,
        interruption: &Interruption,
    ) -> Result<Option<(String, Board)>, ExitCode> {
        let Some(address) = &presentation.metrics else {
            return Ok(None);
        };
        let board = Board::new(run_info.clone());
        self.printers.push(board.output(interruption)?);
        Ok(Some((address.clone(), board)))
    }

    /// Where the reporter sends its events.
    pub(crate) fn sink(&self) -> impl FnMut(Event) + Send + 'static {
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

    /// What ends them from elsewhere.
    pub(crate) fn closers(&self) -> Vec<Closer> {
        self.printers.iter().map(Printer::closer).collect()
    }

    /// Writes what is queued and ends; the exit code knows whether all was written.
    pub(crate) fn finish(self, code: ExitCode) -> ExitCode {
        let behind = self.view.map(View::close);
        let printers = self.printers.into_iter();
        let code = printers.fold(code, |code, printer| printer.finish(code));
        if let Some(behind) = behind {
            behind.print();
        }
        code
    }
}

/// Keeps the report of a file that is written whole until all is reported.
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

/// The renderer of a form, with forms for elsewhere in its events where that is wanted.
fn renderer(
    form: TextStyle,
    presentation: &Presentation,
    interval: bool,
    run_info: &RunInfo,
) -> Box<dyn Renderer + Send> {
    let own = renderer_of(form, presentation, interval, run_info);
    match (&presentation.rendered, form) {
        (Some(rendering), TextStyle::Document(DocumentForm::Stream)) => {
            let forms = rendering.forms.iter().map(|form| {
                let shown = Presentation {
                    style: *form,
                    ..presentation.clone()
                };
                (*form, renderer_of(*form, &shown, interval, run_info))
            });
            Box::new(RenderedForms::new(own, forms.collect()))
        }
        _ => own,
    }
}

/// The renderer of a form alone.
fn renderer_of(
    form: TextStyle,
    presentation: &Presentation,
    interval: bool,
    run_info: &RunInfo,
) -> Box<dyn Renderer + Send> {
    let style = style(presentation, interval);
    match form {
        TextStyle::Iperf2Text => Box::new(Iperf2Text::new(style)),
        TextStyle::Iperf3(form) => iperf3_renderer(form, presentation),
        TextStyle::Csv => Box::new(Iperf2Csv::new(style)),
        TextStyle::Native => native(style, presentation, run_info),
        TextStyle::Document(form) => {
            let run_info = run_info.clone();
            match form {
                DocumentForm::Json => Box::new(WholeDocument::json(run_info)),
                DocumentForm::Stream => {
                    Box::new(DocumentStream::new(run_info).timed(|| SystemClock.wall()))
                }
                DocumentForm::Csv => Box::new(DocumentCsv::new(run_info)),
                DocumentForm::Html => Box::new(WholeDocument::html(run_info)),
                DocumentForm::SeriesCsv => Box::new(SeriesCsv),
            }
        }
    }
}

/// The renderer of a form of different flows.
fn flows_renderer(
    form: TextStyle,
    presentation: &Presentation,
    info: &FlowsInfo,
) -> Box<dyn Renderer + Send> {
    let info = info.clone();
    let stream = DocumentStream::new(info.run_info.clone()).timed(|| SystemClock.wall());
    match form {
        TextStyle::Document(DocumentForm::Json) => Box::new(FlowsDocument::json(info)),
        TextStyle::Document(DocumentForm::Html) => Box::new(FlowsDocument::html(info)),
        TextStyle::Document(DocumentForm::Stream) => Box::new(FlowsStream::new(info, stream)),
        TextStyle::Document(DocumentForm::Csv) => Box::new(FlowsCsv::new(info)),
        // The others are of programs and series that have no flows.
        _ => {
            let to_file = presentation.output_file.is_some();
            let style = style(presentation, true);
            let text = FlowsText::new(info, style, terminal(!to_file));
            let text = text.with_errors(error_terminal(), to_file);
            match speaks_utf8() {
                true => Box::new(text),
                false => Box::new(Ascii(Box::new(text))),
            }
        }
    }
}

/// A client's progress, where its text goes to people who look on.
fn progress(presentation: &Presentation, run_info: &RunInfo) -> Option<Progress<Stderr>> {
    let is_text = presentation.style == TextStyle::Native && run_info.role == Role::Client;
    let draws =
        io::stderr().is_terminal() && std::env::var_os("TERM").is_none_or(|it| it != "dumb");
    let planned = run_info.planned.as_ref().map(|planned| planned.limit);
    let planned = match planned {
        Some(PlannedLimit::Time(time)) => Some(time),
        _ => None,
    };
    (is_text && draws && !presentation.view)
        .then(|| Progress::new(io::stderr(), planned, Instant::now()))
}

/// tapeline's own text.
fn native(
    style: Style,
    presentation: &Presentation,
    run_info: &RunInfo,
) -> Box<dyn Renderer + Send> {
    let (to_file, terminal, errors, unicode) = match &presentation.rendered {
        Some(shown) => (
            shown.to_file,
            shown.terminal,
            shown.errors,
            shown.terminal.unicode,
        ),
        None => {
            let to_file = presentation.output_file.is_some();
            (to_file, terminal(!to_file), error_terminal(), speaks_utf8())
        }
    };
    let text: Box<dyn Renderer + Send> = match run_info.role {
        Role::Client => {
            let text = NativeText::new(style, terminal).with_errors(errors, to_file);
            Box::new(match &run_info.planned {
                Some(planned) => text.requested(planned.requested()),
                None => text,
            })
        }
        Role::Server => {
            let log = ServerText::new(style, terminal).with_errors(errors, to_file);
            // The journal puts the time in front of each line itself.
            Box::new(match std::env::var_os("JOURNAL_STREAM") {
                Some(_) => log,
                None => log.timed(|| SystemClock.wall()),
            })
        }
    };
    if unicode { text } else { Box::new(Ascii(text)) }
}

/// What every form needs to know in addition to the events.
pub(crate) fn style(presentation: &Presentation, interval: bool) -> Style {
    let exclude = presentation.exclude;
    Style {
        enhanced: match presentation.style {
            TextStyle::Native => presentation.details,
            _ => presentation.enhanced,
        },
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
        build: presentation.build,
        amount: presentation.amount,
    }
}
