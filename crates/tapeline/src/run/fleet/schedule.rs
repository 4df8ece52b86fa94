//! `tapeline fleet schedule`: meshes that go on.

use std::path::Path;

use tapeline_base::ExitCode;
use tapeline_fleet::{Enrolled, Schedule, ScheduleName, ScheduleSpec, read_schedule};

use super::controller::planned;
use super::role::operator;
use super::table::table;
use super::test_words::JobTest;
use crate::plan::Destination;
use crate::run::history::{Fault, deliver, json, print};

/// Adds the schedule of a file, or puts it in the place of one with its name.
pub(crate) fn schedule_add(settings: &Path, file: &Path) -> Result<ExitCode, Fault> {
    let name = file.display();
    let usage = |why: &str| Fault::Usage(format!("{name}: {why}"));
    let spec = read_schedule(file)?;
    let test = JobTest::of_text(&spec.test).map_err(|why| usage(&format!("test: {why}")))?;
    let operator = operator(settings)?;
    let mut books = operator.books()?;
    books.schedules.remove(spec.name.as_str());
    let enrolled: Vec<Enrolled> = books.hosts.values().cloned().collect();
    let schedule = Schedule::new(spec.clone(), &enrolled, test.options, test.seconds);
    let schedule = schedule.map_err(|error| usage(&error.to_string()))?;
    let tests = schedule.tests();
    let (mut schedules, _) = planned(&books);
    schedules
        .add(schedule)
        .map_err(|error| usage(&error.to_string()))?;
    operator.add_schedule(&spec)?;
    print(&format!(
        "{}: {tests} tests every {}\n",
        spec.name,
        String::from(spec.every)
    ))?;
    Ok(ExitCode::Success)
}

/// Lists schedules.
pub(crate) fn schedule_list(
    settings: &Path,
    destination: Option<&Destination>,
) -> Result<ExitCode, Fault> {
    let books = operator(settings)?.books()?;
    let schedules: Vec<&ScheduleSpec> = books.schedules.values().collect();
    if let Some(destination) = destination {
        let document = serde_json::json!({ "schema": "tapeline-fleet/1", "schedules": schedules });
        deliver(destination, &json(&document))?;
        return Ok(ExitCode::Success);
    }
    if schedules.is_empty() {
        print("no schedules: tapeline fleet schedule add FILE.TOML\n")?;
        return Ok(ExitCode::Success);
    }
    let (_, refused) = planned(&books);
    let lines = schedules.iter().map(|spec| {
        let head = format!("schedule {}: ", spec.name);
        let why = refused.iter().find_map(|why| why.strip_prefix(&head));
        vec![
            spec.name.to_string(),
            spec.pattern.to_string(),
            String::from(spec.every),
            spec.test.clone(),
            why.map_or_else(String::new, |why| format!("does not run: {why}")),
        ]
    });
    print(&table(
        &["SCHEDULE", "PATTERN", "EVERY", "TEST", "NOTE"],
        lines,
    ))?;
    Ok(ExitCode::Success)
}

/// Removes a schedule.
pub(crate) fn schedule_remove(settings: &Path, name: &ScheduleName) -> Result<ExitCode, Fault> {
    match operator(settings)?.remove_schedule(name)? {
        true => {
            print(&format!("removed {name}; its jobs that wait go on\n"))?;
            Ok(ExitCode::Success)
        }
        false => Err(Fault::Failure(format!("there is no schedule {name}"))),
    }
}
