//! Different flows in one test: an ordinary client's line for each of them.
//!
//! ```text
//! -c HOST -t 5 --flow '-u -b 1m' --flow '-P 4 -R'
//!   └─ flow 1: -c HOST -t 5 -u -b 1m      resolved as any client's line; what is wrong
//!      flow 2: -c HOST -t 5 -P 4 -R       is said of --flow 1 or 2
//! ```

use std::ffi::OsString;
use std::path::Path;

use tapeline_dialect::{Arrangement, ClientWorkload, Payload, Personality};

use super::config_file::{self, FileFlow};
use super::diagnostics::{Diagnostics, Exit};
use super::options::table::KnownTo;
use super::parse;
use super::spec::{Given, Group, OptionId as Id, RawArgs, RawItem};
use crate::message::CliMessage;
use crate::plan::{FlowPlan, FlowsPlan, Plan, Resolution};
use crate::presentation::{Presentation, TextStyle};

/// Flows of a test at most.
const MOST: usize = 64;

/// A flow as it was given.
struct Asked {
    /// `--flow 2`, for errors.
    label: String,
    name: Option<String>,
    /// Its options in words.
    options: String,
    items: Vec<RawItem>,
}

/// Whether a line has flows of its own.
pub(crate) fn are_asked(raw: &RawArgs) -> bool {
    options(&raw.line).any(|given| is_flow(given.spec.id))
}

/// The plan of a line with flows; `resolve` does the same of a line without.
///
/// # Errors
/// [`Exit`] where a flow, or what is for all of them, cannot be carried out.
pub(crate) fn plan(
    raw: &RawArgs,
    resolve: &dyn Fn(&RawArgs) -> Resolution,
    log: &mut Diagnostics,
) -> Result<Plan, Exit> {
    let mut common = RawArgs {
        file: raw.file.clone(),
        environment: raw.environment.clone(),
        line: Vec::new(),
    };
    let mut asked: Vec<Asked> = Vec::new();
    let mut typed = Vec::new();
    for item in &raw.line {
        match item {
            RawItem::Option(given) if given.spec.id == Id::Flow => {
                asked.push(read(&given.text(), asked.len() + 1, log)?);
            }
            RawItem::Option(given) if given.spec.id == Id::Flows => {
                let path = given.text();
                let file = config_file::read_flows(Path::new(&path));
                let file = file.map_err(|sentence| log.fatal("", sentence))?;
                common
                    .line
                    .extend(file.common.into_iter().map(RawItem::Option));
                for flow in file.flows {
                    asked.push(of_file(flow, asked.len() + 1));
                }
            }
            other => typed.push(other.clone()),
        }
    }
    // What is typed counts more than the file.
    common.line.append(&mut typed);
    if asked.is_empty() || asked.len() > MOST {
        let sentence = format!("a test has 1 to {MOST} flows, not {}", asked.len());
        return Err(log.fatal("", sentence));
    }
    refuse_of_all(&common, log)?;
    let resolution = resolve(&common);
    let said = resolution.messages.clone();
    let (host, presentation) = match resolution.outcome {
        Ok(Plan::Client(plan, presentation, None)) => {
            // What a history keeps are single tests.
            let save = None;
            (
                plan.host,
                Presentation {
                    save,
                    ..presentation
                },
            )
        }
        Ok(Plan::Client(..)) => {
            return Err(log.fatal("", unrepeated("--repeat")));
        }
        Ok(Plan::Iperf3(_)) => {
            let sentence = "an iperf3 server runs one test at a time: several flows need a server \
                            that is tapeline or iperf 2";
            return Err(log.fatal("", sentence));
        }
        Ok(Plan::Help(page)) => return Err(Exit::Help(page)),
        Ok(Plan::Version) => return Err(Exit::Version),
        Ok(_) => return Err(log.fatal("", "--flow is for clients: -c HOST names the server")),
        Err(code) => {
            said.into_iter().for_each(|message| log.say(message));
            return Err(Exit::Code(code));
        }
    };
    match presentation.style {
        TextStyle::Native | TextStyle::Document(_) if !presentation.view => {}
        _ => return Err(log.fatal("", "--tui does not apply to several flows")),
    }
    if presentation.amount == tapeline_report::Amount::Brief {
        return Err(log.fatal("", "--brief does not apply to several flows; --json does"));
    }
    said.iter().cloned().for_each(|message| log.say(message));
    let mut flows = Vec::new();
    for one in asked {
        flows.push(flow(one, &common, &said, resolve, log)?);
    }
    let plan = FlowsPlan { host, flows };
    Ok(Plan::Flows(Box::new(plan), presentation))
}

