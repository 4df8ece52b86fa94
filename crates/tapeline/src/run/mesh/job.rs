//! From a job to its result.

use std::collections::BTreeMap;
use std::hash::{BuildHasher, RandomState};
use std::path::PathBuf;
use std::time::{Duration, Instant};

use tapeline_base::{Clock, ExitCode, counted};
use tapeline_mesh::{
    Forecast, Host, HostId, HostsFile, Journal, JournalError, Kept, MeshPlan, Mode, Schedule, Via,
};
use tapeline_remote::{Transport, unix_time};
use tapeline_report::Calendar;
use tapeline_report::matrix::{Cell, MeshDocument, MeshRun, text};
use tapeline_sys::{SystemClock, exit_now, reason};

use super::forms::Forms;
use super::results::Results;
use super::runner::{Measured, Runner};
use super::sessions::{Happening, Sessions};
use super::test_line::TestLine;
use crate::cli::flows;
use crate::cli::via::via;
use crate::identity;
use crate::output::ascii::ascii;
use crate::plan::{Copies, MeshJob};
use crate::run::history::{Fault, note, print};
use crate::run::printer::speaks_utf8;
use crate::run::signals::on_interrupt;

/// Journals of one minute at most.
const JOURNALS: u32 = 100;
/// Tests that a host takes part in at the same time at most: what `tapeline remote` runs in the background.
const AT_ONCE: usize = 4;

/// Tests hosts with each other, and says what came of it.
pub(crate) fn mesh(job: &MeshJob) -> ExitCode {
    match perform(job) {
        Ok(code) => code,
        Err(fault) => fault.say(),
    }
}

fn perform(job: &MeshJob) -> Result<ExitCode, Fault> {
    let kept = job.resume.as_deref().map(Journal::read::<Cell>).transpose();
    let kept = kept.map_err(refused)?;
    let (plan, line) = planned(job, kept.as_ref())?;
    let unfit = |error| Fault::Usage(format!("--pattern {}: {error}", plan.pattern));
    let forecast = Forecast::new(&plan, line.expected()).map_err(unfit)?;
    let schedule = Schedule::new(&plan, line.expected() + Forecast::BETWEEN).map_err(unfit)?;
    if plan.mode == Mode::AllAtOnce {
        refuse_crowds(&plan, &schedule)?;
    }
    if job.only_plan {
        print(&forecast_text(&plan, &line, &forecast))?;
        return Ok(ExitCode::Success);
    }
    let transports = plan.hosts.iter().map(transport);
    let transports = transports.collect::<Result<Vec<_>, Fault>>()?;
    let copy = match &job.copies {
        Copies::None => None,
        Copies::Other(program) => Some(program.clone()),
        Copies::Own => Some(identity::executable().map_err(Fault::Failure)?),
    };
    let (journal, earlier) = match (&job.resume, kept) {
        (Some(path), Some(kept)) => (Journal::resume(path, &kept).map_err(refused)?, kept.cells),
        _ => (new_journal(&plan)?, Vec::new()),
    };
    let results = Results::new(&plan, journal, earlier, job.history.as_deref());
    let (started, clock) = (unix_time(), Instant::now());
    let mut runner = Runner::new(&plan, &line, forecast, schedule, results);

    let lost = |error: std::io::Error| Fault::Failure(format!("no thread: {}", reason(&error)));
    let (mut sessions, interrupts) = Sessions::open(transports, copy).map_err(lost)?;
    let end = move || drop(interrupts.send(Happening::Interrupted));
    on_interrupt(end, || exit_now(ExitCode::Incomplete.code().into())).map_err(lost)?;
    let ran = runner.run(&mut sessions);
    sessions.close();
    let measured = runner.into_results();
    // What was measured is said even where the journal could not take it.
    let code = report(job, &plan, measured, (started, clock.elapsed()))?;
    ran.map_err(Fault::Failure)?;
    Ok(code)
}

