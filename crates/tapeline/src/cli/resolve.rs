//! Second stage: from what was typed to what is to be done.
//!
//! ```text
//! RawArgs ─► apply, option by option ─► Settings ─► rules ─► build ─► Plan
//!             (order matters here)                 (not here)
//! ```
//!
//! Under the name iperf this stage says what iperf 2.2.1 says, in its words and order,
//! and goes on where it goes on. It differs where 2.2.1 crashes, hangs or pretends to
//! have measured something; then one line on standard error says why, and the exit
//! status is 1:
//!
//! | Given | iperf 2.2.1 | tapeline as iperf |
//! |---|---|---|
//! | `-p -5`, `-p 5-` | crashes | refused |
//! | `-l -5`, `-l 2G` | crashes | refused |
//! | `-l 0`, `-l abc` | sends one header and reports success | refused |
//! | `-u -l 65508` | 43 error lines, exit status 0 | refused |
//! | `-n -5` | never ends | refused, with the words for `-n 0` |
//! | `-u -b abc`, `-u -b -1`, `-b 0.5pps` | sends without limit | refused |
//! | `-x D` on a client | hangs | interval rows are left out |
//! | `-s -t 0` | ends after 10 s | no limit |
//! | `-t 0.005` | is taken for 0: never ends | ends after 5 ms |
//! | `-P 3 -p 5001-5002` | names a range that ends one port too high | names the range used |
//! | `-c HOST -D` | says that it cannot, exit status 0 | says so, exit status 1 |
//! | a multicast address without `-u` | says that it cannot, exit status 0 | says so, exit status 1 |
//! | `--histograms=abc` | counts nothing | refused |
//! | `--bounceback-request 50`, `-reply 50` | waits for ever | refused |
//! | `--bounceback -R`, `--connect-only -R` and the like | leaves one of them out | refused |
//! | `-F` or `-I` with `-R`, `--bounceback`, `--connect-only` | sends no file | refused |
//! | numbers that are none, where not said otherwise | are taken for 0 | refused |

use std::ffi::OsStr;

use tapeline_base::ExitCode;
use tapeline_dialect::Personality;
use tapeline_report::Build;

use super::diagnostics::{Diagnostics, Exit};
use super::options::method::registry;
use super::options::table::{all, nearest};
use super::options::{history, peer, repeat};
use super::parse::{Arity, SyntaxFault, detached};
use super::settings::{Mode, Protocol, Settings};
use super::spec::{OptionId, Personalities, RawArgs, RawItem};
use super::{apply, build, configuration, flows, rules};
use crate::message::CliMessage;
use crate::plan::{Iperf3Job, Iperf3Task, Plan, Resolution, Resolver};

/// Resolves a command line. `program` is the name that iperf's messages begin with.
pub(crate) fn resolve(
    raw: &RawArgs,
    personality: Personality,
    program: &str,
    resolver: Resolver,
) -> Resolution {
    let mut log = Diagnostics::new(personality);
    let outcome = match plan(raw, personality, program, resolver, &mut log) {
        Ok(plan) => Ok(plan),
        Err(Exit::Help(page)) => Ok(Plan::Help(page)),
        Err(Exit::Version) => Ok(Plan::Version),
        Err(Exit::Code(code)) => Err(code),
    };
    Resolution {
        messages: log.into_messages(),
        outcome,
        refusals: Vec::new(),
    }
}

fn plan(
    raw: &RawArgs,
    personality: Personality,
    program: &str,
    resolver: Resolver,
    log: &mut Diagnostics,
) -> Result<Plan, Exit> {
    if personality == Personality::Native && flows::are_asked(raw) {
        let one = |raw: &RawArgs| resolve(raw, personality, program, resolver);
        return flows::plan(raw, &one, log);
    }
    let mut settings = Settings::new(personality);
    if personality == Personality::Native {
        settings.mode = native_mode(raw);
    }
    apply_all(&mut settings, raw, program, log)?;
    rules::check_conflicts(&mut settings, log)?;
    rules::check_addresses(&mut settings, log)?;
    if settings.mode == Mode::Undecided {
        return Err(usage(program, log));
    }
    announce_output(&settings, log);
    settings.presentation.save = history::save_plan(&settings, log)?;
    let plan = match settings.mode {
        Mode::Server => {
            let server = Box::new(build::server(&settings, resolver, log)?);
            if settings.print_config {
                Plan::Configuration(configuration::text(raw, &settings))
            } else {
                let shown = settings.presentation.clone();
                Plan::Server(server, shown, settings.life(), settings.supervision)
            }
        }
        Mode::Trial => Plan::Try(build::trial(&settings, log)?, settings.presentation),
        Mode::Exporter => Plan::Exporter(build::exporter(settings, log)?),
        Mode::Method(word) => Plan::Method(Box::new(build::method(&settings, word, log)?)),
        Mode::Client | Mode::Undecided => {
            let client = build::client(&settings, log)?;
            match settings.peer.protocol {
                Protocol::Iperf2 => {
                    let repeat = repeat::repeat_plan(&settings);
                    Plan::Client(Box::new(client), settings.presentation, repeat)
                }
                Protocol::Iperf3 => {
                    peer::only_known(raw, log)?;
                    let client = peer::client(&settings, &client, log)?;
                    let repeat = repeat::repeat_plan(&settings);
                    Plan::Iperf3(Box::new(Iperf3Job {
                        task: Iperf3Task::Client(Box::new(client)),
                        presentation: settings.presentation,
                        pid_file: None,
                        repeat,
                    }))
                }
            }
        }
    };
    Ok(plan)
}

