//! `tapeline fleet run`: tests among hosts of a fleet, once.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::time::Duration;

use tapeline_base::{ExitCode, counted};
use tapeline_fleet::{
    HostName, JobId, JobRecord, JobSpec, Operator, OperatorSettings, State, UnixTime,
};
use tapeline_mesh::{Forecast, Host, HostsFile, MeshPlan, Mode, Pattern, Via};
use tapeline_remote::Class;
use tapeline_sys::reason;

use super::role::{settings_file, time, until_interrupted};
use super::test_words::JobTest;
use crate::plan::Destination;
use crate::run::history::{Fault, deliver, json, note, print};
use crate::run::saving::now;

/// Jobs without a time of their own wait so long for their hosts at least, seconds.
const WAITING: i64 = 3600;

/// Which hosts test each other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Hosts {
    /// Those of a file, which says their names.
    File(PathBuf),
    /// One towards the other.
    Pair(HostName, HostName),
}

/// What is ordered.
#[derive(Debug)]
pub(crate) struct Run<'a> {
    pub(crate) config: Option<&'a PathBuf>,
    pub(crate) hosts: &'a Hosts,
    pub(crate) pattern: &'a Pattern,
    pub(crate) seed: u64,
    pub(crate) class: Class,
    /// How long the jobs wait for their hosts.
    pub(crate) expires: Option<Duration>,
    pub(crate) waits: bool,
    pub(crate) json: Option<&'a Destination>,
    pub(crate) test: &'a [String],
}

/// Submits jobs, and waits for their ends where that is wanted.
pub(crate) fn run(order: &Run<'_>) -> Result<ExitCode, Fault> {
    let test = JobTest::of_words(order.test).map_err(Fault::Usage)?;
    let settings = OperatorSettings::read(&settings_file(order.config, "operator"))?;
    let plan = plan(order)?;
    let pairs = plan
        .tests()
        .map_err(|error| Fault::Usage(format!("--pattern {}: {error}", plan.pattern)))?;
    let operator = Operator::connect(&settings)?;
    let books = operator.books()?;
    let unknown = plan
        .hosts
        .iter()
        .find(|host| !books.hosts.contains_key(&host.name));
    if let Some(host) = unknown {
        return Err(Fault::Usage(format!(
            "no host of the site is called {0}: tapeline fleet enrol {0}",
            host.name
        )));
    }
    let length = Duration::from_secs(test.seconds.into());
    let forecast = Forecast::new(&plan, length).map_err(|error| Fault::Usage(error.to_string()))?;
    let waiting = order.expires.map_or_else(
        || WAITING.max(3 * forecast.time.as_secs() as i64),
        |time| time.as_secs() as i64,
    );
    let at = now();
    let expires = UnixTime(at / 1000 + waiting);
    let jobs: Result<Vec<(JobId, JobSpec)>, Fault> = pairs
        .iter()
        .map(|pair| {
            let from = host_name(&plan.host(pair.from).name)?;
            let to = host_name(&plan.host(pair.to).name)?;
            let id = JobId::of_run(at, &from, &to);
            let spec = JobSpec {
                from,
                to,
                options: test.options.clone(),
                seconds: test.seconds,
                class: order.class,
                priority: 0,
                earliest: None,
                expires,
                live: order.waits && pairs.len() == 1,
            };
            Ok((id, spec))
        })
        .collect();
    let jobs = jobs?;
    operator.submit(&jobs)?;
    let number = counted(jobs.len() as u64, "job");
    note(&format!(
        "{number} submitted as run/{at}; what has not run by {} expires",
        time(expires)
    ));
    if !order.waits {
        let ids: Vec<&JobId> = jobs.iter().map(|(id, _)| id).collect();
        if let Some(destination) = order.json {
            let document = serde_json::json!({ "schema": "tapeline-fleet/1", "submitted": ids });
            deliver(destination, &json(&document))?;
        }
        return Ok(ExitCode::Success);
    }
    wait(&operator, &jobs, order.json)
}

fn host_name(name: &str) -> Result<HostName, Fault> {
    name.parse()
        .map_err(|error| Fault::Usage(format!("{error}")))
}

fn plan(order: &Run<'_>) -> Result<MeshPlan, Fault> {
    let hosts = match order.hosts {
        Hosts::Pair(from, to) => [from, to].map(|name| host(name.as_str())).to_vec(),
        Hosts::File(path) => {
            let name = path.display().to_string();
            let content = std::fs::read_to_string(path)
                .map_err(|error| Fault::Usage(format!("{name}: {}", reason(&error))))?;
            let file = HostsFile::read(&name, &content);
            file.map_err(|error| Fault::Usage(error.to_string()))?.hosts
        }
    };
    let pattern = match order.hosts {
        // The first one sends.
        Hosts::Pair(from, _) => Pattern::Outcast(from.to_string()),
        Hosts::File(_) => order.pattern.clone(),
    };
    Ok(MeshPlan {
        hosts,
        shared: Vec::new(),
        pattern,
        seed: order.seed,
        test: Vec::new(),
        mode: Mode::InTurn,
    })
}

fn host(name: &str) -> Host {
    Host {
        name: name.to_owned(),
        destination: name.to_owned(),
        via: Via::Ssh,
        address: None,
        groups: Vec::new(),
    }
}

/// Waits until all are final, and says what became of them.
fn wait(
    operator: &Operator,
    jobs: &[(JobId, JobSpec)],
    destination: Option<&Destination>,
) -> Result<ExitCode, Fault> {
    let ids: BTreeSet<JobId> = jobs.iter().map(|(id, _)| id.clone()).collect();
    let mut ends: BTreeMap<JobId, JobRecord> = BTreeMap::new();
    let stop = until_interrupted()?;
    operator.follow(&ids, stop, &mut |id, record| {
        ends.insert(id.clone(), record.clone());
    })?;
    let is_done = |id: &JobId| {
        ends.get(id)
            .is_some_and(|record| record.state == State::Done)
    };
    let done = ids.iter().filter(|id| is_done(id)).count();
    if let Some(destination) = destination {
        let rows = ends.iter().map(|(job, record)| {
            let mut row = serde_json::to_value(record).unwrap_or_default();
            row["job"] = job.to_string().into();
            row
        });
        let rows: Vec<_> = rows.collect();
        let document = serde_json::json!({ "schema": "tapeline-fleet/1", "jobs": rows });
        deliver(destination, &json(&document))?;
    } else {
        let mut text = String::new();
        for id in ids.iter().filter(|id| !is_done(id)) {
            let state = ends.get(id).map(|record| record.state.to_string());
            let state = state.unwrap_or_else(|| "not seen".to_owned());
            text.push_str(&format!("{id}  {state}\n"));
        }
        text.push_str(&format!(
            "{done} of {} done\n",
            counted(ids.len() as u64, "job")
        ));
        print(&text)?;
    }
    Ok(match done == ids.len() {
        true => ExitCode::Success,
        false => ExitCode::Incomplete,
    })
}
