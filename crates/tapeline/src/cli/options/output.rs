//! The output: which forms, and what they show.

use std::time::Duration;

use tapeline_base::FormatLetter;
use tapeline_report::Amount;

use crate::cli::diagnostics::{Diagnostics, Exit};
use crate::cli::settings::{Mode, Settings};
use crate::cli::spec::Section::{Both, Misc};
use crate::cli::spec::{
    Given, Group, OptionId as Id, OptionSpec, Personalities, Remote, Sides, ValueKind,
};
use crate::cli::values::{count, refuse};
use crate::presentation::{Color, DocumentFile, DocumentForm, Iperf3Form, Rendering, TextStyle};

/// Units of `-f`: bits and bytes a second, with prefixes.
const FORMATS: &[&str] = &[
    "a", "b", "k", "m", "g", "t", "p", "A", "B", "K", "M", "G", "T", "P",
];
/// The lock of the agent of this host.
const EXCLUSIVE: &str = "/var/lib/tapeline/spool/lock";
/// The interval of documents, and of a client's own text, without `-i`.
const DOCUMENT_INTERVAL: Duration = Duration::from_secs(1);
/// The interval of the view alone.
const VIEW_INTERVAL: Duration = Duration::from_millis(250);

pub(crate) const OPTIONS: &[OptionSpec] = &[
    OptionSpec::new(Id::Enhanced, Some('e'), "enhanced", Remote::Yes(ValueKind::Switch))
        .sets(|settings| {
            settings.presentation.enhanced = true;
            settings.presentation.details = true;
        })
        .variable(6, "IPERF_ENHANCEDREPORTS")
        .help(
            Group::Output,
            "more columns: retries, round-trip times, packet rates",
        )
        .listed(&[(
            Both,
            "",
            "enhanced reports: more about TCP, UDP and the traffic",
        )]),
    OptionSpec::new(Id::Quiet, Some('q'), "quiet", Remote::Yes(ValueKind::Switch))
        .sets(|settings| settings.presentation.amount = Amount::Quiet)
        .only(Personalities::Native)
        .help(Group::Output, "show the result alone; at a server, ends of tests and refusals"),
    OptionSpec::new(Id::Brief, None, "brief", Remote::Yes(ValueKind::Switch))
        .sets(|settings| settings.presentation.amount = Amount::Brief)
        .sides(Sides::CLIENT)
        .only(Personalities::Native)
        .help(Group::Output, "the result as one line of key=value")
        .details(
            "The keys and their order do not change; - is an unknown value. With --repeat it is one line \
             for all runs: means of the runs that count, then runs, mbps_ci_low and mbps_ci_high.",
        ),
    OptionSpec::new(Id::Color, None, "color", Remote::Yes(ValueKind::Choice(&["auto", "always", "never"])))
        .every_method()
        .value("WHEN")
        .apply(color)
        .only(Personalities::Native)
        .help(Group::Output, "colours: auto (on a terminal), always, never")
        .details("NO_COLOR, CLICOLOR=0 and TERM=dumb switch auto off."),
    OptionSpec::new(Id::Format, Some('f'), "format", Remote::Yes(ValueKind::Choice(FORMATS)))
        .every_method()
        .value("LETTER")
        .apply(format)
        .variable(7, "IPERF_FORMAT")
        .help(
            Group::Output,
            "unit: b k m g t bits, B K M G T bytes, a or A by size (default a)",
        )
        .details("iperf3-json and iperf3-json-stream: JSON as that of iperf3, whatever the peer.")
        .listed(&[(
            Both,
            "[kmgKMG]",
            "unit of rates: Kbits, Mbits, Gbits, KBytes, ...",
        )]),
    OptionSpec::new(Id::SumOnly, None, "sum-only", Remote::Yes(ValueKind::Switch))
        .sets(|settings| settings.presentation.sum_only = true)
        .help(Group::Output, "show sums only")
        .listed(&[(Both, "", "show sum reports only")]),
    OptionSpec::new(Id::HideIps, None, "hide-ips", Remote::Yes(ValueKind::Switch))
        .every_method()
        .sets(|settings| settings.presentation.hide_addresses = true)
        .help(Group::Output, "hide all but the last part of addresses")
        .listed(&[(Both, "", "hide addresses and host names in the output")]),
    OptionSpec::new(Id::Utc, None, "utc", Remote::Yes(ValueKind::Switch))
        .sets(|settings| settings.presentation.utc = true)
        .help(Group::Output, "dates in universal time")
        .listed(&[(Both, "", "dates in universal time (UTC)")]),
    OptionSpec::new(Id::FastSampling, None, "fast-sampling", Remote::Yes(ValueKind::Switch))
        .only(Personalities::Iperf2)
        .variable(35, "IPERF_FASTSAMPLING")
        .help(
            Group::Output,
            "the text of iperf as Debian and Ubuntu build it",
        )
        .details(
            "Those packages are built with --enable-fastsampling: times have four decimals, headers are \
             wider, and -i goes down to 0.0001.",
        )
        .listed(&[(
            Both,
            "",
            "times with four decimals, as of iperf in Debian and Ubuntu; -i from 0.0001",
        )]),
    OptionSpec::new(Id::Output, Some('o'), "output", Remote::No("it names a file"))
        .every_method()
        .value("FILE")
        .apply(|settings, given, _| {
            settings.presentation.output_file = given.value.as_ref().map(Into::into);
            Ok(())
        })
        .sides(Sides::ANY)
        .help(Group::Output, "append the report to a file")
        .listed(&[(Both, "<filename>", "append the report to this file")]),
    OptionSpec::new(Id::Json, None, "json", Remote::No("results go to who ordered them"))
        .every_method()
        .optional_value("FILE")
        .apply(|settings, given, log| document(settings, given, DocumentForm::Json, log))
        .only(Personalities::Native)
        .help(Group::Output, "the results as a JSON document")
        .details(
            "Instead of the text, or beside it in FILE, which appears when it is complete. A server \
             writes a line with a document for each test.",
        ),
    OptionSpec::new(Id::JsonStream, None, "json-stream", Remote::No("results go to who ordered them"))
        .every_method()
        .optional_value("FILE")
        .apply(|settings, given, log| document(settings, given, DocumentForm::Stream, log))
        .only(Personalities::Native)
        .help(Group::Output, "a line of JSON for each event, as it happens"),
    OptionSpec::new(Id::DocumentCsv, None, "csv", Remote::No("results go to who ordered them"))
        .every_method()
        .optional_value("FILE")
        .apply(|settings, given, log| document(settings, given, DocumentForm::Csv, log))
        .only(Personalities::Native)
        .help(
            Group::Output,
            "a row of comma-separated values for each stream and interval",
        ),
    OptionSpec::new(Id::Rendered, None, "rendered", Remote::Yes(ValueKind::Text))
        .value("FORMS")
        .apply(rendered)
        .sides(Sides::CLIENT)
        .only(Personalities::Native)
        .help(Group::Output, "events of --json-stream that hold other forms")
        .details("What --from orders, so that its text is that of the host that measured."),
    OptionSpec::new(Id::FailIfHostLimited, None, "fail-if-host-limited", Remote::Yes(ValueKind::Switch))
        .every_method()
        .formerly(&["fail-if-limited"])
        .sets(|settings| settings.presentation.fail_if_host_limited = true)
        .sides(Sides::CLIENT)
        .only(Personalities::Native)
        .help(
            Group::Output,
            "exit code 3 if a host limited the test, not the network",
        )
        .details(
            "That is: a CPU, a socket buffer or window, the pacing; with high or medium confidence, as the \
             verdict at the end says.",
        ),
    OptionSpec::new(Id::Exclusive, None, "exclusive", Remote::No("it names a file"))
        .optional_value("FILE")
        .apply(|settings, given, _| {
            let named = given.value.as_ref().map(Into::into);
            let file = named.unwrap_or_else(|| EXCLUSIVE.into());
            settings.presentation.exclusive = Some(file);
            Ok(())
        })
        .sides(Sides::CLIENT)
        .only(Personalities::Native)
        .help(
            Group::Output,
            "only if no exclusive test of this host runs, nor starts meanwhile",
        )
        .details(
            "It holds the lock of a file, without FILE that of tapeline agent. If somebody has it, the exit \
             code is 1.",
        ),
    OptionSpec::new(Id::Html, None, "html", Remote::No("it names a file"))
        .every_method()
        .value("FILE")
        .apply(|settings, given, log| document(settings, given, DocumentForm::Html, log))
        .only(Personalities::Native)
        .help(Group::Output, "a page with charts, which opens offline")
        .details("A server's page is that of its last test; several runs of a client are one page."),
    OptionSpec::new(Id::Tui, None, "tui", Remote::No("it needs a terminal"))
        .every_method()
        .apply(|settings, _, log| view(settings, log))
        .only(Personalities::Native)
        .help(Group::Output, "a live view on the terminal: curves, streams, limits")
        .details(
            "The text follows when the view ends, without its intervals; with -o it is written to the \
             file meanwhile. The view skips frames when the terminal is slow.",
        ),
    OptionSpec::new(Id::Metrics, None, "metrics", Remote::No("it opens a port of its own"))
        .value("ADDRESS:PORT")
        .apply(metrics)
        .sides(Sides::OBSERVED)
        .only(Personalities::Native)
        .help(Group::Output, "metrics for Prometheus over HTTP")
        .details(
            "A server's counters and its last results, at /metrics; :PORT is every address of this \
             host. The job exporter answers there (localhost:9579 without this option).",
        ),
    OptionSpec::new(Id::ReportExclude, Some('x'), "reportexclude", Remote::Yes(ValueKind::Text))
        .value("LETTERS")
        .apply(report_exclude)
        .variable(18, "IPERF_REPORTEXCLUDE")
        .help(
            Group::Output,
            "leave out: C connections D data M sums S settings V server reports",
        )
        .listed(&[(
            Misc,
            "[CDMSV]",
            "leave out C(connection) D(data) M(multicast) S(settings) V(server) reports",
        )]),
    OptionSpec::new(Id::ReportStyle, Some('y'), "reportstyle", Remote::Yes(ValueKind::Choice(&["C"])))
        .value("C")
        .apply(report_style)
        .variable(19, "IPERF_REPORTSTYLE")
        .help(Group::Output, "C: comma-separated values")
        .listed(&[(Misc, "C", "report as comma-separated values")]),
    OptionSpec::new(Id::ReportStructs, None, "NUM_REPORT_STRUCTS", Remote::Yes(ValueKind::Count))
        .value("COUNT")
        .apply(report_structs)
        .help(
            Group::Output,
            "accepted for old scripts; there is nothing to size",
        )
        .listed(&[(Both, "", "accepted; results pass through no ring here")]),
];

