//! From words to a job of a command.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use tapeline_base::ExitCode;
use tapeline_report::QuantityInfo;
use tapeline_report::import::Kind;

#[cfg(feature = "fleet")]
use super::fleet;
use super::line::{Line, test};
#[cfg(feature = "mesh")]
use super::mesh;
use super::options::{Given, Id};
use super::values::{self, age, share};
#[cfg(feature = "web")]
use super::web::{MAX_TESTS, WebWords, job};
use crate::message::CliMessage;
#[cfg(feature = "web")]
use crate::plan::WebJob;
use crate::plan::{
    CompareJob, ComparedRuns, Export, GateJob, GateRuns, HelpPage, HistoryJob, HistoryTask,
    ImportTask, Plan, Resolution, Undecided,
};

/// Runs that are measured at most.
const MOST_RUNS: u32 = 1000;

/// Resolves a line that begins with a command.
pub(crate) fn resolve(arguments: &[OsString]) -> Resolution {
    let plan = |line: Line| {
        let detached = line.detached.clone();
        let of_words = |sentence: &String| sentence.starts_with("usage: ");
        plan_of(line).map_err(|sentence| {
            let better = detached.filter(|_| of_words(&sentence));
            better.unwrap_or(sentence)
        })
    };
    let (messages, outcome) = match Line::read(arguments).and_then(plan) {
        Ok(plan) => (Vec::new(), Ok(plan)),
        Err(sentence) => (
            vec![CliMessage::err(format!("error: {sentence}"))],
            Err(ExitCode::Usage),
        ),
    };
    Resolution {
        messages,
        outcome,
        refusals: Vec::new(),
    }
}

fn plan_of(mut line: Line) -> Result<Plan, String> {
    if line.has(Id::Help) {
        return Ok(Plan::Help(HelpPage::Command(line.command)));
    }
    let action = line.take_action()?;
    let line = &line;
    for given in &line.options {
        if !given.spec.is_of(action) {
            return Err(format!(
                "{} does not apply to {}",
                given.spelled,
                line.named(action)
            ));
        }
    }
    if !line.tests.is_empty() && !matches!(action, "compare" | "gate" | "mesh" | "run") {
        return Err(format!(
            "{} measures nothing: no -- applies",
            line.named(action)
        ));
    }
    match action {
        #[cfg(feature = "fleet")]
        "agent" => fleet::agent(line),
        #[cfg(feature = "fleet")]
        _ if line.command == "fleet" => fleet::fleet(line, action),
        "compare" => compare(line),
        "gate" => gate(line),
        #[cfg(feature = "mesh")]
        "mesh" => mesh(line),
        #[cfg(feature = "web")]
        "web" => web(line),
        _ => history(line, action),
    }
}

fn history(line: &Line, action: &'static str) -> Result<Plan, String> {
    let usage = || line.usage(action);
    let words = line.texts();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let json = line.destination(Id::Json);
    let owned = |text: &str| text.to_owned();
    let task = match (action, &words[..]) {
        ("list", []) => HistoryTask::List {
            runs: None,
            most: most(line)?,
            json,
        },
        ("list", [runs]) => HistoryTask::List {
            runs: Some(owned(runs)),
            most: most(line)?,
            json,
        },
        ("show", [runs]) => HistoryTask::Show {
            runs: owned(runs),
            json,
        },
        ("tag", [runs, tag]) => {
            let pair = match (tag.split_once('='), line.has(Id::Remove)) {
                (Some((key, value)), false) if !key.is_empty() => (owned(key), Some(owned(value))),
                (None, true) if !tag.is_empty() => (owned(tag), None),
                _ => return Err(usage()),
            };
            HistoryTask::Tag {
                runs: owned(runs),
                key: pair.0,
                value: pair.1,
            }
        }
        ("note", [runs, text]) => HistoryTask::Note {
            runs: owned(runs),
            text: owned(text),
        },
        ("baseline", []) if !line.has(Id::Remove) => HistoryTask::Baselines,
        ("baseline", [name]) if line.has(Id::Remove) => HistoryTask::ForgetBaseline(owned(name)),
        ("baseline", [name, runs]) if !line.has(Id::Remove) => HistoryTask::NameBaseline {
            name: owned(name),
            runs: owned(runs),
        },
        ("import", [_, ..]) => HistoryTask::Import(ImportTask {
            files: line.words.iter().map(PathBuf::from).collect(),
            kind: kind(line)?,
            tags: tags(line)?,
        }),
        ("export", [] | [_]) => HistoryTask::Export {
            runs: words.first().map(|runs| owned(runs)),
            form: export(line)?,
            file: [Id::Output, Id::Json, Id::Html, Id::Csv]
                .into_iter()
                .find_map(|id| line.path(id)),
        },
        ("prune", []) => HistoryTask::Prune {
            older: older(line)?,
            keep_tagged: line.has(Id::KeepTagged),
            intervals: line.has(Id::Intervals),
        },
        ("check", []) => HistoryTask::Check,
        ("path", []) => HistoryTask::Path,
        _ => return Err(usage()),
    };
    Ok(Plan::History(Box::new(HistoryJob {
        file: line.file(),
        utc: line.has(Id::Utc),
        task,
    })))
}

