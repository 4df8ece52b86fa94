//! Which action does what.

use std::path::PathBuf;

use tapeline_base::ExitCode;
use tapeline_fleet::default_settings;

use super::collect::collect;
use super::controller::controller;
use super::hosts::hosts;
use super::jobs::{cancel, jobs, watch};
use super::matrix::matrix;
use super::run::run;
use super::schedule::{schedule_add, schedule_list, schedule_remove};
use super::site::{enrol, init};
use crate::plan::{FleetJob, FleetTask};
use crate::run::history::Fault;

/// Does what is to be done.
pub(crate) fn fleet(job: &FleetJob) -> ExitCode {
    perform(job).unwrap_or_else(Fault::say)
}

fn perform(job: &FleetJob) -> Result<ExitCode, Fault> {
    let settings = |role| -> PathBuf {
        let named = job.config.clone();
        named.unwrap_or_else(|| default_settings(role))
    };
    let operator = || settings("operator");
    match &job.task {
        FleetTask::Init { site, folder } => init(site, folder),
        FleetTask::Enrol { enrolment, folder } => enrol(enrolment, folder),
        FleetTask::Controller => controller(&settings("controller")),
        FleetTask::Collect {
            history,
            metrics,
            ndjson,
        } => collect(
            &settings("collector"),
            history.as_deref(),
            metrics.as_deref(),
            ndjson.as_deref(),
        ),
        FleetTask::Hosts { json } => hosts(&operator(), json.as_ref()),
        FleetTask::Run(what) => run(&operator(), what),
        FleetTask::ScheduleAdd { file } => schedule_add(&operator(), file),
        FleetTask::ScheduleList { json } => schedule_list(&operator(), json.as_ref()),
        FleetTask::ScheduleRemove { name } => schedule_remove(&operator(), name),
        FleetTask::Jobs {
            failed,
            schedule,
            json,
        } => jobs(&operator(), *failed, schedule.as_ref(), json.as_ref()),
        FleetTask::Cancel { jobs } => cancel(&operator(), jobs),
        FleetTask::Watch { job } => watch(&operator(), job),
        FleetTask::Matrix(what) => matrix(what),
    }
}