/// The plan of a job, and what its tests do.
fn planned(job: &MeshJob, kept: Option<&Kept<Cell>>) -> Result<(MeshPlan, TestLine), Fault> {
    let Some(path) = &job.hosts else {
        // A line without hosts has a journal.
        let plan = kept.map(|kept| kept.plan.clone());
        let plan = plan.ok_or_else(|| Fault::Usage("a mesh needs hosts".to_owned()))?;
        let line = TestLine::read(&plan.test).map_err(Fault::Usage)?;
        return Ok((plan, line));
    };
    let name = path.display().to_string();
    let content = std::fs::read_to_string(path)
        .map_err(|error| Fault::Usage(format!("{name}: {}", reason(&error))))?;
    let file = HostsFile::read(&name, &content);
    let file = file.map_err(|error| Fault::Usage(error.to_string()))?;
    let (test, line) = match (&job.test, &file.test) {
        (Some(words), _) => (words.clone(), TestLine::read(words).map_err(Fault::Usage)?),
        (None, Some(located)) => {
            let words =
                flows::words(&located.text).ok_or("a quotation mark is not closed".to_owned());
            let read = words.and_then(|words| Ok((TestLine::read(&words)?, words)));
            let (line, words) = read.map_err(|why| {
                Fault::Usage(file.fault(located, &format!("test: {why}")).to_string())
            })?;
            (words, line)
        }
        (None, None) => (Vec::new(), TestLine::read(&[]).map_err(Fault::Usage)?),
    };
    let chance = || RandomState::new().hash_one(0);
    let seed = job.seed.or(kept.map(|kept| kept.plan.seed));
    let plan = MeshPlan {
        hosts: file.hosts,
        shared: file.shared,
        pattern: job.pattern.clone(),
        seed: seed.unwrap_or_else(chance),
        test,
        mode: job.mode,
    };
    if kept.is_some_and(|kept| kept.plan != plan) {
        return Err(Fault::Usage(
            "--resume: the journal has another plan: hosts, pattern, seed or test differ"
                .to_owned(),
        ));
    }
    Ok((plan, line))
}

/// No host can take part in that many tests at the same time.
fn refuse_crowds(plan: &MeshPlan, schedule: &Schedule) -> Result<(), Fault> {
    let mut counts: BTreeMap<HostId, usize> = BTreeMap::new();
    for (_, pair) in schedule.tests() {
        *counts.entry(pair.from).or_default() += 1;
        *counts.entry(pair.to).or_default() += 1;
    }
    match counts.iter().max_by_key(|(_, count)| **count) {
        Some((host, count)) if *count > AT_ONCE => Err(Fault::Usage(format!(
            "--all-at-once: {} would take part in {count} tests at a time, at most {AT_ONCE} are \
             possible: choose a pattern such as ring or pairs",
            plan.host(*host).name
        ))),
        _ => Ok(()),
    }
}

/// `6 hosts, 30 directed tests of 10 s in 10 slots: about 1 min 50 s; each host is busy 91 % of that time`.
fn forecast_text(plan: &MeshPlan, line: &TestLine, forecast: &Forecast) -> String {
    let kind = match plan.mode {
        Mode::FullDuplex => "tests of both directions",
        Mode::InTurn | Mode::AllAtOnce => "directed tests",
    };
    let (busiest, share) = forecast.busiest;
    let who = match forecast.is_even {
        true => "each host".to_owned(),
        false => format!("{}, the busiest host,", plan.host(busiest).name),
    };
    format!(
        "{}, {} {kind} of {} s in {}: about {}; {who} is busy {:.0} % of that time\n",
        counted(plan.hosts.len() as u64, "host"),
        forecast.tests,
        line.expected().as_secs_f64(),
        counted(u64::from(forecast.slots), "slot"),
        duration(forecast.time),
        share * 100.0
    )
}

/// `1 min 50 s`, `2 h 5 min`.
fn duration(time: Duration) -> String {
    let seconds = time.as_secs_f64().round() as u64;
    match (seconds / 3600, seconds / 60 % 60, seconds % 60) {
        (0, 0, seconds) => format!("{seconds} s"),
        (0, minutes, 0) => format!("{minutes} min"),
        (0, minutes, seconds) => format!("{minutes} min {seconds} s"),
        (hours, minutes, _) => format!("{hours} h {minutes} min"),
    }
}