fn options(line: &[RawItem]) -> impl Iterator<Item = &Given> {
    line.iter().filter_map(|item| match item {
        RawItem::Option(given) => Some(given),
        _ => None,
    })
}

fn is_flow(id: Id) -> bool {
    matches!(id, Id::Flow | Id::Flows)
}

/// Reads `NAME: OPTIONS` or `OPTIONS`.
fn read(text: &str, number: usize, log: &mut Diagnostics) -> Result<Asked, Exit> {
    let label = format!("--flow {number}");
    let (name, options) = name_and_options(text);
    let Some(items) = items(options) else {
        return Err(log.fatal("", format!("{label}: a quotation mark is not closed")));
    };
    Ok(Asked {
        name: name.map(str::to_owned),
        options: options.trim().to_owned(),
        items,
        label,
    })
}

fn name_and_options(text: &str) -> (Option<&str>, &str) {
    match text.split_once(':') {
        Some((name, options)) if !name.trim_start().starts_with('-') => {
            (Some(name.trim()).filter(|name| !name.is_empty()), options)
        }
        _ => (None, text),
    }
}

/// The options of `--flow`'s value; nothing where a quotation mark is not closed.
pub(crate) fn options_of(value: &str) -> Option<Vec<Given>> {
    let items = items(name_and_options(value).1)?;
    Some(options(&items).cloned().collect())
}

fn items(options: &str) -> Option<Vec<RawItem>> {
    let words = words(options)?.into_iter().map(OsString::from);
    Some(parse::cut(words, &KnownTo(Personality::Native)))
}

fn of_file(flow: FileFlow, number: usize) -> Asked {
    let shown = flow.options.iter().map(|given| match &given.value {
        Some(value) => format!("{} {}", given.spec.shortest_name(), value.to_string_lossy()),
        None => given.spec.shortest_name(),
    });
    Asked {
        label: format!("flow {number}"),
        name: flow.name,
        options: shown.collect::<Vec<_>>().join(" "),
        items: flow.options.into_iter().map(RawItem::Option).collect(),
    }
}

/// Words as a shell cuts them, with quotation marks of both kinds; nothing where one is not closed.
pub(crate) fn words(text: &str) -> Option<Vec<String>> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quote = None;
    for letter in text.chars() {
        match (quote, letter) {
            (Some(open), _) if letter == open => quote = None,
            (None, '\'' | '"') => {
                quote = Some(letter);
                word.get_or_insert_default();
            }
            (None, _) if letter.is_whitespace() => words.extend(word.take()),
            _ => word.get_or_insert_default().push(letter),
        }
    }
    words.extend(word);
    quote.is_none().then_some(words)
}

/// What nobody can do with several flows.
fn refuse_of_all(common: &RawArgs, log: &mut Diagnostics) -> Result<(), Exit> {
    for given in options(&common.line) {
        let sentence = match given.spec.id {
            Id::Repeat | Id::Precision | Id::RepeatPause | Id::RepeatCsv => {
                unrepeated(&given.named())
            }
            Id::Save => format!("{} does not apply to several flows", given.named()),
            _ => continue,
        };
        return Err(log.fatal("", sentence));
    }
    Ok(())
}

/// In the documents of several runs `test` is the number of the run, and here that of the flow.
fn unrepeated(option: &str) -> String {
    format!(
        "{option} does not apply to several flows: repeat the line, with a --json=FILE for each run"
    )
}

/// Whether an option is for one flow of several.
fn is_of_one(given: &Given) -> bool {
    let everybodys = matches!(
        given.spec.id,
        Id::Client
            | Id::Server
            | Id::Daemon
            | Id::ReadyFd
            | Id::Config
            | Id::PrintConfig
            | Id::Peer
            | Id::Repeat
            | Id::Precision
            | Id::RepeatPause
            | Id::RepeatCsv
            | Id::Flow
            | Id::Flows
            | Id::StdinInput
    );
    !everybodys
        && !matches!(
            given.spec.group,
            Group::Output | Group::Access | Group::Misc
        )
}