fn compare(line: &Line) -> Result<Plan, String> {
    if line.has(Id::List) {
        return Ok(Plan::Compare(Box::new(compare_job(
            line,
            ComparedRuns::List,
        )?)));
    }
    let interleave = line.number(Id::Interleave, MOST_RUNS)?;
    let words = line.texts();
    let runs = match (&words[..], &line.tests[..], interleave) {
        ([a, b], [], None) => ComparedRuns::Kept(a.clone(), b.clone()),
        ([], [a, b], Some(runs)) => ComparedRuns::Measured {
            runs,
            seed: line.seed()?,
            pause: pause(line)?,
            tests: [test(a)?, test(b)?],
        },
        ([], [_, _], None) => return Err("two tests need --interleave RUNS".to_owned()),
        _ => {
            return Err("usage: tapeline compare RUNS RUNS, or \
                        tapeline compare --interleave RUNS -- 'OPTIONS' -- 'OPTIONS'"
                .to_owned());
        }
    };
    Ok(Plan::Compare(Box::new(compare_job(line, runs)?)))
}

fn compare_job(line: &Line, runs: ComparedRuns) -> Result<CompareJob, String> {
    let names = line.option(Id::Quantities).map(Given::text);
    let names: Vec<String> = names
        .iter()
        .flat_map(|names| names.split(','))
        .map(|name| name.trim().to_owned())
        .collect();
    if let Some(unknown) = names.iter().find(|name| QuantityInfo::find(name).is_none()) {
        return Err(format!(
            "there is no quantity \"{unknown}\" (tapeline compare --list names all)"
        ));
    }
    let notice = match line.option(Id::Notice) {
        None => 0.02,
        Some(given) => share(&given.text())
            .ok_or_else(|| format!("--notice needs a percentage, not \"{}\"", given.text()))?,
    };
    Ok(CompareJob {
        file: line.file(),
        utc: line.has(Id::Utc),
        runs,
        quantities: names,
        notice,
        strict: line.has(Id::Strict),
        html: line.page()?,
        json: line.destination(Id::Json),
    })
}

fn gate(line: &Line) -> Result<Plan, String> {
    let words = line.texts();
    let (rules, runs) = match (&words[..], &line.tests[..]) {
        ([rules, runs], []) => (rules, GateRuns::Kept(runs.clone())),
        ([rules], [words]) if !words.is_empty() => (
            rules,
            GateRuns::Measured {
                test: words.clone(),
                most: line.number(Id::MaxRuns, MOST_RUNS)?.unwrap_or(20),
                pause: pause(line)?,
            },
        ),
        _ => {
            return Err(
                "usage: tapeline gate FILE RUNS, or tapeline gate FILE -- OPTIONS".to_owned(),
            );
        }
    };
    let undecided = match line.option(Id::Undecided).map(Given::text).as_deref() {
        None => Undecided::Stays,
        Some("pass") => Undecided::Passes,
        Some("fail") => Undecided::Fails,
        Some(other) => return Err(format!("--undecided needs pass or fail, not \"{other}\"")),
    };
    Ok(Plan::Gate(Box::new(GateJob {
        file: line.file(),
        rules: PathBuf::from(rules),
        runs,
        undecided,
        baseline: line.path(Id::BaselineFile),
        markdown: line.path(Id::Markdown),
        junit: line.path(Id::Junit),
        json: line.destination(Id::Json),
    })))
}

