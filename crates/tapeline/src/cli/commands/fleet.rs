//! The command lines of `tapeline agent` and `tapeline fleet`.

use std::ffi::OsString;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use tapeline_fleet::{
    Enrolment, HostName, NewSite, ScheduleName, Server, check_address, check_group,
};
use tapeline_mesh::Pattern;
use tapeline_remote::Class;

use super::line::{Line, one_on_standard_output, test};
use super::options::{Given, Id};
use super::values::span;
use crate::plan::{
    AgentJob, Destination, FleetJob, FleetMatrix, FleetRun, FleetTask, JobHosts, Plan,
};

/// Where a site's files are, unless `--out` says otherwise.
const FOLDER: &str = "fleet";
/// Where its server is, unless `--server` says otherwise.
const SERVER: &str = "nats://127.0.0.1:4222";

/// What a line of `agent` orders.
///
/// # Errors
/// A sentence about what is wrong with it.
pub(crate) fn agent(line: &Line) -> Result<Plan, String> {
    match line.texts().first() {
        None => Ok(Plan::Agent(Box::new(AgentJob {
            config: line.path(Id::Config),
        }))),
        Some(word) => Err(format!("agent takes options only, not \"{word}\"")),
    }
}

/// What a line of `fleet` orders.
///
/// # Errors
/// A sentence about what is wrong with it.
pub(crate) fn fleet(line: &Line, action: &'static str) -> Result<Plan, String> {
    let words = line.texts();
    let json = line.destination(Id::Json);
    let task = match (action, &words[..]) {
        ("init", []) => FleetTask::Init {
            site: site(line)?,
            folder: folder(line),
        },
        ("enrol", [_, ..]) => FleetTask::Enrol {
            enrolment: enrolment(line, &words)?,
            folder: folder(line),
        },
        ("controller", []) => FleetTask::Controller,
        ("collect", []) => FleetTask::Collect {
            history: line.file(),
            metrics: metrics(line)?,
            ndjson: line.path(Id::Ndjson),
        },
        ("hosts", []) => FleetTask::Hosts { json },
        ("run", [_] | [_, _]) => FleetTask::Run(run(line, &words, json)?),
        ("schedule add", [file]) => FleetTask::ScheduleAdd {
            file: PathBuf::from(file),
        },
        ("schedule list", []) => FleetTask::ScheduleList { json },
        ("schedule remove", [name]) => FleetTask::ScheduleRemove {
            name: read("schedule remove", name)?,
        },
        ("jobs", []) => FleetTask::Jobs {
            failed: line.has(Id::Failed),
            schedule: schedule(line)?,
            json,
        },
        ("cancel", [_, ..]) => {
            let jobs = words.iter().map(|job| read("cancel", job));
            FleetTask::Cancel {
                jobs: jobs.collect::<Result<_, String>>()?,
            }
        }
        ("watch", [job]) => FleetTask::Watch {
            job: read("watch", job)?,
        },
        ("matrix", []) => FleetTask::Matrix(matrix(line, json)?),
        _ => return Err(line.usage(action)),
    };
    Ok(Plan::Fleet(Box::new(FleetJob {
        config: line.path(Id::Config),
        task,
    })))
}

fn folder(line: &Line) -> PathBuf {
    line.path(Id::Out).unwrap_or_else(|| FOLDER.into())
}

/// A value by its type, which says what is wrong with it.
fn read<T: FromStr<Err: std::fmt::Display>>(what: &str, text: &str) -> Result<T, String> {
    text.parse()
        .map_err(|error: T::Err| format!("{what}: {error}"))
}

