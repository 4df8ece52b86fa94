//! `tapeline fleet run`: tests among hosts of a fleet, once.

use std::collections::{BTreeMap, BTreeSet};
use std::hash::{BuildHasher, RandomState};
use std::path::Path;
use std::time::Duration;

use tapeline_base::{ExitCode, counted};
use tapeline_fleet::{
    HostName, JobId, JobRecord, JobSpec, Operator, OperatorSettings, State, UnixTime,
};
use tapeline_mesh::{Forecast, Host, HostsFile, MeshPlan, Mode, Pattern, Via};
use tapeline_sys::reason;

use super::role::{time, until_interrupted};
use super::test_words::JobTest;
use crate::plan::{Destination, FleetRun, JobHosts};
use crate::run::history::{Fault, deliver, json, note, print};
use crate::run::saving::now;

/// Jobs without a time of their own wait so long for their hosts at least, seconds.
const WAITING: i64 = 3600;

/// Submits jobs, and waits for their ends where that is wanted.
pub(crate) fn run(settings: &Path, order: &FleetRun) -> Result<ExitCode, Fault> {
    let settings = OperatorSettings::read(settings)?;
    let (plan, test) = plan(order)?;
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
                live: order.wait && pairs.len() == 1,
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
    if !order.wait {
        let ids: Vec<&JobId> = jobs.iter().map(|(id, _)| id).collect();
        if let Some(destination) = &order.json {
            let document = serde_json::json!({ "schema": "tapeline-fleet/1", "submitted": ids });
            deliver(destination, &json(&document))?;
        }
        return Ok(ExitCode::Success);
    }
    wait(&operator, &jobs, order.json.as_ref())
}

fn host_name(name: &str) -> Result<HostName, Fault> {
    name.parse()
        .map_err(|error| Fault::Usage(format!("{error}")))
}

/// Who tests whom, and with what.
fn plan(order: &FleetRun) -> Result<(MeshPlan, JobTest), Fault> {
    let words = order.test.as_deref();
    let (hosts, pattern, seed, text) = match &order.hosts {
        // The first one sends.
        JobHosts::Pair(from, to) => {
            let hosts = [from, to].map(|name| host(name.as_str())).to_vec();
            (hosts, Pattern::Outcast(from.to_string()), 0, None)
        }
        JobHosts::File {
            file,
            pattern,
            seed,
        } => {
            let name = file.display().to_string();
            let content = std::fs::read_to_string(file)
                .map_err(|error| Fault::Usage(format!("{name}: {}", reason(&error))))?;
            let read = HostsFile::read(&name, &content);
            let read = read.map_err(|error| Fault::Usage(error.to_string()))?;
            let chance = || RandomState::new().hash_one(0);
            let seed = seed.unwrap_or_else(chance);
            (read.hosts, pattern.clone(), seed, read.test)
        }
    };
    let test = match (words, text) {
        (Some(words), _) => JobTest::of_words(words),
        (None, Some(text)) => JobTest::of_text(&text.text),
        (None, None) => JobTest::of_words(&[]),
    };
    let plan = MeshPlan {
        hosts,
        shared: Vec::new(),
        pattern,
        seed,
        test: Vec::new(),
        mode: Mode::InTurn,
    };
    Ok((plan, test.map_err(Fault::Usage)?))
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