/// The file first, then the environment, then the line from left to right, then the words left over.
fn apply_all(
    settings: &mut Settings,
    raw: &RawArgs,
    program: &str,
    log: &mut Diagnostics,
) -> Result<(), Exit> {
    let personality = settings.personality;
    let job_is_typed = personality == Personality::Native
        && (operands(raw).next().is_some() || ids(raw).any(chooses_job));
    // What `-i` may be depends on it, in whatever order they are given.
    let mut given = raw
        .environment
        .iter()
        .map(|given| given.spec.id)
        .chain(ids(raw));
    if personality == Personality::Iperf2 && given.any(|id| id == OptionId::FastSampling) {
        settings.presentation.build = Build::FastSampling;
    }
    for given in &raw.file {
        apply::apply(settings, given, log)?;
    }
    for given in &raw.environment {
        let superseded = job_is_typed && chooses_job(given.spec.id);
        if given.spec.personalities.include(personality) && !superseded {
            apply::apply(settings, given, log)?;
        }
    }
    let mut words = Vec::new();
    for item in &raw.line {
        match item {
            RawItem::Option(given) => apply::apply(settings, given, log)?,
            RawItem::Operand(word) => words.push(word),
            RawItem::Fault(fault) => report(fault, program, log)?,
        }
    }
    match personality {
        Personality::Iperf2 => {
            for word in words {
                let word = word.to_string_lossy();
                log.say(CliMessage::err(format!(
                    "{program}: ignoring extra argument -- {word}"
                )));
            }
            Ok(())
        }
        Personality::Native => operands_of_job(settings, &words, raw, log),
    }
}

/// Under tapeline the job does not depend on the order of the options.
pub(crate) fn native_mode(raw: &RawArgs) -> Mode {
    let from = |server: bool, client: bool| match (server, client) {
        (true, _) => Mode::Server,
        (false, true) => Mode::Client,
        (false, false) => Mode::Undecided,
    };
    let mut words = operands(raw);
    let first = words.next().and_then(OsStr::to_str).unwrap_or_default();
    match registry::find(first) {
        // Without a host it is this machine that is tried.
        Some(entry) if entry.word != TRY || words.next().is_some() || asks_for_help(raw) => {
            return Mode::Method(entry.word);
        }
        _ => {}
    }
    match first {
        TRY => return Mode::Trial,
        "exporter" => return Mode::Exporter,
        _ => {}
    }
    let typed = |wanted| ids(raw).any(|id| id == wanted);
    match from(typed(OptionId::Server), typed(OptionId::Client)) {
        Mode::Undecided => {
            let set = |wanted| raw.environment.iter().any(|given| given.spec.id == wanted);
            from(set(OptionId::Server), set(OptionId::Client))
        }
        mode => mode,
    }
}

/// The job and the method of that name.
const TRY: &str = "try";

fn asks_for_help(raw: &RawArgs) -> bool {
    ids(raw).any(|id| id == OptionId::Help)
}

fn chooses_job(id: OptionId) -> bool {
    matches!(id, OptionId::Server | OptionId::Client)
}

fn ids(raw: &RawArgs) -> impl Iterator<Item = OptionId> {
    raw.line.iter().filter_map(|item| match item {
        RawItem::Option(given) => Some(given.spec.id),
        _ => None,
    })
}

fn operands(raw: &RawArgs) -> impl Iterator<Item = &OsStr> {
    raw.line.iter().filter_map(|item| match item {
        RawItem::Operand(word) => Some(word.as_os_str()),
        _ => None,
    })
}

/// Says how a word becomes the value of the option before it, if that may have one and has none.
fn option_before(raw: &RawArgs, word: &OsStr) -> Option<String> {
    let pairs = raw.line.windows(2);
    pairs
        .filter_map(|pair| match pair {
            [RawItem::Option(given), RawItem::Operand(its)] => Some((given, its)),
            _ => None,
        })
        .find(|(given, its)| {
            *its == word && given.spec.arity == Arity::Optional && given.value.is_none()
        })
        .map(|(given, _)| detached(&given.spelled, word))
}

