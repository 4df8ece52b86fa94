//! From words to a job of `history`, `compare`, `gate`, `mesh` or `web`.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use tapeline_base::ExitCode;
use tapeline_report::QuantityInfo;
use tapeline_report::import::Kind;

#[cfg(feature = "mesh")]
use super::mesh;
use super::options::{Given, Id, Known, TABLE};
use super::values::{age, pause, share};
#[cfg(feature = "web")]
use super::web::{MAX_TESTS, WebWords, job};
use crate::cli::flows;
use crate::cli::options::history::default_file;
use crate::cli::parse::{Arity, Piece, SyntaxFault, cut, detached};
use crate::cli::values::nearest_of;
use crate::message::CliMessage;
#[cfg(feature = "web")]
use crate::plan::WebJob;
use crate::plan::{
    CompareJob, ComparedRuns, Destination, Export, GateJob, GateRuns, HelpPage, HistoryJob,
    HistoryTask, ImportTask, Plan, Resolution, Undecided,
};

/// The commands that this is about, with what they do.
pub(crate) const COMMANDS: &[(&str, &str)] = &[
    ("history", "results that were saved"),
    (
        "compare",
        "whether two sets of runs differ, and how sure that is",
    ),
    (
        "gate",
        "whether runs keep rules, for scripts and pull requests",
    ),
    #[cfg(feature = "mesh")]
    ("mesh", "tests among many hosts, and which of them is slow"),
    #[cfg(feature = "web")]
    (
        "web",
        "a page of this host: tests, servers, results, comparisons",
    ),
];

/// What `history` does, with the words behind it.
pub(crate) const ACTIONS: [(&str, &str, &str); 10] = [
    (
        "list",
        "[RUNS]",
        "the latest results, or these (the default action)",
    ),
    (
        "show",
        "RUNS",
        "the text of a result, made from its document",
    ),
    (
        "tag",
        "RUNS KEY=VALUE",
        "mark results, to find them as tag:KEY=VALUE",
    ),
    (
        "note",
        "RUNS TEXT",
        "write a note to results; an empty one removes it",
    ),
    ("baseline", "[NAME [RUNS]]", "list baselines, or name one"),
    (
        "import",
        "FILE...",
        "take in results of tapeline, iperf 2 and iperf3",
    ),
    (
        "export",
        "[RUNS]",
        "documents, one a line, or tables or a page",
    ),
    ("prune", "", "remove old results"),
    ("check", "", "take in what waits, and check the file"),
    ("path", "", "where the file is"),
];

/// Runs that are measured at most.
const MOST_RUNS: u32 = 1000;