/// Resolves one flow.
fn flow(
    asked: Asked,
    common: &RawArgs,
    said: &[CliMessage],
    resolve: &dyn Fn(&RawArgs) -> Resolution,
    log: &mut Diagnostics,
) -> Result<FlowPlan, Exit> {
    let label = &asked.label;
    for given in options(&asked.items) {
        if !is_of_one(given) {
            let option = given.named();
            let option = option.strip_prefix("option ").unwrap_or(&option);
            let sentence = format!("{label}: {option} is for all flows: it stands outside --flow");
            return Err(log.fatal("", sentence));
        }
    }
    let faulty = |item: &RawItem| matches!(item, RawItem::Fault(_));
    let operand = asked.items.iter().find_map(|item| match item {
        RawItem::Operand(word) => Some(word),
        _ => None,
    });
    // The word behind an unknown option may be its value.
    if let Some(word) = operand.filter(|_| !asked.items.iter().any(faulty)) {
        let word = word.to_string_lossy();
        return Err(log.fatal("", format!("{label}: \"{word}\" is no option")));
    }
    let mut raw = common.clone();
    raw.line.extend(asked.items);
    let resolution = resolve(&raw);
    for message in resolution.messages {
        if !said.contains(&message) {
            log.say(labelled(message, label));
        }
    }
    let plan = match resolution.outcome {
        Ok(Plan::Client(plan, ..)) => *plan,
        Ok(_) => return Err(log.fatal("", format!("{label} is no client's test"))),
        Err(code) => return Err(Exit::Code(code)),
    };
    let refused = match (&plan.workload, &plan.payload) {
        (ClientWorkload::ConnectOnly { .. }, _) => Some("--connect-only"),
        (ClientWorkload::Stream(Arrangement::Dual { .. }), _) => Some("-d"),
        (ClientWorkload::Stream(Arrangement::Tradeoff { .. }), _) => Some("-r"),
        (_, Payload::StandardInput) => Some("-I"),
        _ => None,
    };
    if let Some(option) = refused {
        let sentence = format!("{label}: {option} does not apply to one flow of several");
        return Err(log.fatal("", sentence));
    }
    Ok(FlowPlan {
        name: asked.name,
        options: asked.options,
        plan,
    })
}

