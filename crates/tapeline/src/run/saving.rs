//! `--save`: results into the history. It is an output among the others, so that neither the sampler
//! nor the traffic waits for the file, and a client's result is kept when it has been reported.

use std::time::Duration;

use serde::Serialize;
use serde_json::Value;
use tapeline_archive::{
    ArchiveError, Bound, NewRun, NewSeries, Patience, RunId, Saved, SeriesKind, Unsaved, Uuid, save,
};
use tapeline_base::{Clock, Role};
use tapeline_report::document::{Report, ReportTracker, RunInfo, Step, event_line};
use tapeline_report::{Amount, Event, ExclusionReason, Output, Renderer, Series};
use tapeline_sys::SystemClock;

use crate::presentation::{DocumentForm, Presentation, SavePlan, TextStyle};

/// A server has more tests to watch: what cannot be entered soon waits beside the file.
const SERVERS_PATIENCE: Patience = Patience {
    busy: Duration::from_secs(1),
    total: Duration::from_secs(1),
};

/// The output that keeps results, if they are to be kept.
pub(crate) fn output(
    presentation: &Presentation,
    run_info: &RunInfo,
) -> Option<Box<dyn Renderer + Send>> {
    Some(Box::new(Saver {
        keeper: Keeper::new(presentation)?,
        role: run_info.role,
        tracker: ReportTracker::new(run_info.clone()),
        reports: Vec::new(),
        series: None,
    }))
}

/// How it is said what was kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Says {
    /// As a line of the text.
    Line,
    /// As an event of `--json-stream`.
    Event,
    /// As a note on standard error.
    Note,
}

/// What the event `saved` says.
#[derive(Serialize)]
struct SavedEvent {
    runs: Vec<String>,
    series: Option<String>,
}

/// What the event `unsaved` says.
#[derive(Serialize)]
struct UnsavedEvent {
    why: String,
    /// The file in which the result waits for the next one that is saved.
    waits_in: Option<String>,
}

/// Keeps results and says so.
struct Keeper {
    plan: SavePlan,
    says: Says,
}

struct Saver {
    keeper: Keeper,
    role: Role,
    tracker: ReportTracker,
    /// A client's runs that have ended.
    reports: Vec<Report>,
    /// What several of them came to.
    series: Option<Series>,
}

impl Renderer for Saver {
    fn render(&mut self, event: &Event, out: &mut Output) {
        let steps = self.tracker.observe(event);
        self.take(steps, out);
    }

    fn missed(&mut self, rows: u64, _out: &mut Output) {
        self.tracker.missed(rows);
    }

    fn finish(&mut self, out: &mut Output) {
        let steps = self.tracker.finish();
        self.take(steps, out);
        self.keep_clients(out);
    }
}

impl Saver {
    fn take(&mut self, steps: Vec<Step>, out: &mut Output) {
        for step in steps {
            match (step, self.role) {
                (Step::End { report, .. }, Role::Client) => self.reports.push(*report),
                (Step::End { report, .. }, Role::Server) => {
                    let Some(run) = self.run(&report, now()) else {
                        continue;
                    };
                    match self.keeper.keep(&run, SERVERS_PATIENCE) {
                        Ok(saved) if self.keeper.says == Says::Event => {
                            self.keeper.say(&[saved], out);
                        }
                        Ok(_) => {}
                        Err(unsaved) => self.keeper.say_unsaved(&unsaved, out),
                    }
                }
                (Step::Series(series), _) => self.series = Some(series.series),
                _ => {}
            }
        }
    }

    /// Keeps a client's runs: one, or a series.
    fn keep_clients(&mut self, out: &mut Output) {
        let now = now();
        let reports = std::mem::take(&mut self.reports);
        let runs = (1..).zip(&reports).filter_map(|(number, report)| {
            let mut run = self.run(report, now)?;
            run.left_out = self.left_out(number);
            Some(run)
        });
        let runs: Vec<NewRun> = runs.collect();
        self.keeper.keep_runs(runs, now, self.series.is_some(), out);
    }

    fn left_out(&self, number: u32) -> Option<String> {
        let excluded = self.series.as_ref()?.excluded.iter();
        let reason = excluded.clone().find(|one| one.run == number)?.reason;
        Some(
            match reason {
                ExclusionReason::WarmUp => "warm_up",
                ExclusionReason::Interrupted => "interrupted",
                ExclusionReason::Failed => "failed",
            }
            .to_owned(),
        )
    }

    fn run(&self, report: &Report, now: i64) -> Option<NewRun> {
        self.keeper.run(serde_json::to_value(report).ok()?, now)
    }
}

impl Keeper {
    fn new(presentation: &Presentation) -> Option<Self> {
        let plan = presentation.save.clone()?;
        let says = match presentation.style {
            _ if presentation.output_file.is_some() => Says::Note,
            TextStyle::Native if presentation.amount != Amount::Brief => Says::Line,
            TextStyle::Document(DocumentForm::Stream) => Says::Event,
            _ => Says::Note,
        };
        Some(Self { plan, says })
    }

    fn run(&self, document: Value, now: i64) -> Option<NewRun> {
        let mut run = NewRun::new(document, now).ok()?;
        run.tags = self.plan.tags.iter().cloned().collect();
        Some(run)
    }