fn site(line: &Line) -> Result<NewSite, String> {
    let name = line.option(Id::Site).map(Given::text);
    let name = name.ok_or("fleet init needs --site NAME, the name of the site")?;
    let mut servers: Vec<String> = line.all(Id::Server).collect();
    if servers.is_empty() {
        servers.push(SERVER.to_owned());
    }
    let is_plain = line.has(Id::Plain);
    let servers = servers.iter().map(|text| {
        let server: Server = read("--server", text)?;
        let checked = server.check(is_plain);
        checked.map_err(|error| format!("--server: {error}, or accept that with --plain"))?;
        Ok(server)
    });
    Ok(NewSite {
        site: read("--site", &name)?,
        servers: servers.collect::<Result<_, String>>()?,
        is_plain,
    })
}

fn enrolment(line: &Line, words: &[String]) -> Result<Enrolment, String> {
    let hosts = words.iter().map(|host| read("enrol", host));
    let hosts: Vec<HostName> = hosts.collect::<Result<_, String>>()?;
    let address = line.option(Id::Address).map(Given::text);
    if let Some(address) = &address {
        check_address(address).map_err(|why| format!("--address \"{address}\": {why}"))?;
        if hosts.len() > 1 {
            return Err("--address is that of one host: enrol the others on their own".to_owned());
        }
    }
    let groups: Vec<String> = line.all(Id::Group).collect();
    for group in &groups {
        check_group(group).map_err(|why| format!("--group: {why}"))?;
    }
    Ok(Enrolment {
        hosts,
        address,
        groups,
    })
}

/// `[HOST:]PORT`; without a host every address.
fn metrics(line: &Line) -> Result<Option<String>, String> {
    let Some(text) = line.option(Id::Metrics).map(Given::text) else {
        return Ok(None);
    };
    let (host, port) = text.rsplit_once(':').unwrap_or(("", &text));
    match port.parse::<u16>() {
        Ok(port) => Ok(Some(format!("{host}:{port}"))),
        Err(_) => Err(format!(
            "--metrics needs [HOST:]PORT, as 9580, not \"{text}\""
        )),
    }
}

fn run(line: &Line, words: &[String], json: Option<Destination>) -> Result<FleetRun, String> {
    let pattern = line.option(Id::Pattern).map(Given::text);
    let seed = line.seed()?;
    let hosts = match words {
        [from, to] if pattern.is_none() && seed.is_none() => {
            let (from, to): (HostName, HostName) = (read("run", from)?, read("run", to)?);
            if from == to {
                return Err(format!("run: {from} has no test with itself"));
            }
            JobHosts::Pair(from, to)
        }
        [_, _] => return Err("--pattern and --seed are for a file of hosts".to_owned()),
        _ => JobHosts::File {
            file: words.first().map(PathBuf::from).unwrap_or_default(),
            pattern: pattern.map_or(Ok(Pattern::Full), |text| read("--pattern", &text))?,
            seed,
        },
    };
    let class = match line.option(Id::Class).map(Given::text) {
        None => Class::Exclusive,
        Some(word) => {
            let wrong = |words| format!("--class needs {words}, not \"{word}\"");
            word.parse().map_err(wrong)?
        }
    };
    let test = match &line.tests[..] {
        [] => None,
        [one] => Some(test(one)?),
        _ => return Err("a run has one test behind --".to_owned()),
    };
    let text = |word: OsString| word.to_string_lossy().into_owned();
    Ok(FleetRun {
        hosts,
        class,
        expires: time(line, Id::Expires)?,
        wait: line.has(Id::Wait),
        test: test.map(|test| test.into_iter().map(text).collect()),
        json,
    })
}

fn time(line: &Line, id: Id) -> Result<Option<Duration>, String> {
    let Some(given) = line.option(id) else {
        return Ok(None);
    };
    let text = given.text();
    let wrong = || {
        format!(
            "{} needs a time from 1m to 366d, as 30m or 6h, not \"{text}\"",
            given.spelled
        )
    };
    span(&text).map(Some).ok_or_else(wrong)
}

fn schedule(line: &Line) -> Result<Option<ScheduleName>, String> {
    let name = line.option(Id::Schedule).map(Given::text);
    name.map(|name| read("--schedule", &name)).transpose()
}

