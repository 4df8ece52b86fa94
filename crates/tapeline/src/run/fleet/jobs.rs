//! `tapeline fleet jobs`, `cancel` and `watch`.

use std::path::Path;

use serde::Serialize;
use tapeline_base::ExitCode;
use tapeline_fleet::{Cancelled, JobId, JobRecord, ScheduleName, State};

use super::role::{operator, time, until_interrupted};
use super::table::table;
use crate::plan::Destination;
use crate::run::history::{Fault, deliver, json, note, print};

/// A row of the table.
#[derive(Debug, Serialize)]
struct JobRow<'a> {
    job: &'a JobId,
    #[serde(flatten)]
    record: &'a JobRecord,
    note: String,
}

/// Lists jobs.
pub(crate) fn jobs(
    settings: &Path,
    only_failed: bool,
    schedule: Option<&ScheduleName>,
    destination: Option<&Destination>,
) -> Result<ExitCode, Fault> {
    let operator = operator(settings)?;
    let all = operator.jobs()?;
    let waits = all.values().any(|entry| entry.value.state == State::Queued);
    let present = match waits {
        true => operator.present()?,
        false => Default::default(),
    };
    let rows = all.iter().filter_map(|(job, entry)| {
        let record = &entry.value;
        let is_failed = matches!(record.state, State::Failed { .. } | State::Expired);
        let of = job.parts().map(|(name, ..)| name);
        let is_of = schedule.is_none_or(|name| of == Some(name.as_str()));
        if !is_of || (only_failed && !is_failed) {
            return None;
        }
        let note = match &record.state {
            State::Failed { reason } => reason.clone(),
            State::Queued => {
                let mut hosts = record.hosts().into_iter();
                let away = hosts.find(|host| !present.contains_key(*host));
                away.map_or_else(String::new, |host| {
                    let until = time(record.spec.expires);
                    format!("{host} is away; its job waits until {until}")
                })
            }
            _ => String::new(),
        };
        Some(JobRow { job, record, note })
    });
    let rows: Vec<JobRow<'_>> = rows.collect();
    if let Some(destination) = destination {
        let document = serde_json::json!({ "schema": "tapeline-fleet/1", "jobs": rows });
        deliver(destination, &json(&document))?;
        return Ok(ExitCode::Success);
    }
    if rows.is_empty() {
        print("no jobs (those that ended leave after an hour)\n")?;
        return Ok(ExitCode::Success);
    }
    let lines = rows.iter().map(|row| {
        vec![
            row.job.to_string(),
            row.record.state.name().to_owned(),
            row.record.attempt.0.to_string(),
            row.note.clone(),
        ]
    });
    print(&table(&["JOB", "STATE", "ATTEMPT", "NOTE"], lines))?;
    Ok(ExitCode::Success)
}

/// Withdraws jobs.
pub(crate) fn cancel(settings: &Path, jobs: &[JobId]) -> Result<ExitCode, Fault> {
    let operator = operator(settings)?;
    let mut code = ExitCode::Success;
    for job in jobs {
        match operator.cancel(job)? {
            Cancelled::Done => print(&format!("cancelled {job}\n"))?,
            Cancelled::Unknown => {
                code = ExitCode::Failure;
                note(&format!("there is no job {job}"));
            }
            Cancelled::TooLate(why) => {
                code = ExitCode::Failure;
                note(&format!("{job}: {why}"));
            }
        }
    }
    Ok(code)
}

/// Passes on the events of a job that was ordered with them.
pub(crate) fn watch(settings: &Path, job: &JobId) -> Result<ExitCode, Fault> {
    let operator = operator(settings)?;
    let Some(entry) = operator.job(job)? else {
        return Err(Fault::Failure(format!("there is no job {job}")));
    };
    if !entry.value.spec.live {
        note(&format!(
            "{job} was ordered without its events: only its end shows"
        ));
    }
    let stop = until_interrupted()?;
    operator.watch_live(job, stop, &mut |line| {
        // A reader that has gone sees the end no more than the lines.
        let _ = print(line);
    })?;
    let state = operator.job(job)?.map(|entry| entry.value.state);
    note(&format!(
        "{job}: {}",
        state.map_or_else(|| "gone".to_owned(), |state| state.to_string())
    ));
    Ok(ExitCode::Success)
}
