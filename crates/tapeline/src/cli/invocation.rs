//! Under which name the program was called, with which words and variables.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use tapeline_base::ExitCode;
use tapeline_dialect::Personality;

#[cfg(feature = "history")]
use super::commands;
use super::options::table::KnownTo;
use super::resolve::{native_mode, resolve};
use super::settings::Mode;
use super::spec::{Given, OptionId, RawArgs, RawItem};
#[cfg(not(feature = "history"))]
use super::values::missing;
use super::{config_file, environment, iperf3, parse, refusal, third_party};
use crate::explain;
use crate::message::CliMessage;
use crate::plan::{CommandName, Document, Invocation, Plan, Resolution};

/// A name that chooses whose habits apply.
enum Name {
    Known(Personality),
    Iperf3,
    Unknown(String),
}

/// Understands an invocation: whose habits apply, and what is to be done.
///
/// The habits follow from the file name of the program (`iperf`, `iperf3`, else tapeline's own) or
/// from `--as NAME`, which must be the first word.
#[must_use]
pub fn understand(invocation: &Invocation<'_>) -> (Personality, Resolution) {
    let (personality, resolution) = resolved(invocation);
    (personality, confined(resolution, invocation))
}

/// Confines the job to the optimisations that the environment leaves.
fn confined(mut resolution: Resolution, invocation: &Invocation<'_>) -> Resolution {
    if let Ok(plan) = &mut resolution.outcome {
        match environment::techniques(invocation.variable) {
            Ok(techniques) => plan.confine(techniques),
            Err(sentence) => {
                return Resolution {
                    outcome: Err(ExitCode::Failure),
                    ..refusal(sentence)
                };
            }
        }
    }
    resolution
}

fn resolved(invocation: &Invocation<'_>) -> (Personality, Resolution) {
    let (name, program, arguments) = chosen_name(invocation);
    match name {
        Name::Known(personality) if generates(arguments) => {
            let name = match personality {
                Personality::Native => CommandName::Tapeline,
                Personality::Iperf2 => CommandName::Iperf,
            };
            (personality, generate(arguments, name))
        }
        Name::Known(Personality::Native) if explains(arguments) => {
            (Personality::Native, explanation(arguments))
        }
        Name::Known(Personality::Native) if is_about_results(arguments) => {
            (Personality::Native, about_results(arguments))
        }
        Name::Known(Personality::Native) if is_ordered(arguments) => {
            (Personality::Native, remote(arguments))
        }
        Name::Known(personality) => {
            let line = parse::cut(arguments.iter().cloned(), &KnownTo(personality));
            let mut environment = environment::read(invocation.variable);
            if personality == Personality::Native {
                environment.extend(environment::read_own(invocation.variable));
            }
            let mut raw = RawArgs {
                file: Vec::new(),
                environment,
                line,
            };
            let configured = match configured(&raw.line) {
                Ok(None) if personality == Personality::Native => habits(&raw, invocation),
                named => named.map(Option::unwrap_or_default),
            };
            let fault = match configured {
                Ok(file) => {
                    raw.file = file;
                    None
                }
                Err(sentence) => Some(sentence),
            };
            let mut resolution = match fault {
                Some(sentence) => refusal(sentence),
                None => resolve(&raw, personality, &program, invocation.resolver),
            };
            if personality == Personality::Native {
                resolution = third_party::ordered(&raw, resolution);
            }
            if personality == Personality::Native && resolution.outcome.is_err() {
                resolution.refusals = refusal::documents(&raw, &resolution.messages, invocation);
            }
            (personality, resolution)
        }
        Name::Iperf3 if generates(arguments) => (
            Personality::Native,
            generate(arguments, CommandName::Iperf3),
        ),
        Name::Iperf3 => (
            Personality::Native,
            iperf3::resolve::resolve(arguments, invocation.variable, &program),
        ),
        Name::Unknown(name) => (
            Personality::Native,
            refusal(format!(
                "option --as: '{name}' is none of tapeline, iperf, iperf3"
            )),
        ),
    }
}

/// Options from the file that the line names, if it names one.
fn configured(line: &[RawItem]) -> Result<Option<Vec<Given>>, String> {
    let named = line.iter().rev().find_map(|item| match item {
        RawItem::Option(given) if given.spec.id == OptionId::Config => given.value.as_ref(),
        _ => None,
    });
    named
        .map(|path| config_file::read(Path::new(path)))
        .transpose()
}

