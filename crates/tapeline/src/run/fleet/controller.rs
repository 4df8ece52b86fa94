//! `tapeline fleet controller`: takes jobs and orders their tests.

use std::path::Path;

use tapeline_base::ExitCode;
use tapeline_fleet::{
    ControllerSettings, Enrolled, Schedule, Schedules, SiteBooks, run_controller,
};

use super::role::{clock, log, until_interrupted};
use super::test_words::JobTest;
use crate::run::history::Fault;

/// Controls a site until it is interrupted.
pub(crate) fn controller(settings: &Path) -> Result<ExitCode, Fault> {
    let settings = ControllerSettings::read(settings)?;
    let stop = until_interrupted()?;
    let mut say = |what: &str| log("controller", what);
    let mut planner = |books: &SiteBooks| {
        let (schedules, refused) = planned(books);
        refused.iter().for_each(|why| log("controller", why));
        schedules
    };
    run_controller(&settings, &clock(), &mut planner, stop, &mut say)?;
    Ok(ExitCode::Success)
}

/// The schedules of a site, and why some of them do not run.
pub(crate) fn planned(books: &SiteBooks) -> (Schedules, Vec<String>) {
    let enrolled: Vec<Enrolled> = books.hosts.values().cloned().collect();
    let (mut schedules, mut refused) = (Schedules::default(), Vec::new());
    for spec in books.schedules.values() {
        let added = JobTest::of_text(&spec.test)
            .map_err(|why| format!("test: {why}"))
            .and_then(|JobTest { options, seconds }| {
                let schedule = Schedule::new(spec.clone(), &enrolled, options, seconds);
                let added = schedule.and_then(|schedule| schedules.add(schedule));
                added.map_err(|error| error.to_string())
            });
        if let Err(why) = added {
            refused.push(format!("schedule {}: {why}", spec.name));
        }
    }
    (schedules, refused)
}