fn transport(host: &Host) -> Result<Transport, Fault> {
    let command = match &host.via {
        Via::Ssh => return Ok(Transport::ssh(&host.destination)),
        Via::Command(command) => command,
    };
    via(command, Some(&host.destination)).ok_or_else(|| {
        Fault::Usage(format!(
            "via of {}: that is no command, or a quotation mark is not closed",
            host.name
        ))
    })
}

/// Makes `mesh-20261122-1410.ndjson`, or the same with a number behind it.
fn new_journal(plan: &MeshPlan) -> Result<Journal, Fault> {
    let format = "%Y%m%d-%H%M";
    let time = Calendar::new(false).formatted(SystemClock.wall(), format);
    let time = time.unwrap_or_else(|| "journal".to_owned());
    for number in 1..=JOURNALS {
        let behind = match number {
            1 => String::new(),
            _ => format!("-{number}"),
        };
        let path = PathBuf::from(format!("mesh-{time}{behind}.ndjson"));
        match Journal::create(&path, plan) {
            Err(JournalError::Io { error, .. })
                if error.kind() == std::io::ErrorKind::AlreadyExists => {}
            made => return made.map_err(refused),
        }
    }
    Err(Fault::Failure(format!(
        "there are {JOURNALS} journals of this minute"
    )))
}

fn refused(error: JournalError) -> Fault {
    Fault::Failure(match error {
        JournalError::Io { path, error } => format!("journal {path}: {}", reason(&error)),
        broken @ JournalError::Line { .. } => broken.to_string(),
    })
}

/// Writes the result in its forms.
fn report(
    job: &MeshJob,
    plan: &MeshPlan,
    measured: Measured<'_>,
    (started, lasted): (f64, Duration),
) -> Result<ExitCode, Fault> {
    let Measured {
        hosts,
        tests,
        results,
    } = measured;
    let journal = results.journal().display().to_string();
    let saved = results.saved();
    let cells = results.into_cells(tests.into_iter());
    let is_whole = cells.iter().all(|cell| cell.measured().is_some());
    let words = std::env::args_os().map(|word| word.to_string_lossy().into_owned());
    let document = MeshDocument::new(MeshRun {
        version: identity::OWN.to_owned(),
        command: identity::command(words),
        started,
        seconds: lasted.as_secs_f64(),
        pattern: plan.pattern.to_string(),
        test: identity::command(plan.test.iter().cloned()),
        journal: Some(journal),
        hosts,
        cells,
    });
    let forms = Forms {
        json: job.json.as_ref(),
        csv: job.csv.as_ref(),
        html: job.html.as_deref(),
    };
    let says = forms.deliver(&document)?;
    let saved = saved.map(|names| format!("saved    {names}"));
    if says {
        let text = format!("{}\n{}", reached(&document.run), text::render(&document));
        print(&if speaks_utf8() { text } else { ascii(&text) })?;
        saved.map_or(Ok(()), |saved| print(&saved))?;
    } else if let Some(saved) = saved {
        note(&saved.replace("saved    ", "saved "));
    }
    Ok(match is_whole {
        true => ExitCode::Success,
        false => ExitCode::Incomplete,
    })
}

/// `reached  6 of 6 hosts, tapeline 0.2.0 on all`.
fn reached(run: &MeshRun) -> String {
    let versions: Vec<&String> = run
        .hosts
        .iter()
        .filter_map(|host| host.version.as_ref())
        .collect();
    let first = versions.first();
    let which = match first {
        None => String::new(),
        Some(first) if versions.iter().all(|version| version == first) => {
            format!(", tapeline {first} on all")
        }
        Some(_) => {
            let each = run.hosts.iter().filter_map(|host| {
                let version = host.version.as_ref()?;
                Some(format!("{version} on {}", host.name))
            });
            format!(", tapeline {}", each.collect::<Vec<_>>().join(", "))
        }
    };
    format!(
        "reached  {} of {} hosts{which}\n",
        versions.len(),
        run.hosts.len()
    )
}
