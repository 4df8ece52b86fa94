//! What lines of these commands come to.

use std::collections::HashSet;
use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use tapeline_base::ExitCode;
use tapeline_report::import::Kind;

use super::actions::{COMMANDS, actions};
use super::options::{Id, table};
use super::resolve::resolve;
use crate::plan::{
    CompareJob, ComparedRuns, Destination, Export, GateJob, GateRuns, HelpPage, HistoryJob,
    HistoryTask, ImportTask, Plan, Undecided,
};

/// Words with spaces between them; `+` stands for a space in one.
fn outcome(line: &str) -> Result<Plan, String> {
    let words = line.split(' ').filter(|word| !word.is_empty());
    let words: Vec<OsString> = words.map(|word| word.replace('+', " ").into()).collect();
    let resolution = resolve(&words);
    resolution.outcome.map_err(|code| {
        assert_eq!(code, ExitCode::Usage, "{line}");
        resolution.messages[0].text.clone()
    })
}

fn history(line: &str) -> HistoryJob {
    match outcome(&format!("history {line}")) {
        Ok(Plan::History(job)) => *job,
        other => panic!("{line}: {other:?}"),
    }
}

fn compare(line: &str) -> CompareJob {
    match outcome(&format!("compare {line}")) {
        Ok(Plan::Compare(job)) => *job,
        other => panic!("{line}: {other:?}"),
    }
}

fn gate(line: &str) -> GateJob {
    match outcome(&format!("gate {line}")) {
        Ok(Plan::Gate(job)) => *job,
        other => panic!("{line}: {other:?}"),
    }
}

/// A line for each option, and what it changes.
#[test]
fn every_option_has_its_effect() {
    let list = |runs, most, json| HistoryTask::List { runs, most, json };
    let owned = str::to_owned;
    let file = |name: &str| Destination::File(PathBuf::from(name));
    #[rustfmt::skip]
    let tasks: [(&[Id], &str, HistoryTask); 24] = [
        (&[], "", list(None, 20, None)),
        (&[], "list s3", list(Some(owned("s3")), 20, None)),
        (&[Id::Count], "list -n 5", list(None, 5, None)),
        (&[Id::All], "list --all", list(None, usize::MAX, None)),
        (&[Id::Json], "--json", list(None, 20, Some(Destination::Stdout))),
        (&[Id::Json], "list --json=x", list(None, 20, Some(file("x")))),
        (&[], "show r1", HistoryTask::Show { runs: owned("r1"), json: None }),
        (&[], "tag r1 a=b=c", HistoryTask::Tag { runs: owned("r1"), key: owned("a"), value: Some(owned("b=c")) }),
        (&[Id::Remove], "tag r1 a --remove", HistoryTask::Tag { runs: owned("r1"), key: owned("a"), value: None }),
        (&[], "note r1 new+switch", HistoryTask::Note { runs: owned("r1"), text: owned("new switch") }),
        (&[], "baseline", HistoryTask::Baselines),
        (&[], "baseline main s1", HistoryTask::NameBaseline { name: owned("main"), runs: owned("s1") }),
        (&[Id::Remove], "baseline --remove main", HistoryTask::ForgetBaseline(owned("main"))),
        (&[Id::From, Id::Tag], "import a b --from iperf3-json --tag x=1", HistoryTask::Import(ImportTask {
            files: vec!["a".into(), "b".into()], kind: Some(Kind::Iperf3Json), tags: vec![(owned("x"), owned("1"))] })),
        (&[], "export", HistoryTask::Export { runs: None, form: Export::Json, file: None }),
        (&[Id::Iperf3Json], "export r1 --iperf3-json", HistoryTask::Export { runs: Some(owned("r1")), form: Export::Iperf3Json, file: None }),
        (&[Id::Csv], "export r1 --csv", HistoryTask::Export { runs: Some(owned("r1")), form: Export::Numbers, file: None }),
        (&[Id::Intervals], "export r1 --csv --intervals", HistoryTask::Export { runs: Some(owned("r1")), form: Export::Intervals, file: None }),
        (&[Id::Html, Id::Output], "export r1 --html -o x", HistoryTask::Export { runs: Some(owned("r1")), form: Export::Html, file: Some("x".into()) }),
        (&[Id::Older], "prune --older 1d", HistoryTask::Prune { older: 86_400_000, keep_tagged: false, intervals: false }),
        (&[Id::KeepTagged], "prune --older 1d --keep-tagged", HistoryTask::Prune { older: 86_400_000, keep_tagged: true, intervals: false }),
        (&[Id::Intervals], "prune --older 1d --intervals", HistoryTask::Prune { older: 86_400_000, keep_tagged: false, intervals: true }),
        (&[], "check", HistoryTask::Check),
        (&[], "path", HistoryTask::Path),
    ];
    let mut tested: HashSet<Id> = HashSet::new();
    let mut named = HashSet::new();
    for (ids, line, task) in tasks {
        assert_eq!(history(line).task, task, "{line}");
        tested.extend(ids);
        named.extend(line.split(' ').next().filter(|word| !word.starts_with('-')));
    }
    let mut all = actions("history").iter();
    assert!(all.all(|(action, ..)| named.contains(action)));
    assert!(history("--utc").utc);
    assert_eq!(history("--history f.db").file, Some(PathBuf::from("f.db")));
    let job = compare("a b --quantities rtt,rate --notice 5% --strict --json");
    assert_eq!(job.runs, ComparedRuns::Kept(owned("a"), owned("b")));
    assert_eq!(
        (job.quantities, job.notice, job.strict),
        (vec![owned("rtt"), owned("rate")], 0.05, true)
    );
    assert_eq!((job.json, job.html), (Some(Destination::Stdout), None));
    assert_eq!(compare("a b --html=p").html, Some(PathBuf::from("p")));
    assert_eq!(compare("--list").runs, ComparedRuns::List);
    let job = compare("--interleave 8 --seed 7 --repeat-pause 0.5 -- -c+h+-Z+cubic -- -c h");
    let words = |text: &str| -> Vec<OsString> { text.split(' ').map(OsString::from).collect() };
    assert_eq!(
        job.runs,
        ComparedRuns::Measured {
            runs: 8,
            seed: Some(7),
            pause: Duration::from_millis(500),
            tests: [words("-c h -Z cubic"), words("-c h")],
        }
    );
    let job = gate("g.toml s1 --undecided fail --markdown m --junit j --json=k --baseline-file b");
    assert_eq!(
        (job.rules, job.runs),
        ("g.toml".into(), GateRuns::Kept(owned("s1")))
    );
    assert_eq!(job.undecided, Undecided::Fails);
    let files = [job.markdown, job.junit, job.baseline].map(Option::unwrap_or_default);
    assert_eq!(files, ["m", "j", "b"].map(PathBuf::from));
    assert_eq!(job.json, Some(file("k")));
    assert_eq!(gate("g s1 --undecided pass").undecided, Undecided::Passes);
    let job = gate("g.toml --max-runs 9 -- -c h --repeat 5");
    assert_eq!(
        job.runs,
        GateRuns::Measured {
            test: words("-c h --repeat 5"),
            most: 9,
            pause: Duration::from_secs(1),
        }
    );
    for (command, _) in COMMANDS {
        let help = outcome(&format!("{command} --help"));
        assert_eq!(help, Ok(Plan::Help(HelpPage::Command(command))));
    }
    use Id::{
        BaselineFile, Help, History, Interleave, Junit, List, Markdown, MaxRuns, Notice, Pause,
        Quantities, Seed, Strict, Utc,
    };
    tested.extend([
        BaselineFile,
        Help,
        History,
        Interleave,
        Junit,
        List,
        Markdown,
        MaxRuns,
    ]);
    tested.extend([Notice, Pause, Quantities, Seed, Strict, Utc, Id::Undecided]);
    // Their effects are in the tests of `web`.
    tested.extend([Id::Open, Id::Listen, Id::KeyFile, Id::Name]);
    tested.extend([Id::Targets, Id::MaxTests, Id::ReadOnly, Id::NoSave]);
    // And of `mesh`.
    tested.extend([Id::Pattern, Id::Plan, Id::Resume, Id::Inventory, Id::Save]);
    tested.extend([Id::FullDuplex, Id::AllAtOnce, Id::Copy, Id::Binary]);
    tested.insert(Id::JsonStream);
    for spec in table("history") {
        assert!(tested.contains(&spec.id), "{:?} has no test", spec.id);
    }
}

