//! From a job to its result.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use tapeline_base::{Clock, ExitCode};
use tapeline_mesh::{Host, HostId, Journal, JournalError, Kept, MeshPlan, Mode, Schedule, Via};
use tapeline_remote::{Transport, unix_time};
use tapeline_report::Calendar;
use tapeline_report::matrix::{Cell, MeshDocument, MeshRun, text};
use tapeline_sys::{SystemClock, exit_now, reason};

use super::event_stream::EventStream;
use super::forms::Forms;
use super::planned::{Planned, Wanted};
use super::results::Results;
use super::runner::{Measured, Runner};
use super::sessions::{Happening, Sessions};
use super::test_line::TestLine;
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
    let planned = planned(job, kept.as_ref())?;
    let forecast = planned.forecast().map_err(Fault::Usage)?;
    let schedule = planned.schedule().map_err(Fault::Usage)?;
    let Planned { plan, line, file } = &planned;
    if plan.mode == Mode::AllAtOnce {
        refuse_crowds(plan, &schedule)?;
    }
    if job.only_plan {
        print(&planned.text(&forecast))?;
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
        _ => (new_journal(plan)?, Vec::new()),
    };
    let stream = EventStream::new(job.stream);
    let results = Results::new(
        plan,
        journal,
        earlier,
        job.history.as_deref(),
        file.as_deref(),
        stream,
    );
    results.say_start(schedule.tests().map(|(_, pair)| pair));
    let (started, clock) = (unix_time(), Instant::now());
    let mut runner = Runner::new(plan, line, forecast, schedule, results, stream);

    let lost = |error: std::io::Error| Fault::Failure(format!("no thread: {}", reason(&error)));
    let (mut sessions, interrupts) = Sessions::open(transports, copy).map_err(lost)?;
    let end = move || drop(interrupts.send(Happening::Interrupted));
    on_interrupt(end, || exit_now(ExitCode::Incomplete.code().into())).map_err(lost)?;
    let ran = runner.run(&mut sessions);
    sessions.close();
    let measured = runner.into_results();
    // What was measured is said even where the journal could not take it.
    let code = report(job, plan, measured, (started, clock.elapsed()))?;
    ran.map_err(Fault::Failure)?;
    Ok(code)
}

/// The plan of a job, what its tests do, and the file that it is made from.
fn planned(job: &MeshJob, kept: Option<&Kept<Cell>>) -> Result<Planned, Fault> {
    let Some(path) = &job.hosts else {
        // A line without hosts has a journal.
        let plan = kept.map(|kept| kept.plan.clone());
        let plan = plan.ok_or_else(|| Fault::Usage("a mesh needs hosts".to_owned()))?;
        let line = TestLine::read(&plan.test).map_err(Fault::Usage)?;
        let file = None;
        return Ok(Planned { plan, line, file });
    };
    let name = path.display().to_string();
    let content = std::fs::read_to_string(path)
        .map_err(|error| Fault::Usage(format!("{name}: {}", reason(&error))))?;
    let planned = Planned::read(&Wanted {
        name: &name,
        content: &content,
        pattern: &job.pattern,
        seed: job.seed.or(kept.map(|kept| kept.plan.seed)),
        test: job.test.as_deref(),
        mode: job.mode,
    });
    let planned = planned.map_err(|error| Fault::Usage(error.to_string()))?;
    if kept.is_some_and(|kept| kept.plan != planned.plan) {
        return Err(Fault::Usage(
            "--resume: the journal has another plan: hosts, pattern, seed or test differ"
                .to_owned(),
        ));
    }
    Ok(planned)
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
    results.say_saved();
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
    if job.stream {
        return Ok(code(is_whole));
    }
    if says {
        let text = format!("{}\n{}", reached(&document.run), text::render(&document));
        print(&if speaks_utf8() { text } else { ascii(&text) })?;
        saved.map_or(Ok(()), |saved| print(&saved))?;
    } else if let Some(saved) = saved {
        note(&saved.replace("saved    ", "saved "));
    }
    Ok(code(is_whole))
}

const fn code(is_whole: bool) -> ExitCode {
    match is_whole {
        true => ExitCode::Success,
        false => ExitCode::Incomplete,
    }
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
