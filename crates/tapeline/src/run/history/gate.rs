//! `tapeline gate`.

use std::ffi::OsString;
use std::path::Path;
use std::time::Duration;

use tapeline_base::ExitCode;
use tapeline_report::comparison::runs_words;
use tapeline_report::gate::{Condition, Gate, GateReport, Outcome, judge, junit, markdown, text};

use super::gate_file;
use super::measure::{Measuring, progress, shown};
use super::place::{FoundSide, Place};
use super::say::{Fault, deliver, json, note, print, write};
use crate::plan::{Destination, GateJob, GateRuns, Undecided};
use crate::run::saving::now;

/// Judges, and says what came of it: passed 0, failed 4, undecided 5.
pub(crate) fn gate(job: &GateJob) -> ExitCode {
    match perform(job) {
        Ok(code) => code,
        Err(fault) => fault.say(),
    }
}

fn perform(job: &GateJob) -> Result<ExitCode, Fault> {
    let place = Place::new(job.file.clone());
    let mut gate = gate_file::read(&job.rules).map_err(Fault::Usage)?;
    fill_baselines(&mut gate, &place, job.baseline.as_deref())?;
    let (report, interrupted) = match &job.runs {
        GateRuns::Kept(words) => (judge(&gate, &place.side(words)?.side()), false),
        GateRuns::Measured { test, most, pause } => measured(&gate, test, *most, *pause)?,
    };
    write_forms(job, &report)?;
    Ok(match (report.outcome, job.undecided) {
        (Outcome::Pass, _) => ExitCode::Success,
        (Outcome::Fail, _) => ExitCode::Missed,
        // More runs might have decided it.
        (Outcome::Undecided, _) if interrupted => ExitCode::Undecided,
        (Outcome::Undecided, Undecided::Passes) => ExitCode::Success,
        (Outcome::Undecided, Undecided::Fails) => ExitCode::Missed,
        (Outcome::Undecided, Undecided::Stays) => ExitCode::Undecided,
    })
}

/// Finds the runs that rules compare with.
fn fill_baselines(gate: &mut Gate, place: &Place, file: Option<&Path>) -> Result<(), Fault> {
    for rule in &mut gate.rules {
        if let Condition::NoWorseThan { baseline, runs, .. } = &mut rule.condition {
            let words = match file {
                Some(file) => file.display().to_string(),
                None => baseline.clone(),
            };
            *runs = place.side(&words)?.side();
        }
    }
    Ok(())
}

/// Measures until the rules are decided, or the runs are as many as may be, or it is interrupted.
fn measured(
    gate: &Gate,
    test: &[OsString],
    most: u32,
    pause: Duration,
) -> Result<(GateReport, bool), Fault> {
    let measuring = Measuring::begin(ExitCode::Undecided)?;
    let name = shown(test);
    let mut found = FoundSide::new(&name, measuring.measure(test)?);
    let one_more: Vec<OsString> = test
        .iter()
        .cloned()
        .chain(["--repeat".into(), "1".into()])
        .collect();
    loop {
        let side = found.side();
        let report = judge(gate, &side);
        if measuring.is_interrupted() {
            let runs = runs_words(report.runs);
            note(&format!(
                "interrupted after {runs}: the rules are judged by them"
            ));
            return Ok((report, true));
        }
        if report.outcome != Outcome::Undecided || side.runs.len() >= most as usize {
            return Ok((report, false));
        }
        progress(&format!(
            "undecided after {} runs: one more",
            side.runs.len()
        ));
        measuring.pause(pause);
        if !measuring.is_interrupted() {
            found.extend(measuring.measure(&one_more)?);
        }
    }
}

fn write_forms(job: &GateJob, report: &GateReport) -> Result<(), Fault> {
    if let Some(path) = &job.markdown {
        write(path, &markdown(report))?;
    }
    if let Some(path) = &job.junit {
        write(
            path,
            &junit(report, job.undecided == Undecided::Fails, now()),
        )?;
    }
    if let Some(destination) = &job.json {
        deliver(destination, &json(report))?;
    }
    if !matches!(job.json, Some(Destination::Stdout)) {
        print(&text(report))?;
    }
    Ok(())
}