#[cfg(feature = "mesh")]
fn mesh(line: &Line) -> Result<Plan, String> {
    let words = line.texts();
    if let Some(file) = line.path(Id::Inventory) {
        if line.options.len() > 1 || !words.is_empty() || !line.tests.is_empty() {
            return Err(
                "--inventory prints a hosts.toml: nothing else stands beside it".to_owned(),
            );
        }
        return Ok(Plan::Inventory(file));
    }
    let hosts = match &words[..] {
        [] => None,
        [hosts] => Some(PathBuf::from(hosts)),
        _ => return Err(mesh::USAGE.to_owned()),
    };
    let test = match &line.tests[..] {
        [] => None,
        [one] => Some(test(one)?),
        _ => return Err("a mesh has one test behind --".to_owned()),
    };
    let job = mesh::job(mesh::MeshWords {
        hosts,
        test,
        resume: line.path(Id::Resume),
        pattern: line.option(Id::Pattern).map(Given::text),
        seed: line.seed()?,
        full_duplex: line.has(Id::FullDuplex),
        all_at_once: line.has(Id::AllAtOnce),
        only_plan: line.has(Id::Plan),
        copy: line.has(Id::Copy),
        binary: line.path(Id::Binary),
        json: line.destination(Id::Json),
        csv: line.destination(Id::Csv),
        html: line.page()?,
        stream: line.has(Id::JsonStream),
        history: line.file(),
        saves: !line.has(Id::NoSave),
    })?;
    Ok(Plan::Mesh(Box::new(job)))
}

#[cfg(feature = "web")]
fn web(line: &Line) -> Result<Plan, String> {
    if let Some(word) = line.words.first() {
        let word = word.to_string_lossy();
        return Err(format!("web takes options only, not \"{word}\""));
    }
    let listen = line.option(Id::Listen).map(Given::text);
    let job = job(WebWords {
        listen,
        targets: line.all(Id::Targets).collect(),
        job: WebJob {
            file: line.file(),
            listen: None,
            key_file: line.path(Id::KeyFile),
            names: line.all(Id::Name).collect(),
            targets: None,
            tests: line.number(Id::MaxTests, MAX_TESTS)?.unwrap_or(1) as usize,
            read_only: line.has(Id::ReadOnly),
            saves: !line.has(Id::NoSave) && !line.has(Id::ReadOnly),
            opens: line.has(Id::Open),
        },
    })?;
    Ok(Plan::Web(Box::new(job)))
}

fn pause(line: &Line) -> Result<Duration, String> {
    let Some(given) = line.option(Id::Pause) else {
        return Ok(Duration::from_secs(1));
    };
    let text = given.text();
    values::pause(&text).ok_or_else(|| format!("--repeat-pause needs seconds, not \"{text}\""))
}

fn most(line: &Line) -> Result<usize, String> {
    if line.has(Id::All) {
        return Ok(usize::MAX);
    }
    let most = line.number(Id::Count, u32::MAX)?;
    Ok(most.map_or(20, |most| most as usize))
}

fn older(line: &Line) -> Result<i64, String> {
    let Some(given) = line.option(Id::Older) else {
        return Err("history prune needs --older AGE: 90d, 12w, 1y".to_owned());
    };
    let text = given.text();
    age(&text).ok_or_else(|| format!("--older needs an age such as 90d or 1y, not \"{text}\""))
}

fn kind(line: &Line) -> Result<Option<Kind>, String> {
    let Some(given) = line.option(Id::From) else {
        return Ok(None);
    };
    let text = given.text();
    let kind = Kind::from_name(&text);
    kind.map(Some).ok_or_else(|| {
        let names: Vec<&str> = Kind::ALL.into_iter().map(Kind::name).collect();
        format!("--from needs one of {}, not \"{text}\"", names.join(", "))
    })
}

fn tags(line: &Line) -> Result<Vec<(String, String)>, String> {
    let given = line.options.iter().filter(|given| given.spec.id == Id::Tag);
    let tags = given.map(|given| {
        let text = given.text();
        let pair = text.split_once('=').filter(|(key, _)| !key.is_empty());
        let pair = pair.map(|(key, value)| (key.to_owned(), value.to_owned()));
        pair.ok_or_else(|| format!("--tag needs KEY=VALUE, not \"{text}\""))
    });
    tags.collect()
}

fn export(line: &Line) -> Result<Export, String> {
    let forms = [Id::Json, Id::Iperf3Json, Id::Csv, Id::Html, Id::Intervals];
    let asked: Vec<Id> = forms.into_iter().filter(|id| line.has(*id)).collect();
    Ok(match asked[..] {
        [] | [Id::Json] => Export::Json,
        [Id::Iperf3Json] => Export::Iperf3Json,
        [Id::Csv] => Export::Numbers,
        [Id::Csv, Id::Intervals] => Export::Intervals,
        [Id::Html] => Export::Html,
        [Id::Intervals] => return Err("--intervals needs --csv".to_owned()),
        _ => {
            return Err(
                "export writes one form: --json, --iperf3-json, --csv or --html".to_owned(),
            );
        }
    })
}
