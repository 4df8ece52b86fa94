//! Options of the output that carry a value.

use std::time::Duration;

use tapeline_base::FormatLetter;

use crate::presentation::{DocumentFile, DocumentForm, Iperf3Form, TextStyle};
use crate::raw::Given;

use super::log::{Log, Stop};
use super::settings::Settings;

/// `-f`: the first letter counts; unknown letters mean adaptive under iperf.
pub(super) fn format(settings: &mut Settings, given: &Given, log: &mut Log) -> Result<(), Stop> {
    let text = given.text();
    let form = match text.as_str() {
        "iperf3-json" => Some(Iperf3Form::Json),
        "iperf3-json-stream" => Some(Iperf3Form::Stream { full: false }),
        _ => None,
    };
    if let Some(form) = form.filter(|_| !settings.iperf()) {
        one_form(settings, given, log)?;
        settings.presentation.style = TextStyle::Iperf3(form);
        return Ok(());
    }
    let letter = text.chars().next().unwrap_or('a');
    if !settings.iperf() && (text.len() != 1 || !"abkmgtpABKMGTP".contains(letter)) {
        return Err(log.fatal(
            "",
            format!(
                "{}: '{text}' is none of a b k m g t p A B K M G T P, iperf3-json, \
                 iperf3-json-stream",
                given.named()
            ),
        ));
    }
    settings.presentation.format = FormatLetter::new(letter);
    Ok(())
}

/// `-y`: anything that begins with `c` or `C` is CSV, without connection lines and banner.
pub(super) fn report_style(
    settings: &mut Settings,
    given: &Given,
    log: &mut Log,
) -> Result<(), Stop> {
    let text = given.text();
    if text.starts_with(['c', 'C']) {
        one_form(settings, given, log)?;
        let presentation = &mut settings.presentation;
        presentation.style = TextStyle::Csv;
        presentation.exclude.connections = true;
        presentation.exclude.settings = true;
        return Ok(());
    }
    if !settings.iperf() {
        let option = given.named();
        return Err(log.fatal("", format!("{option}: '{text}' is no style (C is CSV)")));
    }
    log.warn(
        format!("WARNING: unknown reporting style \"{text}\", switching to default"),
        "",
    );
    Ok(())
}

/// `--json`, `--json-stream`, `--csv`: with a file beside the other outputs, without one instead of
/// the text.
pub(super) fn document(
    settings: &mut Settings,
    given: &Given,
    form: DocumentForm,
    log: &mut Log,
) -> Result<(), Stop> {
    let Some(path) = &given.value else {
        one_form(settings, given, log)?;
        settings.presentation.style = TextStyle::Document(form);
        return Ok(());
    };
    let option = given.named();
    if path.is_empty() {
        return Err(log.fatal("", format!("{option}: a file has a name")));
    }
    let path = path.into();
    let files = &mut settings.presentation.files;
    if files.iter().any(|file| file.path == path) {
        return Err(log.fatal("", format!("{option}: another output goes to this file")));
    }
    files.push(DocumentFile { form, path });
    Ok(())
}

/// `--tui`, in builds that have it.
pub(super) fn view(settings: &mut Settings, log: &mut Log) -> Result<(), Stop> {
    if cfg!(not(feature = "tui")) {
        return Err(log.fatal(
            "",
            "option --tui: this build has no live view (feature tui)",
        ));
    }
    settings.presentation.view = true;
    Ok(())
}

/// The terminal shows the view, so that no other form can stand there meanwhile.
pub(super) fn view_has_the_terminal(settings: &mut Settings, log: &mut Log) {
    let shown = &settings.presentation;
    let taken = shown.style != TextStyle::Native && shown.output_file.is_none();
    if shown.view && taken {
        log.error(
            "",
            "--tui needs the terminal: give the other form a file, as in --json=FILE",
        );
    } else if shown.view && settings.daemon {
        log.error("", "-D leaves the terminal that --tui needs");
    }
}

/// `--metrics`: an address and a port; without an address every one.
pub(super) fn metrics(settings: &mut Settings, given: &Given, log: &mut Log) -> Result<(), Stop> {
    let (text, option) = (given.text(), given.named());
    if cfg!(not(feature = "prometheus")) {
        let why = format!("{option} needs a build with the feature prometheus");
        return Err(log.fatal("", why));
    }
    let port = text.rsplit_once(':').map(|(_, port)| port.parse::<u16>());
    if !matches!(port, Some(Ok(_))) {
        let why =
            format!("{option}: '{text}' is no ADDRESS:PORT (:9579, localhost:9579, [::1]:9579)");
        return Err(log.fatal("", why));
    }
    settings.presentation.metrics = Some(text);
    Ok(())
}

/// Standard output has one form.
fn one_form(settings: &Settings, given: &Given, log: &mut Log) -> Result<(), Stop> {
    if settings.iperf() || settings.presentation.style == TextStyle::Native {
        return Ok(());
    }
    let option = given.named();
    Err(log.fatal(
        "",
        format!("{option}: standard output has one form; name files, as in --json=FILE --csv=FILE"),
    ))
}

/// The interval of documents without `-i`.
const DOCUMENT_INTERVAL: Duration = Duration::from_secs(1);
/// The interval of the view alone.
const VIEW_INTERVAL: Duration = Duration::from_millis(250);

impl Settings {
    /// The interval that is told. Forms for programs have one unless `-i 0` says otherwise;
    /// `--connect-only` takes it for its pace.
    pub(super) fn told_interval(&self) -> Option<Duration> {
        let free =
            !self.interval_given && !self.latency.by_frame && self.schedule.connect_only.is_none();
        let wanted = if self.presentation.has_documents() {
            Some(DOCUMENT_INTERVAL)
        } else {
            let to_file = self.presentation.output_file.is_some();
            let length = if to_file {
                DOCUMENT_INTERVAL
            } else {
                VIEW_INTERVAL
            };
            self.presentation.view.then_some(length)
        };
        self.interval.or(wanted.filter(|_| free))
    }
}

/// `-x`: one letter per part, in either case.
pub(super) fn report_exclude(
    settings: &mut Settings,
    given: &Given,
    log: &mut Log,
) -> Result<(), Stop> {
    for letter in given.text().chars() {
        let exclude = &mut settings.presentation.exclude;
        match letter.to_ascii_uppercase() {
            'C' => exclude.connections = true,
            'D' => exclude.data = true,
            'M' => exclude.sums = true,
            'S' => exclude.settings = true,
            'V' => exclude.server_reports = true,
            _ if settings.iperf() => log.warn(
                format!(
                    "WARNING: unknown reporting type \"{letter}\", ignored\n valid options are:\n\
                     \t exclude: C(connection) D(data) M(multicast) S(settings) V(server) report\n"
                ),
                "",
            ),
            _ => {
                let option = given.named();
                return Err(log.fatal("", format!("{option}: '{letter}' is none of C D M S V")));
            }
        }
    }
    Ok(())
}