    /// Keeps runs of one line, and says so.
    fn keep_runs(&self, mut runs: Vec<NewRun>, now: i64, is_series: bool, out: &mut Output) {
        let series = (is_series || runs.len() > 1).then(|| NewSeries {
            uuid: Uuid::at(now),
            started: now,
            kind: SeriesKind::Repeat,
            plan: None,
        });
        let (mut kept, mut network) = (Vec::new(), None);
        for run in &mut runs {
            run.series.clone_from(&series);
            match self.keep(run, Patience::default()) {
                Ok(saved) => {
                    network = saved.network.or(network);
                    if saved.room.is_full {
                        say_full(&self.plan, out);
                    }
                    kept.push(saved);
                }
                Err(unsaved) => self.say_unsaved(&unsaved, out),
            }
        }
        if let Some(kind) = network {
            let file = self.plan.file.display();
            out.stderr.push_str(&format!(
                "note: {file} is on a network file system ({kind}): one writer at a time, and its \
                 locks are as good as that file system's [history-on-network]\n"
            ));
        }
        self.say(&kept, out);
    }

    fn say(&self, kept: &[Saved], out: &mut Output) {
        let Some(names) = names(kept) else {
            return;
        };
        match self.says {
            Says::Line => out.stdout.push_str(&format!("saved    {names}\n")),
            Says::Note => out.stderr.push_str(&format!("note: saved {names}\n")),
            Says::Event => {
                let event = SavedEvent {
                    runs: kept.iter().map(|saved| saved.run.to_string()).collect(),
                    series: kept[0].series.map(|series| series.to_string()),
                };
                let line = event_line("saved", SystemClock.wall(), &event);
                out.stdout.push_str(&line);
            }
        }
    }

    fn say_unsaved(&self, unsaved: &Unsaved, out: &mut Output) {
        let (why, path) = match unsaved {
            Unsaved::Waits { path, why } => (why, Some(path.display().to_string())),
            Unsaved::Lost { why, .. } => (why, None),
        };
        if self.says == Says::Event {
            let event = UnsavedEvent {
                why: why.to_string(),
                waits_in: path,
            };
            let line = event_line("unsaved", SystemClock.wall(), &event);
            out.stdout.push_str(&line);
        }
        say_unsaved(unsaved, out);
    }

    fn keep(&self, run: &NewRun, patience: Patience) -> Result<Saved, Unsaved> {
        let bound = Bound {
            bytes: self.plan.most_bytes,
            drops_runs: self.plan.drops_runs,
        };
        save(&self.plan.file, bound, patience, run)
    }
}

/// Keeps what another host measured, and says so: documents with all intervals, each with why it does not
/// count in its series.
pub(crate) fn keep_from(
    host: Option<&str>,
    documents: Vec<(Value, Option<String>)>,
    presentation: &Presentation,
) -> Output {
    let mut out = Output::default();
    if let Some(keeper) = Keeper::new(presentation) {
        let now = now();
        let runs = documents.into_iter().filter_map(|(document, left_out)| {
            let mut run = keeper.run(document, now)?;
            run.left_out = left_out;
            run.from_host = host.map(str::to_owned);
            Some(run)
        });
        keeper.keep_runs(runs.collect(), now, false, &mut out);
    }
    out
}

/// The time, milliseconds since 1970.
pub(crate) fn now() -> i64 {
    SystemClock.wall().as_nanos() / 1_000_000
}

/// `r118 to r125, series s14`.
pub(crate) fn names(kept: &[Saved]) -> Option<String> {
    let (first, last) = (kept.first()?, kept.last()?);
    let numbers = kept.iter().map(|saved| saved.run);
    let in_a_row = numbers.clone().eq((first.run.0..=last.run.0).map(RunId));
    let mut names = match kept {
        [one] => one.run.to_string(),
        _ if in_a_row => format!("{} to {}", first.run, last.run),
        _ => numbers
            .map(|run| run.to_string())
            .collect::<Vec<_>>()
            .join(", "),
    };
    if let Some(series) = first.series {
        names.push_str(&format!(", series {series}"));
    }
    Some(names)
}

fn say_full(plan: &SavePlan, out: &mut Output) {
    let said = format!(
        "warning: {} is as large as it may become: \"tapeline history prune\" makes room \
         [history-full]\n",
        plan.file.display()
    );
    if !out.stderr.contains(&said) {
        out.stderr.push_str(&said);
    }
}

fn say_unsaved(unsaved: &Unsaved, out: &mut Output) {
    out.stderr.push_str(&unsaved_line(unsaved));
}

/// The warning that a result is not in the history, a line.
pub(crate) fn unsaved_line(unsaved: &Unsaved) -> String {
    let line =
        |why: &ArchiveError, rest: &str| format!("warning: not saved: {why}; {rest} [not-saved]\n");
    match unsaved {
        Unsaved::Waits { path, why } => {
            let path = path.display();
            line(
                why,
                &format!("the result waits in {path} for the next --save"),
            )
        }
        Unsaved::Lost { why, and } => line(why, &format!("nor beside it: {and}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_in_a_row_are_one() {
        let saved = |number| Saved {
            run: RunId(number),
            is_new: true,
            series: None,
            network: None,
            room: tapeline_archive::Room::default(),
        };
        let named = |numbers: &[i64]| {
            let kept: Vec<Saved> = numbers.iter().map(|number| saved(*number)).collect();
            names(&kept)
        };
        assert_eq!(named(&[]), None);
        assert_eq!(named(&[7]).as_deref(), Some("r7"));
        assert_eq!(named(&[7, 8, 9]).as_deref(), Some("r7 to r9"));
        assert_eq!(named(&[7, 9]).as_deref(), Some("r7, r9"));
    }
}