/// Resolves a line that begins with a command.
pub(crate) fn resolve(arguments: &[OsString]) -> Resolution {
    let plan = |line: Line| {
        let detached = line.detached.clone();
        let of_words = |sentence: &String| sentence.starts_with("usage: ");
        line.plan().map_err(|sentence| {
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

/// A line, cut.
struct Line {
    command: &'static str,
    options: Vec<Given>,
    words: Vec<OsString>,
    /// A word behind an option whose value belongs behind an equals sign, as a sentence.
    detached: Option<String>,
    /// What stands behind each `--`.
    tests: Vec<Vec<OsString>>,
}

impl Line {
    fn read(arguments: &[OsString]) -> Result<Self, String> {
        let mut parts = arguments.split(|word| word == "--");
        let own = parts.next().unwrap_or_default();
        let command = own.first().and_then(|word| word.to_str());
        let known = COMMANDS.iter().find(|(its, _)| Some(*its) == command);
        let Some((command, _)) = known else {
            let (what, feature) = match command {
                Some("mesh") => ("mesh", "mesh"),
                _ => ("web GUI", "web"),
            };
            return Err(format!(
                "this build has no {what}; build it with --features {feature}, or take a package"
            ));
        };
        let mut line = Self {
            command,
            options: Vec::new(),
            words: Vec::new(),
            detached: None,
            tests: parts.map(<[OsString]>::to_vec).collect(),
        };
        let mut bare: Option<String> = None;
        for piece in cut(own.iter().skip(1).cloned(), &Known) {
            match piece {
                Piece::Option(given) => {
                    let optional = given.spec.arity == Arity::Optional && given.value.is_none();
                    bare = optional.then(|| given.spelled.clone());
                    line.options.push(given);
                }
                Piece::Operand(word) => {
                    let spelled = bare.take().map(|bare| detached(&bare, &word));
                    line.detached = line.detached.take().or(spelled);
                    line.words.push(word);
                }
                Piece::Fault(fault) => return Err(said(&fault)),
            }
        }
        Ok(line)
    }

    fn plan(mut self) -> Result<Plan, String> {
        if self.has(Id::Help) {
            return Ok(Plan::Help(HelpPage::Command(self.command)));
        }
        let action = if self.command == "history" {
            let first = self.words.first().and_then(|word| word.to_str());
            let named = ACTIONS.iter().find(|(action, ..)| Some(*action) == first);
            match (named, first) {
                (Some((action, ..)), _) => {
                    self.words.remove(0);
                    *action
                }
                (None, None) => "list",
                (None, Some(word)) => {
                    let names = ACTIONS.iter().map(|(action, ..)| *action);
                    let hint = nearest_of(word, names)
                        .map_or_else(String::new, |near| format!(" (did you mean {near}?)"));
                    return Err(format!("history has no action \"{word}\"{hint}"));
                }
            }
        } else {
            self.command
        };
        for given in &self.options {
            if !given.spec.is_of(action) {
                return Err(format!(
                    "{} does not apply to {}",
                    given.spelled,
                    self.named(action)
                ));
            }
        }
        if !self.tests.is_empty() && !matches!(action, "compare" | "gate" | "mesh") {
            return Err(format!(
                "{} measures nothing: no -- applies",
                self.named(action)
            ));
        }
        match action {
            "compare" => self.compare(),
            "gate" => self.gate(),
            #[cfg(feature = "mesh")]
            "mesh" => self.mesh(),
            #[cfg(feature = "web")]
            "web" => self.web(),
            _ => self.history(action),
        }
    }

    fn named(&self, action: &str) -> String {
        match self.command {
            "history" => format!("history {action}"),
            command => command.to_owned(),
        }
    }

    fn history(&self, action: &'static str) -> Result<Plan, String> {
        let usage = || {
            let words = ACTIONS.iter().find(|(its, ..)| *its == action);
            let words = words.map_or("", |(_, words, _)| words);
            format!("usage: tapeline history {action} {words}")
                .trim_end()
                .to_owned()
        };
        let words = self.texts();
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let json = self.destination(Id::Json);
        let owned = |text: &str| text.to_owned();
        let task = match (action, &words[..]) {
            ("list", []) => HistoryTask::List {
                runs: None,
                most: self.most()?,
                json,
            },
            ("list", [runs]) => HistoryTask::List {
                runs: Some(owned(runs)),
                most: self.most()?,
                json,
            },
            ("show", [runs]) => HistoryTask::Show {
                runs: owned(runs),
                json,
            },
            ("tag", [runs, tag]) => {
                let pair = match (tag.split_once('='), self.has(Id::Remove)) {
                    (Some((key, value)), false) if !key.is_empty() => {
                        (owned(key), Some(owned(value)))
                    }
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
            ("baseline", []) if !self.has(Id::Remove) => HistoryTask::Baselines,
            ("baseline", [name]) if self.has(Id::Remove) => {
                HistoryTask::ForgetBaseline(owned(name))
            }
            ("baseline", [name, runs]) if !self.has(Id::Remove) => HistoryTask::NameBaseline {
                name: owned(name),
                runs: owned(runs),
            },
            ("import", [_, ..]) => HistoryTask::Import(ImportTask {
                files: self.words.iter().map(PathBuf::from).collect(),
                kind: self.kind()?,
                tags: self.tags()?,
            }),
            ("export", [] | [_]) => HistoryTask::Export {
                runs: words.first().map(|runs| owned(runs)),
                form: self.export()?,
                file: [Id::Output, Id::Json, Id::Html, Id::Csv]
                    .into_iter()
                    .find_map(|id| self.path(id)),
            },
            ("prune", []) => HistoryTask::Prune {
                older: self.older()?,
                keep_tagged: self.has(Id::KeepTagged),
                intervals: self.has(Id::Intervals),
            },
            ("check", []) => HistoryTask::Check,
            ("path", []) => HistoryTask::Path,
            _ => return Err(usage()),
        };
        Ok(Plan::History(Box::new(HistoryJob {
            file: self.file(),
            utc: self.has(Id::Utc),
            task,
        })))
    }

    fn compare(&self) -> Result<Plan, String> {
        if self.has(Id::List) {
            return Ok(Plan::Compare(Box::new(
                self.compare_job(ComparedRuns::List)?,
            )));
        }
        let interleave = self.number(Id::Interleave, MOST_RUNS)?;
        let words = self.texts();
        let runs = match (&words[..], &self.tests[..], interleave) {
            ([a, b], [], None) => ComparedRuns::Kept(a.clone(), b.clone()),
            ([], [a, b], Some(runs)) => ComparedRuns::Measured {
                runs,
                seed: self.seed()?,
                pause: self.pause()?,
                tests: [test(a)?, test(b)?],
            },
            ([], [_, _], None) => return Err("two tests need --interleave RUNS".to_owned()),
            _ => {
                return Err("usage: tapeline compare RUNS RUNS, or \
                            tapeline compare --interleave RUNS -- 'OPTIONS' -- 'OPTIONS'"
                    .to_owned());
            }
        };
        Ok(Plan::Compare(Box::new(self.compare_job(runs)?)))
    }

    fn compare_job(&self, runs: ComparedRuns) -> Result<CompareJob, String> {
        let names = self.option(Id::Quantities).map(Given::text);
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
        let notice = match self.option(Id::Notice) {
            None => 0.02,
            Some(given) => share(&given.text())
                .ok_or_else(|| format!("--notice needs a percentage, not \"{}\"", given.text()))?,
        };
        Ok(CompareJob {
            file: self.file(),
            utc: self.has(Id::Utc),
            runs,
            quantities: names,
            notice,
            strict: self.has(Id::Strict),
            html: self.page()?,
            json: self.destination(Id::Json),
        })
    }

    fn gate(&self) -> Result<Plan, String> {
        let words = self.texts();
        let (rules, runs) = match (&words[..], &self.tests[..]) {
            ([rules, runs], []) => (rules, GateRuns::Kept(runs.clone())),
            ([rules], [words]) if !words.is_empty() => (
                rules,
                GateRuns::Measured {
                    test: words.clone(),
                    most: self.number(Id::MaxRuns, MOST_RUNS)?.unwrap_or(20),
                    pause: self.pause()?,
                },
            ),
            _ => {
                return Err(
                    "usage: tapeline gate FILE RUNS, or tapeline gate FILE -- OPTIONS".to_owned(),
                );
            }
        };
        let undecided = match self.option(Id::Undecided).map(Given::text).as_deref() {
            None => Undecided::Stays,
            Some("pass") => Undecided::Passes,
            Some("fail") => Undecided::Fails,
            Some(other) => return Err(format!("--undecided needs pass or fail, not \"{other}\"")),
        };
        Ok(Plan::Gate(Box::new(GateJob {
            file: self.file(),
            rules: PathBuf::from(rules),
            runs,
            undecided,
            baseline: self.path(Id::BaselineFile),
            markdown: self.path(Id::Markdown),
            junit: self.path(Id::Junit),
            json: self.destination(Id::Json),
        })))
    }

    #[cfg(feature = "mesh")]
    fn mesh(&self) -> Result<Plan, String> {
        let words = self.texts();
        let hosts = match &words[..] {
            [] => None,
            [hosts] => Some(PathBuf::from(hosts)),
            _ => return Err(mesh::USAGE.to_owned()),
        };
        let test = match &self.tests[..] {
            [] => None,
            [one] => Some(test(one)?),
            _ => return Err("a mesh has one test behind --".to_owned()),
        };
        let job = mesh::job(mesh::MeshWords {
            hosts,
            test,
            resume: self.path(Id::Resume),
            pattern: self.option(Id::Pattern).map(Given::text),
            seed: self.seed()?,
            full_duplex: self.has(Id::FullDuplex),
            all_at_once: self.has(Id::AllAtOnce),
            only_plan: self.has(Id::Plan),
            copy: self.has(Id::Copy),
            binary: self.path(Id::Binary),
            json: self.destination(Id::Json),
            csv: self.destination(Id::Csv),
            html: self.page()?,
            history: self.file(),
            saves: !self.has(Id::NoSave),
        })?;
        Ok(Plan::Mesh(Box::new(job)))
    }

    #[cfg(feature = "web")]
    fn web(&self) -> Result<Plan, String> {
        if let Some(word) = self.words.first() {
            let word = word.to_string_lossy();
            return Err(format!("web takes options only, not \"{word}\""));
        }
        let listen = self.option(Id::Listen).map(Given::text);
        let job = job(WebWords {
            listen,
            targets: self.all(Id::Targets).collect(),
            job: WebJob {
                file: self.file(),
                listen: None,
                key_file: self.path(Id::KeyFile),
                names: self.all(Id::Name).collect(),
                targets: None,
                tests: self.number(Id::MaxTests, MAX_TESTS)?.unwrap_or(1) as usize,
                read_only: self.has(Id::ReadOnly),
                saves: !self.has(Id::NoSave) && !self.has(Id::ReadOnly),
                opens: self.has(Id::Open),
            },
        })?;
        Ok(Plan::Web(Box::new(job)))
    }

    fn option(&self, id: Id) -> Option<&Given> {
        self.options.iter().rfind(|given| given.spec.id == id)
    }

    fn has(&self, id: Id) -> bool {
        self.option(id).is_some()
    }

    fn path(&self, id: Id) -> Option<PathBuf> {
        let value = self.option(id)?.value.as_ref()?;
        Some(PathBuf::from(value))
    }

    /// Where a form goes; nowhere unless it is wanted.
    fn destination(&self, id: Id) -> Option<Destination> {
        self.option(id)?;
        Some(self.path(id).map_or(Destination::Stdout, Destination::File))
    }

    /// A page needs a file: standard output has the text.
    fn page(&self) -> Result<Option<PathBuf>, String> {
        match self.destination(Id::Html) {
            None => Ok(None),
            Some(Destination::File(file)) => Ok(Some(file)),
            Some(Destination::Stdout) => Err("--html needs a file: --html=FILE".to_owned()),
        }
    }

    fn file(&self) -> Option<PathBuf> {
        self.path(Id::History).or_else(default_file)
    }

    /// The values of an option that may be repeated.
    #[cfg(feature = "web")]
    fn all(&self, id: Id) -> impl Iterator<Item = String> {
        let given = self.options.iter().filter(move |given| given.spec.id == id);
        given.map(Given::text)
    }

    fn texts(&self) -> Vec<String> {
        let words = self.words.iter();
        words
            .map(|word| word.to_string_lossy().into_owned())
            .collect()
    }

    fn number(&self, id: Id, most: u32) -> Result<Option<u32>, String> {
        let Some(given) = self.option(id) else {
            return Ok(None);
        };
        let text = given.text();
        let number = text
            .parse()
            .ok()
            .filter(|number| (1..=most).contains(number));
        number.map(Some).ok_or_else(|| {
            format!(
                "{} needs a number from 1 to {most}, not \"{text}\"",
                given.spelled
            )
        })
    }

    fn seed(&self) -> Result<Option<u64>, String> {
        let seed = self.option(Id::Seed).map(|given| {
            let seed = given.text().parse();
            seed.map_err(|_| format!("--seed needs a whole number, not \"{}\"", given.text()))
        });
        seed.transpose()
    }

    fn pause(&self) -> Result<Duration, String> {
        let Some(given) = self.option(Id::Pause) else {
            return Ok(Duration::from_secs(1));
        };
        let text = given.text();
        pause(&text).ok_or_else(|| format!("--repeat-pause needs seconds, not \"{text}\""))
    }

    fn most(&self) -> Result<usize, String> {
        if self.has(Id::All) {
            return Ok(usize::MAX);
        }
        let most = self.number(Id::Count, u32::MAX)?;
        Ok(most.map_or(20, |most| most as usize))
    }

    fn older(&self) -> Result<i64, String> {
        let Some(given) = self.option(Id::Older) else {
            return Err("history prune needs --older AGE: 90d, 12w, 1y".to_owned());
        };
        let text = given.text();
        age(&text).ok_or_else(|| format!("--older needs an age such as 90d or 1y, not \"{text}\""))
    }

    fn kind(&self) -> Result<Option<Kind>, String> {
        let Some(given) = self.option(Id::From) else {
            return Ok(None);
        };
        let text = given.text();
        let kind = Kind::from_name(&text);
        kind.map(Some).ok_or_else(|| {
            let names: Vec<&str> = Kind::ALL.into_iter().map(Kind::name).collect();
            format!("--from needs one of {}, not \"{text}\"", names.join(", "))
        })
    }

    fn tags(&self) -> Result<Vec<(String, String)>, String> {
        let given = self.options.iter().filter(|given| given.spec.id == Id::Tag);
        let tags = given.map(|given| {
            let text = given.text();
            let pair = text.split_once('=').filter(|(key, _)| !key.is_empty());
            let pair = pair.map(|(key, value)| (key.to_owned(), value.to_owned()));
            pair.ok_or_else(|| format!("--tag needs KEY=VALUE, not \"{text}\""))
        });
        tags.collect()
    }

    fn export(&self) -> Result<Export, String> {
        let forms = [Id::Json, Id::Iperf3Json, Id::Csv, Id::Html, Id::Intervals];
        let asked: Vec<Id> = forms.into_iter().filter(|id| self.has(*id)).collect();
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
}

/// A test's words: each on its own, or all of them in one.
fn test(words: &[OsString]) -> Result<Vec<OsString>, String> {
    let words: Vec<OsString> = match words {
        [one] => {
            let text = one.to_string_lossy();
            let cut = flows::words(&text).ok_or("a quotation mark is not closed")?;
            cut.into_iter().map(OsString::from).collect()
        }
        several => several.to_vec(),
    };
    if words.is_empty() {
        return Err("a test needs its options behind --".to_owned());
    }
    Ok(words)
}

fn said(fault: &SyntaxFault) -> String {
    match fault {
        SyntaxFault::UnknownLetter(letter) => format!("unknown option -{letter}"),
        SyntaxFault::UnknownName(word) => {
            let name = word.split('=').next().unwrap_or_default();
            let names = TABLE.iter().map(|spec| spec.name);
            match nearest_of(name, names) {
                Some(near) => format!("unknown option --{name} (did you mean --{near}?)"),
                None => format!("unknown option --{name}"),
            }
        }
        SyntaxFault::Ambiguous { word, candidates } => {
            format!("--{word} could be --{}", candidates.join(", --"))
        }
        SyntaxFault::MissingValue(spelled) => format!("{spelled} needs a value"),
        SyntaxFault::UnexpectedValue(name) => format!("--{name} takes no value"),
    }
}