/// `--color`.
fn color(settings: &mut Settings, given: &Given, log: &mut Diagnostics) -> Result<(), Exit> {
    settings.presentation.color = match given.text().as_str() {
        "auto" => Color::Auto,
        "always" => Color::Always,
        "never" => Color::Never,
        other => {
            let option = given.named();
            let why = format!("{option} needs auto, always or never, not \"{other}\"");
            return Err(log.fatal("", why));
        }
    };
    Ok(())
}

/// `-f`: the first letter counts; unknown letters mean adaptive under iperf.
fn format(settings: &mut Settings, given: &Given, log: &mut Diagnostics) -> Result<(), Exit> {
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
fn report_style(settings: &mut Settings, given: &Given, log: &mut Diagnostics) -> Result<(), Exit> {
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
        return Err(log.fatal(
            "",
            format!("{option} needs a style (C is CSV), not \"{text}\""),
        ));
    }
    log.warn(
        format!("WARNING: unknown reporting style \"{text}\", switching to default"),
        "",
    );
    Ok(())
}

/// `--json`, `--json-stream`, `--csv`: with a file beside the other outputs, without one instead of
/// the text.
pub(crate) fn document(
    settings: &mut Settings,
    given: &Given,
    form: DocumentForm,
    log: &mut Diagnostics,
) -> Result<(), Exit> {
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

/// `--rendered`.
fn rendered(settings: &mut Settings, given: &Given, log: &mut Diagnostics) -> Result<(), Exit> {
    match Rendering::parse(&given.text()) {
        Some(rendering) => {
            settings.presentation.rendered = Some(rendering);
            Ok(())
        }
        None => Err(refuse(given, "that is no list of forms", log)),
    }
}

/// `--tui`, in builds that have it.
fn view(settings: &mut Settings, log: &mut Diagnostics) -> Result<(), Exit> {
    if cfg!(not(feature = "tui")) {
        return Err(log.fatal(
            "",
            "option --tui: this build has no live view (feature tui)",
        ));
    }
    settings.presentation.view = true;
    Ok(())
}

/// `--metrics`: an address and a port; without an address every one.
fn metrics(settings: &mut Settings, given: &Given, log: &mut Diagnostics) -> Result<(), Exit> {
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
fn one_form(settings: &Settings, given: &Given, log: &mut Diagnostics) -> Result<(), Exit> {
    if settings.iperf() || settings.presentation.style == TextStyle::Native {
        return Ok(());
    }
    let option = given.named();
    Err(log.fatal(
        "",
        format!("{option}: standard output has one form; name files, as in --json=FILE --csv=FILE"),
    ))
}

/// `-x`: one letter per part, in either case.
fn report_exclude(
    settings: &mut Settings,
    given: &Given,
    log: &mut Diagnostics,
) -> Result<(), Exit> {
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

/// There is no ring of reports between traffic and output whose size would matter.
fn report_structs(
    settings: &mut Settings,
    given: &Given,
    log: &mut Diagnostics,
) -> Result<(), Exit> {
    if !settings.iperf() {
        count(given, log)?;
        log.warn(
            "",
            format!(
                "{} has no effect: results pass through no ring",
                given.named()
            ),
        );
    }
    Ok(())
}

/// The terminal shows the view, so that no other form can stand there meanwhile.
pub(crate) fn view_has_the_terminal(settings: &mut Settings, log: &mut Diagnostics) {
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

/// The interval that is reported. Forms for programs and a client's own text have one unless `-i 0` says otherwise;
/// `--connect-only` takes it for its pace.
pub(crate) fn reported_interval(settings: &Settings) -> Option<Duration> {
    let free = !settings.interval_given
        && !settings.latency.by_frame
        && settings.schedule.connect_only.is_none();
    let shown = &settings.presentation;
    let own_text = settings.mode == Mode::Client && shown.style == TextStyle::Native && !shown.view;
    let wanted = if shown.has_documents() || own_text {
        Some(DOCUMENT_INTERVAL)
    } else {
        let to_file = settings.presentation.output_file.is_some();
        let length = if to_file {
            DOCUMENT_INTERVAL
        } else {
            VIEW_INTERVAL
        };
        settings.presentation.view.then_some(length)
    };
    settings.interval.or(wanted.filter(|_| free))
}