/// `error: --flow 2: ...`.
fn labelled(message: CliMessage, label: &str) -> CliMessage {
    let text = ["error: ", "warning: "].iter().find_map(|severity| {
        let rest = message.text.strip_prefix(severity)?;
        Some(format!("{severity}{label}: {rest}"))
    });
    CliMessage {
        text: text.unwrap_or_else(|| format!("{label}: {}", message.text)),
        ..message
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tapeline_base::{BitRate, Pace, Transport};
    use tapeline_dialect::{Limit, StartTime};

    use super::*;
    use crate::cli::invocation::understand;
    use crate::plan::Invocation;

    fn resolution(arguments: &[&str]) -> Resolution {
        understand(&Invocation {
            program: "tapeline".into(),
            arguments: arguments.iter().map(OsString::from).collect(),
            variable: &|_| None,
            resolver: |_| Vec::new(),
        })
        .1
    }

    fn flows(arguments: &[&str]) -> FlowsPlan {
        match resolution(arguments).outcome {
            Ok(Plan::Flows(plan, _)) => *plan,
            other => panic!("{arguments:?}: {other:?}"),
        }
    }

    fn refused(arguments: &[&str]) -> String {
        let resolution = resolution(arguments);
        assert_eq!(resolution.outcome, Err(tapeline_base::ExitCode::Usage));
        let texts = resolution.messages.into_iter().map(|message| message.text);
        texts.collect::<Vec<_>>().join("\n")
    }

    #[test]
    fn a_flow_has_what_all_have_and_its_own() {
        let plan = flows(&[
            "-c",
            "h",
            "-t",
            "5",
            "-i",
            "0.5",
            "--flow",
            "voice: -u -b 64k -l 200 -S ef",
            "--flow",
            "-P 4 -R -t 3 --txdelay-time 1.5",
        ]);
        assert_eq!(plan.host, "h");
        let [voice, bulk] = &plan.flows[..] else {
            panic!("{plan:?}");
        };
        assert_eq!(voice.name.as_deref(), Some("voice"));
        assert_eq!(voice.options, "-u -b 64k -l 200 -S ef");
        let its = &voice.plan;
        assert_eq!((its.transport, its.length), (Transport::Udp, Some(200)));
        assert_eq!(its.pace, Some(Pace::Bits(BitRate(64_000))));
        assert_eq!(its.limit, Limit::Time(Duration::from_secs(5)));
        assert_eq!(its.socket.tos.map(|tos| tos.dscp()), Some(46));
        assert_eq!(voice.start(), Duration::ZERO);
        let its = &bulk.plan;
        assert_eq!((its.transport, its.parallel), (Transport::Tcp, 4));
        assert_eq!(its.workload, ClientWorkload::Stream(Arrangement::Reverse));
        assert_eq!(its.limit, Limit::Time(Duration::from_secs(3)));
        assert_eq!(its.interval, Some(Duration::from_millis(500)));
        assert_eq!(its.start, StartTime::After(Duration::from_millis(1500)));
        assert_eq!(bulk.start(), Duration::from_millis(1500));
    }

    #[test]
    fn what_is_wrong_names_the_flow_and_the_option() {
        for (arguments, said) in [
            (
                vec!["--flow", "-u", "--flow", "-t x"],
                "error: --flow 2: -t needs",
            ),
            (
                vec!["--flow", "-u", "--flow", "--paralel 3"],
                "error: --flow 2: unknown option --paralel",
            ),
            (vec!["--flow", "-P"], "error: --flow 1: -P needs a value"),
            (
                vec!["--flow", "-o f"],
                "error: --flow 1: -o is for all flows",
            ),
            (
                vec!["--flow", "-c other"],
                "error: --flow 1: -c is for all flows",
            ),
            (
                vec!["--flow", "-u extra"],
                "error: --flow 1: \"extra\" is no option",
            ),
            (
                vec!["--flow", "-F 'a b"],
                "error: --flow 1: a quotation mark",
            ),
            (vec!["--flow", "-d"], "error: --flow 1: -d does not apply"),
            (
                vec!["--flow", "--connect-only"],
                "error: --flow 1: --connect-only does not",
            ),
            (
                vec!["--flow", "-u", "--repeat", "3"],
                "error: --repeat does not apply",
            ),
            (
                vec!["--flow", "-u", "--brief"],
                "error: --brief does not apply",
            ),
            (
                vec!["--flow", "-u", "--peer", "iperf3"],
                "error: an iperf3 server runs one test",
            ),
            (
                vec!["--flows", "/no/such/file"],
                "error: flows /no/such/file: No such",
            ),
        ] {
            let line: Vec<&str> = ["-c", "h"].into_iter().chain(arguments).collect();
            let message = refused(&line);
            assert!(message.starts_with(said), "{line:?}: {message}");
        }
        assert!(refused(&["-s", "--flow", "-u"]).contains("-c HOST names the server"));
        assert!(refused(&["--flow", "-u"]).starts_with("error: nothing to do"));
    }

    #[test]
    fn words_may_be_quoted() {
        let cut = |text: &str| words(text).map(|words| words.join("|"));
        assert_eq!(cut(" -F 'a b'  -u "), Some("-F|a b|-u".to_owned()));
        assert_eq!(cut("-F\"a\"'b' ''"), Some("-Fab|".to_owned()));
        assert_eq!(cut("-F 'a"), None);
    }

    #[test]
    fn a_file_says_the_same() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("office.toml");
        let text = "host = 'h'\ntime = 5\n\n[[flow]]\nname = 'voice'\nudp = true\n\
                    bandwidth = '64k'\nlen = 200\n\n[[flow]]\nparallel = 4\nreverse = true\n";
        std::fs::write(&path, text).expect("written");
        let path = path.to_string_lossy().into_owned();
        let plan = flows(&["--flows", &path]);
        assert_eq!(plan.host, "h");
        let named: Vec<_> = plan
            .flows
            .iter()
            .map(|flow| (flow.name.as_deref(), flow.options.as_str()))
            .collect();
        assert_eq!(
            named,
            [(Some("voice"), "-u -b 64k -l 200"), (None, "-P 4 -R")]
        );
        assert_eq!(
            plan.flows[1].plan.limit,
            Limit::Time(Duration::from_secs(5))
        );
        let typed = flows(&["--flows", &path, "-c", "g", "-t", "2", "--flow", "-u"]);
        assert_eq!((typed.host.as_str(), typed.flows.len()), ("g", 3));
        assert_eq!(
            typed.flows[0].plan.limit,
            Limit::Time(Duration::from_secs(2))
        );
        for (text, said) in [
            (
                "host = 'h'\n[[flow]]\nlen = 'x'\n",
                ":3: len needs a number",
            ),
            (
                "host = 'h'\n[[flow]]\nudpp = true\n",
                ":3: a client has no option udpp; did you mean udp?",
            ),
            (
                "host = 'h'\n[[flow]]\njson = true\n",
                ":3: json is for all flows",
            ),
            ("host = 'h'\nflow = 3\n", ":2: flow is a table: [[flow]]"),
            ("host = 'h'\n", "a test has 1 to 64 flows, not 0"),
        ] {
            std::fs::write(&path, text).expect("written");
            let message = refused(&["--flows", &path]);
            assert!(message.contains(said), "{text}: {message}");
        }
    }
}