/// A user's habits, which hold for clients: from `$XDG_CONFIG_HOME/tapeline/config.toml`.
fn habits(raw: &RawArgs, invocation: &Invocation<'_>) -> Result<Vec<Given>, String> {
    let folder = |name: &str| {
        let value = (invocation.variable)(name).filter(|value| !value.is_empty());
        value.map(PathBuf::from).filter(|path| path.is_absolute())
    };
    let home = || folder("HOME").map(|home| home.join(".config"));
    match folder("XDG_CONFIG_HOME").or_else(home) {
        Some(folder) if native_mode(raw) == Mode::Client => {
            config_file::read_habits(&folder.join("tapeline/config.toml"))
        }
        _ => Ok(Vec::new()),
    }
}

/// The name, the program name for iperf's messages, and the words that are left.
fn chosen_name<'a>(invocation: &'a Invocation<'_>) -> (Name, String, &'a [OsString]) {
    let arguments = invocation.arguments.as_slice();
    let first = arguments.first().and_then(|word| word.to_str());
    if let Some(name) = first.and_then(|word| word.strip_prefix("--as=")) {
        return (by_word(name), name.to_owned(), &arguments[1..]);
    }
    if first == Some("--as") {
        let name = arguments
            .get(1)
            .map_or_else(String::new, |word| word.to_string_lossy().into());
        return (by_word(&name), name, arguments.get(2..).unwrap_or_default());
    }
    let program = invocation.program.to_string_lossy().into_owned();
    (by_file_name(&invocation.program), program, arguments)
}

fn by_word(name: &str) -> Name {
    match name {
        "tapeline" => Name::Known(Personality::Native),
        "iperf" => Name::Known(Personality::Iperf2),
        "iperf3" => Name::Iperf3,
        other => Name::Unknown(other.to_owned()),
    }
}

fn by_file_name(program: &OsStr) -> Name {
    match Path::new(program).file_stem().and_then(OsStr::to_str) {
        Some("iperf") => Name::Known(Personality::Iperf2),
        Some("iperf3") => Name::Iperf3,
        _ => Name::Known(Personality::Native),
    }
}

const GENERATE: &str = "--generate";

/// Whether a document is asked for; like `--as`, only by the first word.
fn generates(arguments: &[OsString]) -> bool {
    let first = arguments.first().and_then(|word| word.to_str());
    first.is_some_and(|word| word.split('=').next() == Some(GENERATE))
}

/// Whether a warning is to be explained: the first word says so.
fn explains(arguments: &[OsString]) -> bool {
    arguments.first().is_some_and(|word| word == "explain")
}

/// Whether it is about results that stay: the first word says so.
fn is_about_results(arguments: &[OsString]) -> bool {
    let first = arguments.first().and_then(|word| word.to_str());
    const COMMANDS: [&str; 7] = [
        "history", "compare", "gate", "mesh", "agent", "fleet", "web",
    ];
    first.is_some_and(|word| COMMANDS.contains(&word))
}

#[cfg(feature = "history")]
fn about_results(arguments: &[OsString]) -> Resolution {
    commands::resolve::resolve(arguments)
}

#[cfg(not(feature = "history"))]
fn about_results(arguments: &[OsString]) -> Resolution {
    let first = arguments.first().and_then(|word| word.to_str());
    refusal(missing(first.unwrap_or_default()))
}

/// Whether tests are to be ordered on standard input: the first word says so.
fn is_ordered(arguments: &[OsString]) -> bool {
    arguments.first().is_some_and(|word| word == "remote")
}

fn remote(arguments: &[OsString]) -> Resolution {
    match arguments.len() {
        1 => Resolution {
            messages: Vec::new(),
            outcome: Ok(Plan::Remote),
            refusals: Vec::new(),
        },
        _ => refusal("remote takes no options: orders come on standard input".to_owned()),
    }
}

fn explanation(arguments: &[OsString]) -> Resolution {
    let name = arguments
        .get(1)
        .map(|word| word.to_string_lossy().into_owned());
    match &name {
        Some(name) if arguments.len() == 2 && !explain::knows(name) => refusal(format!(
            "unknown warning \"{name}\" (tapeline explain lists all of them)"
        )),
        _ if arguments.len() > 2 => refusal("explain takes one name".to_owned()),
        _ => Resolution {
            messages: Vec::new(),
            outcome: Ok(Plan::Explain(name)),
            refusals: Vec::new(),
        },
    }
}