/// `try`, `exporter [HOST]...` and methods are the only things that words may say.
fn operands_of_job(
    settings: &mut Settings,
    words: &[&std::ffi::OsString],
    raw: &RawArgs,
    log: &mut Diagnostics,
) -> Result<(), Exit> {
    if settings.mode == Mode::Exporter {
        let hosts = words.iter().skip(1);
        settings.targets = hosts
            .map(|word| word.to_string_lossy().into_owned())
            .collect();
        return Ok(());
    }
    if let Mode::Method(word) = settings.mode {
        let [_, host] = words else {
            let usage = Some(format!("tapeline {word} HOST[:PORT] [OPTIONS]"));
            let sentence = match words {
                [_] => format!("{word} needs a host"),
                _ => format!("{word} takes one host"),
            };
            return Err(log.fatal_with_hint(&sentence, usage));
        };
        settings.host = Some(host.to_string_lossy().into_owned());
        return Ok(());
    }
    match words.get(usize::from(settings.mode == Mode::Trial)) {
        None => Ok(()),
        Some(word) => {
            let bare = option_before(raw, word);
            let word = word.to_string_lossy();
            let hint = bare.unwrap_or_else(|| {
                format!("tapeline -c {word}, or tapeline try {word} for a quick check")
            });
            Err(log.fatal_with_hint(&format!("unknown command \"{word}\""), Some(hint)))
        }
    }
}

/// iperf reports a faulty piece and goes on; tapeline stops.
fn report(fault: &SyntaxFault, program: &str, log: &mut Diagnostics) -> Result<(), Exit> {
    if log.personality() == Personality::Iperf2 {
        let sentence = match fault {
            SyntaxFault::UnknownLetter(letter) => format!("invalid option -- {letter}"),
            SyntaxFault::UnknownName(word) => format!("unrecognized option `--{word}'"),
            SyntaxFault::Ambiguous { word, .. } => format!("option `--{word}' is ambiguous"),
            SyntaxFault::MissingValue(spelled) => match spelled.strip_prefix("--") {
                Some(name) => format!("option `--{name}' requires an argument"),
                None => format!("option requires an argument -- {}", &spelled[1..]),
            },
            SyntaxFault::UnexpectedValue(name) => {
                format!("option `--{name}' doesn't allow an argument")
            }
        };
        log.say(CliMessage::err(format!("{program}: {sentence}")));
        return Ok(());
    }
    let hint = match fault {
        SyntaxFault::UnknownLetter(letter) => iperf3_letter(*letter),
        _ => None,
    };
    Err(log.fatal_with_hint(&complaint(fault), hint))
}

/// What tapeline says of a piece that is no correct option.
pub(crate) fn complaint(fault: &SyntaxFault) -> String {
    match fault {
        SyntaxFault::UnknownLetter(letter) => format!("unknown option -{letter}"),
        SyntaxFault::UnknownName(word) => unknown_name(word),
        SyntaxFault::Ambiguous { word, candidates } => {
            format!("--{word} could be --{}", candidates.join(", --"))
        }
        SyntaxFault::MissingValue(spelled) => format!("{spelled} needs a value"),
        SyntaxFault::UnexpectedValue(name) => format!("--{name} takes no value"),
    }
}

fn unknown_name(word: &str) -> String {
    let name = word.split('=').next().unwrap_or_default();
    if all().any(|spec| spec.long == name && spec.personalities == Personalities::Iperf2) {
        return format!("--{name} is an option of the name iperf alone (tapeline --as iperf)");
    }
    match nearest(name, Personality::Native) {
        Some(near) => format!("unknown option --{name} (did you mean --{near}?)"),
        None => format!("unknown option --{name}"),
    }
}

/// Letters that iperf3 has and tapeline has not.
const OF_IPERF3: [char; 3] = ['A', 'J', 'k'];

/// What helps where somebody typed a letter of iperf3's.
fn iperf3_letter(letter: char) -> Option<String> {
    OF_IPERF3.contains(&letter).then(|| {
        let own = if letter == 'J' { "--json, or " } else { "" };
        format!("{own}\"tapeline --as iperf3\" for iperf3's options")
    })
}

/// iperf's answer to a line without `-s` and `-c`.
fn usage(program: &str, log: &mut Diagnostics) -> Exit {
    log.say(CliMessage::err(format!(
        "Usage: {program} [-s|-c host] [options]\nTry `{program} --help' for more information."
    )));
    Exit::Code(ExitCode::Success)
}

/// iperf says on standard output where its output goes.
fn announce_output(settings: &Settings, log: &mut Diagnostics) {
    if let Some(file) = settings
        .presentation
        .output_file
        .as_ref()
        .filter(|_| settings.iperf())
    {
        log.say(CliMessage::out(format!(
            "Output from stdout (but not from stderr) will be redirected to file {}",
            file.display()
        )));
    }
}