fn matrix(line: &Line, json: Option<Destination>) -> Result<FleetMatrix, String> {
    let csv = line.destination(Id::Csv);
    one_on_standard_output(&json, &csv)?;
    Ok(FleetMatrix {
        since: time(line, Id::Since)?,
        schedule: schedule(line)?,
        history: line.file(),
        json,
        csv,
        html: line.path(Id::Html),
    })
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;
    use crate::cli::commands::actions::actions;
    use crate::cli::commands::options::table;
    use crate::cli::commands::resolve::resolve;

    fn plan(words: &str) -> Result<Plan, String> {
        let words: Vec<_> = words.split_whitespace().map(Into::into).collect();
        let resolution = resolve(&words);
        let said = resolution.messages.first();
        resolution
            .outcome
            .map_err(|_| said.expect("a sentence").text.clone())
    }

    fn job(words: &str) -> FleetJob {
        match plan(&format!("fleet {words}")) {
            Ok(Plan::Fleet(job)) => *job,
            other => panic!("{words}: {other:?}"),
        }
    }

    fn name<T: FromStr<Err: std::fmt::Debug>>(text: &str) -> T {
        text.parse().expect("a name")
    }

    fn new_site(server: &str, is_plain: bool) -> NewSite {
        NewSite {
            site: name("lab"),
            servers: vec![name(server)],
            is_plain,
        }
    }

    fn a_run(hosts: JobHosts) -> FleetRun {
        FleetRun {
            hosts,
            class: Class::Exclusive,
            expires: None,
            wait: false,
            test: None,
            json: None,
        }
    }

    /// A line for each action and each option, and what it comes to.
    #[test]
    fn every_action_and_every_option_has_its_effect() {
        let file = |name: &str| Some(Destination::File(PathBuf::from(name)));
        let enrol = |hosts: &[&str], address: Option<&str>, groups: &[&str]| FleetTask::Enrol {
            enrolment: Enrolment {
                hosts: hosts.iter().map(|host| name(host)).collect(),
                address: address.map(str::to_owned),
                groups: groups.iter().map(|group| (*group).to_owned()).collect(),
            },
            folder: "fleet".into(),
        };
        let hosts = |pattern, seed| JobHosts::File {
            file: "h.toml".into(),
            pattern,
            seed,
        };
        #[rustfmt::skip]
        let tasks: [(&[Id], &str, FleetTask); 24] = [
            (&[Id::Site], "init --site lab", FleetTask::Init { site: new_site("nats://127.0.0.1:4222", false), folder: "fleet".into() }),
            (&[Id::Out, Id::Server], "init --site lab --out x --server tls://n:4222", FleetTask::Init { site: new_site("tls://n:4222", false), folder: "x".into() }),
            (&[Id::Plain], "init --site lab --server nats://n --plain", FleetTask::Init { site: new_site("nats://n", true), folder: "fleet".into() }),
            (&[], "enrol fra1 osl1", enrol(&["fra1", "osl1"], None, &[])),
            (&[Id::Address, Id::Group], "enrol fra1 --address 192.0.2.7 --group eu --group core", enrol(&["fra1"], Some("192.0.2.7"), &["eu", "core"])),
            (&[], "controller", FleetTask::Controller),
            (&[Id::History, Id::Metrics, Id::Ndjson], "collect --history h --metrics 9580 --ndjson n", FleetTask::Collect { history: Some("h".into()), metrics: Some(":9580".to_owned()), ndjson: Some("n".into()) }),
            (&[Id::Metrics], "collect --history h --metrics [::1]:9580", FleetTask::Collect { history: Some("h".into()), metrics: Some("[::1]:9580".to_owned()), ndjson: None }),
            (&[Id::Json], "hosts --json", FleetTask::Hosts { json: Some(Destination::Stdout) }),
            (&[], "run h.toml", FleetTask::Run(a_run(hosts(Pattern::Full, None)))),
            (&[Id::Pattern, Id::Seed], "run h.toml --pattern sample:3 --seed 7", FleetTask::Run(a_run(hosts(Pattern::Sample(3), Some(7))))),
            (&[], "run fra1 osl1 -- -t 3 -R", FleetTask::Run(FleetRun { test: Some(["-t", "3", "-R"].map(str::to_owned).to_vec()), ..a_run(JobHosts::Pair(name("fra1"), name("osl1"))) })),
            (&[Id::Wait, Id::Expires, Id::Class], "run h.toml --wait --expires 30m --class background", FleetTask::Run(FleetRun { wait: true, expires: Some(Duration::from_secs(1800)), class: Class::Background, ..a_run(hosts(Pattern::Full, None)) })),
            (&[Id::Json], "run h.toml --json=j --class exclusive", FleetTask::Run(FleetRun { json: file("j"), ..a_run(hosts(Pattern::Full, None)) })),
            (&[], "schedule add s.toml", FleetTask::ScheduleAdd { file: "s.toml".into() }),
            (&[Id::Json], "schedule list --json", FleetTask::ScheduleList { json: Some(Destination::Stdout) }),
            (&[], "schedule remove backbone", FleetTask::ScheduleRemove { name: name("backbone") }),
            (&[], "jobs", FleetTask::Jobs { failed: false, schedule: None, json: None }),
            (&[Id::Failed, Id::Schedule], "jobs --failed --schedule backbone --json=j", FleetTask::Jobs { failed: true, schedule: Some(name("backbone")), json: file("j") }),
            (&[], "cancel j1 backbone/7/fra1/osl1", FleetTask::Cancel { jobs: vec![name("j1"), name("backbone/7/fra1/osl1")] }),
            (&[], "watch j1", FleetTask::Watch { job: name("j1") }),
            (&[Id::Since, Id::Html], "matrix --history h --since 24h --html p", FleetTask::Matrix(FleetMatrix { since: Some(Duration::from_secs(86_400)), schedule: None, history: Some("h".into()), json: None, csv: None, html: Some("p".into()) })),
            (&[Id::Csv, Id::Schedule], "matrix --history h --csv --schedule s", FleetTask::Matrix(FleetMatrix { since: None, schedule: Some(name("s")), history: Some("h".into()), json: None, csv: Some(Destination::Stdout), html: None })),
            (&[Id::Csv, Id::Json], "matrix --history h --csv=c --json", FleetTask::Matrix(FleetMatrix { since: None, schedule: None, history: Some("h".into()), json: Some(Destination::Stdout), csv: file("c"), html: None })),
        ];
        let mut tested: HashSet<Id> = HashSet::from([Id::Help, Id::Config]);
        let mut lines = Vec::new();
        for (ids, line, task) in tasks {
            assert_eq!(job(line).task, task, "{line}");
            assert_eq!(job(line).config, None, "{line}");
            tested.extend(ids);
            lines.push(line);
        }
        for (action, ..) in actions("fleet") {
            assert!(
                lines.iter().any(|line| line.starts_with(action)),
                "{action}"
            );
        }
        for spec in table("fleet") {
            assert!(tested.contains(&spec.id), "{:?} has no test", spec.id);
        }
        assert_eq!(job("hosts --config c").config, Some("c".into()));
        let agent = |config: Option<&str>| {
            Plan::Agent(Box::new(AgentJob {
                config: config.map(PathBuf::from),
            }))
        };
        assert_eq!(plan("agent"), Ok(agent(None)));
        assert_eq!(plan("agent --config a.toml"), Ok(agent(Some("a.toml"))));
    }

    #[test]
    fn what_is_wrong_is_named() {
        for (words, part) in [
            (
                "fleet",
                "usage: tapeline fleet ACTION: init, enrol, controller, collect, hosts, run, schedule, jobs, cancel, watch, matrix (tapeline fleet --help)",
            ),
            (
                "fleet hots",
                "fleet has no action \"hots\" (did you mean hosts?)",
            ),
            (
                "fleet schedul list",
                "fleet has no action \"schedul\" (did you mean schedule?)",
            ),
            (
                "fleet schedule",
                "usage: tapeline fleet schedule add FILE.TOML | schedule list | schedule remove NAME",
            ),
            (
                "fleet schedule lst",
                "fleet has no action \"schedule lst\" (did you mean schedule list?)",
            ),
            ("fleet init", "fleet init needs --site NAME"),
            ("fleet init lab", "usage: tapeline fleet init --site NAME"),
            (
                "fleet init --site l.b",
                "--site: \"l.b\" is no name of a site: up to 63 of",
            ),
            (
                "fleet init --site lab --server n:4222",
                "--server: \"n:4222\" is no server: tls://HOST:PORT",
            ),
            (
                "fleet init --site lab --server nats://n:4222",
                "--server: nats://n:4222 has no TLS: use tls://n:4222, or accept that with --plain",
            ),
            ("fleet init --site", "--site needs a value"),
            (
                "fleet init --site lab --json",
                "--json does not apply to fleet init",
            ),
            (
                "fleet init --sitte lab",
                "unknown option --sitte (did you mean --site?)",
            ),
            ("fleet enrol", "usage: tapeline fleet enrol HOST..."),
            (
                "fleet enrol fra1.example.net",
                "enrol: \"fra1.example.net\" is no name of a host",
            ),
            (
                "fleet enrol a b --address 192.0.2.7",
                "--address is that of one host",
            ),
            (
                "fleet enrol a --address -x",
                "--address \"-x\": an address or a name",
            ),
            (
                "fleet enrol a --group g/h",
                "--group: \"g/h\" is no name of a group",
            ),
            ("fleet controller x", "usage: tapeline fleet controller"),
            (
                "fleet collect --metrics x",
                "--metrics needs [HOST:]PORT, as 9580, not \"x\"",
            ),
            (
                "fleet run",
                "usage: tapeline fleet run HOSTS.TOML | FROM TO [-- TEST]",
            ),
            ("fleet run a a", "run: a has no test with itself"),
            (
                "fleet run a b --pattern ring",
                "--pattern and --seed are for a file of hosts",
            ),
            (
                "fleet run h.toml --pattern rings",
                "--pattern: \"rings\" is no pattern",
            ),
            (
                "fleet run h.toml --expires 5",
                "--expires needs a time from 1m to 366d, as 30m or 6h, not \"5\"",
            ),
            (
                "fleet run h.toml --class slow",
                "--class needs exclusive or background, not \"slow\"",
            ),
            (
                "fleet run h.toml -- -t 1 -- -t 2",
                "a run has one test behind --",
            ),
            ("fleet run h.toml --", "a test needs its options behind --"),
            (
                "fleet jobs -- -t 1",
                "fleet jobs measures nothing: no -- applies",
            ),
            (
                "fleet jobs --schedule a.b",
                "--schedule: \"a.b\" is no name of a schedule",
            ),
            ("fleet cancel", "usage: tapeline fleet cancel JOB..."),
            ("fleet cancel a.b", "cancel: \"a.b\" is no name of a job"),
            ("fleet watch j k", "usage: tapeline fleet watch JOB"),
            ("fleet matrix --json --csv", "one of them needs a file"),
            (
                "fleet hosts --json j",
                "the value of --json stands behind an equals sign: --json=j",
            ),
            ("agent fra1", "agent takes options only, not \"fra1\""),
            ("agent --json", "--json does not apply to agent"),
        ] {
            let said = plan(words).expect_err(words);
            assert!(
                said.starts_with("error: ") && said.contains(part),
                "{words}: {said}"
            );
        }
    }
}