fn generate(arguments: &[OsString], name: CommandName) -> Resolution {
    let words: Vec<_> = arguments
        .iter()
        .map(|word| word.to_string_lossy())
        .collect();
    let words: Vec<&str> = words.iter().flat_map(|word| word.split('=')).collect();
    let document = match words[..] {
        [_, name] => Document::named(name),
        _ => None,
    };
    match document {
        Some(document) => Resolution {
            messages: Vec::new(),
            outcome: Ok(Plan::Generate(document, name)),
            refusals: Vec::new(),
        },
        None => refusal(format!(
            "{GENERATE} is followed by man, bash, zsh, fish or form, and nothing else"
        )),
    }
}

fn refusal(sentence: String) -> Resolution {
    Resolution {
        messages: vec![CliMessage::err(format!("error: {sentence}"))],
        outcome: Err(ExitCode::Usage),
        refusals: Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use tapeline_dialect::{Technique, Techniques};

    use super::*;
    use crate::plan::{HelpPage, Iperf3Task};

    fn call(program: &str, line: &str) -> (Personality, Resolution) {
        understand(&Invocation {
            program: program.into(),
            arguments: line.split_whitespace().map(OsString::from).collect(),
            variable: &|_| None,
            resolver: |_| Vec::new(),
        })
    }

    #[test]
    fn the_file_name_chooses_the_habits() {
        assert_eq!(call("/usr/bin/iperf", "-v").0, Personality::Iperf2);
        assert_eq!(call("iperf.exe", "-v").0, Personality::Iperf2);
        assert_eq!(call("/usr/bin/tapeline", "-v").0, Personality::Native);
        assert_eq!(call("whatever", "-v").0, Personality::Native);
    }

    #[test]
    fn as_chooses_the_habits_when_it_comes_first() {
        assert_eq!(
            call("tapeline", "--as iperf -h").1.outcome,
            Ok(Plan::Help(HelpPage::Iperf2))
        );
        assert_eq!(call("tapeline", "--as=iperf -v").0, Personality::Iperf2);
        assert_eq!(call("iperf", "--as tapeline -v").0, Personality::Native);
        let (_, late) = call("tapeline", "-u --as iperf");
        assert_eq!(late.outcome, Err(ExitCode::Usage));
    }

    #[test]
    fn documents_are_asked_for_by_the_first_word() {
        for line in ["--generate man", "--generate=man"] {
            let outcome = call("tapeline", line).1.outcome;
            let wanted = Plan::Generate(Document::Man, CommandName::Tapeline);
            assert_eq!(outcome, Ok(wanted), "{line}");
        }
        for (word, name) in [
            ("iperf", CommandName::Iperf),
            ("iperf3", CommandName::Iperf3),
        ] {
            let (_, page) = call("tapeline", &format!("--as {word} --generate man"));
            assert_eq!(page.outcome, Ok(Plan::Generate(Document::Man, name)));
        }
        for bad in [
            "--generate",
            "--generate ksh",
            "--generate man -s",
            "-s --generate man",
        ] {
            let outcome = call("tapeline", bad).1.outcome;
            assert_eq!(outcome, Err(ExitCode::Usage), "{bad}");
        }
    }

    #[test]
    fn warnings_are_explained() {
        let outcome = |line: &str| call("tapeline", line).1.outcome;
        assert_eq!(outcome("explain"), Ok(Plan::Explain(None)));
        assert_eq!(outcome("remote"), Ok(Plan::Remote));
        assert_eq!(outcome("remote -v"), Err(ExitCode::Usage));
        let known = Some("interrupted".to_owned());
        assert_eq!(outcome("explain interrupted"), Ok(Plan::Explain(known)));
        assert_eq!(outcome("explain nothing"), Err(ExitCode::Usage));
        assert_eq!(outcome("explain interrupted other"), Err(ExitCode::Usage));
    }

    #[test]
    fn a_refusal_is_a_document_where_json_is_asked_for() {
        for (line, why) in [
            (
                "--json -c h --paralel 3",
                "unknown option --paralel (did you mean --parallel?)",
            ),
            ("-c h -u -t x --json-stream", "-t needs a number of seconds"),
            ("-s --json -P", "-P needs a value"),
            ("--json", "nothing to do"),
        ] {
            let (_, resolution) = call("tapeline", line);
            assert_eq!(resolution.outcome, Err(ExitCode::Usage), "{line}");
            let ([said], [document]) = (&resolution.messages[..], &resolution.refusals[..]) else {
                panic!("{line}: {resolution:?}");
            };
            assert!(
                said.text.starts_with(&format!("error: {why}")),
                "{}",
                said.text
            );
            let value: serde_json::Value = serde_json::from_str(&document.text).expect("JSON");
            let report = if line.contains("stream") {
                &value["data"]
            } else {
                &value
            };
            let text = report["error"]["text"].as_str().expect("a text");
            assert!(text.starts_with(why), "{line}: {text}");
            assert_eq!(report["command"], format!("tapeline {line}"));
            let role = if line.contains("-s ") {
                "server"
            } else {
                "client"
            };
            assert_eq!(report["test"]["role"], role, "{line}");
        }
        for line in ["-c h --paralel 3", "--as iperf -c h --json"] {
            assert_eq!(call("tapeline", line).1.refusals, [], "{line}");
        }
        let (_, understood) = call("tapeline", "-c h --json");
        assert_eq!((understood.messages, understood.refusals), (vec![], vec![]));
    }

    #[test]
    fn iperf3_has_a_command_line_of_its_own() {
        for (program, line) in [("/usr/bin/iperf3", "-s"), ("tapeline", "--as iperf3 -s")] {
            let outcome = call(program, line).1.outcome;
            assert!(matches!(outcome, Ok(Plan::Iperf3(_))), "{program} {line}");
        }
        let (_, resolution) = call("/opt/iperf3", "-c h -Q");
        assert_eq!(resolution.outcome, Err(ExitCode::Failure));
        let text = &resolution.messages[0].text;
        assert!(
            text.starts_with("/opt/iperf3: invalid option -- 'Q'\n\nUsage: "),
            "{text}"
        );
        let (_, unknown) = call("tapeline", "--as netperf");
        assert!(unknown.messages[0].text.contains("'netperf' is none of"));
    }

    #[test]
    fn every_job_is_confined_to_what_the_environment_leaves() {
        let with = |line: &str, value: &'static str| {
            let call = Invocation {
                program: "tapeline".into(),
                arguments: line.split_whitespace().map(OsString::from).collect(),
                variable: &|name| (name == "TAPELINE_WITHOUT").then(|| value.into()),
                resolver: |_| Vec::new(),
            };
            understand(&call).1
        };
        let rest = Techniques::default().without(Technique::RepeatedChunk);
        for line in [
            "-c h",
            "-s",
            "--as iperf -c h",
            "--as iperf3 -c h",
            "--as iperf3 -s",
            "-c h --peer iperf3",
            "try",
            "try h",
        ] {
            let techniques = match with(line, "repeated-chunk").outcome {
                Ok(Plan::Client(plan, ..)) => plan.techniques,
                Ok(Plan::Server(plan, ..)) => plan.techniques,
                Ok(Plan::Try(plan, _)) => plan.techniques,
                Ok(Plan::Method(job)) => job.plan.common().techniques,
                Ok(Plan::Iperf3(job)) => match job.task {
                    Iperf3Task::Client(plan) => plan.techniques,
                    Iperf3Task::Server(plan, _) => plan.techniques,
                },
                other => panic!("{line}: {other:?}"),
            };
            assert_eq!(techniques, rest, "{line}");
            let refused = with(line, "chunk");
            assert_eq!(refused.outcome, Err(ExitCode::Failure), "{line}");
            assert_eq!(refused.messages.len(), 1, "{line}");
        }
        assert_eq!(with("-v", "repeated-chunk").outcome, Ok(Plan::Version));
    }

    #[test]
    fn messages_begin_with_the_program_as_called() {
        let (_, resolution) = call("/opt/iperf", "-c h -q");
        assert_eq!(
            resolution.messages[0].text,
            "/opt/iperf: invalid option -- q"
        );
        let (_, resolution) = call("tapeline", "--as iperf -c h -q");
        assert_eq!(resolution.messages[0].text, "iperf: invalid option -- q");
    }
}