#[test]
fn what_is_wrong_is_said() {
    for (line, part) in [
        (
            "history lst",
            "history has no action \"lst\" (did you mean list?)",
        ),
        ("history show", "usage: tapeline history show RUNS"),
        ("history show r1 r2", "usage: tapeline history show RUNS"),
        ("history tag r1 a", "usage: tapeline history tag"),
        ("history prune", "needs --older"),
        ("history prune --older 3", "--older needs an age"),
        ("history export --csv --html", "one form"),
        ("history export --intervals", "--intervals needs --csv"),
        (
            "history import x --from y",
            "--from needs one of tapeline, iperf3-json",
        ),
        ("history import x --tag y", "--tag needs KEY=VALUE"),
        (
            "history check --csv",
            "--csv does not apply to history check",
        ),
        ("history list -- -c h", "history list measures nothing"),
        (
            "history --jsn",
            "unknown option --jsn (did you mean --json?)",
        ),
        ("history list -n 0", "-n needs a number from 1"),
        ("history list -n", "-n needs a value"),
        ("history --utc=1", "--utc takes no value"),
        ("compare a b --html", "--html needs a file"),
        ("compare a", "usage: tapeline compare RUNS RUNS"),
        (
            "compare a b --html c.html",
            "the value of --html stands behind an equals sign: --html=c.html",
        ),
        ("compare --interleave 8 a b", "usage: tapeline compare"),
        ("compare -- a -- b", "two tests need --interleave"),
        (
            "compare --interleave 8 -- -c+h -- ",
            "a test needs its options",
        ),
        ("compare --interleave 8 -- -c+'h -- -c+h", "quotation mark"),
        (
            "compare --interleave 0 -- a -- b",
            "--interleave needs a number from 1 to 1000",
        ),
        (
            "compare a b --quantities speed",
            "there is no quantity \"speed\"",
        ),
        ("compare a b --notice x", "--notice needs a percentage"),
        (
            "compare --interleave 8 --seed x -- a -- b",
            "--seed needs a whole number",
        ),
        (
            "compare --interleave 8 --repeat-pause x -- a -- b",
            "--repeat-pause needs seconds",
        ),
        ("gate g", "usage: tapeline gate FILE RUNS"),
        (
            "gate g s1 --undecided maybe",
            "--undecided needs pass or fail",
        ),
    ] {
        let said = outcome(line).expect_err(line);
        assert!(
            said.starts_with("error: ") && said.contains(part),
            "{line}: {said}"
        );
    }
}
