//! `tapeline fleet collect`: results into a history, and the fleet's numbers over HTTP.

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::Path;
use std::sync::{Arc, Mutex};

use tapeline_archive::{Bound, NewRun, NewSeries, Patience, SeriesKind, Uuid, save};
use tapeline_base::{ExitCode, MutexExt};
use tapeline_fleet::{
    CollectorSettings, Database, FleetCounts, Inserted, JobId, ResultKey, run_collector,
};
use tapeline_report::matrix::{Cell, Outcome};
use tapeline_report::prometheus::{FleetMetrics, MEDIA_TYPE, PairNumbers};
use tapeline_sys::reason;

use super::fleet_state::fleet_state;
use super::role::{clock, log, until_interrupted};
use crate::http::{Request, Response, Status};
use crate::run::history::Fault;
use crate::run::metrics::listen;
use crate::run::saving::now;

/// Without a home there is no usual file.
pub(crate) fn no_history() -> Fault {
    Fault::Usage("there is no home for a history: --history FILE".to_owned())
}

/// The tag of a run that a job made.
pub(crate) const JOB: &str = "job";

/// Collects until it is interrupted.
pub(crate) fn collect(
    settings: &Path,
    history: Option<&Path>,
    metrics: Option<&str>,
    ndjson: Option<&Path>,
) -> Result<ExitCode, Fault> {
    let settings = CollectorSettings::read(settings)?;
    let file = history.ok_or_else(no_history)?;
    let site = settings.access.site.to_string();
    let counts = Arc::<Mutex<FleetCounts>>::default();
    let measured = Arc::new(Mutex::new(FleetMetrics::new(&site)));
    if let Some(address) = metrics {
        let (counts, measured) = (Arc::clone(&counts), Arc::clone(&measured));
        let answer = move |request: &Request| match request.path.as_str() {
            "/" => Response::ok("text/plain; charset=utf-8", "tapeline: see /metrics\n"),
            "/metrics" => {
                let state = fleet_state(&counts.lock_unpoisoned(), now() / 1000);
                Response::ok(MEDIA_TYPE, measured.lock_unpoisoned().text(&state))
            }
            _ => Status::NotFound.into(),
        };
        let at = listen(address, Arc::new(answer)).map_err(Fault::Said)?;
        log("collector", &format!("metrics at http://{at}/metrics"));
    }
    let lines = ndjson.map(|path| {
        let opened = OpenOptions::new().create(true).append(true).open(path);
        opened.map_err(|error| {
            Fault::Failure(format!("--ndjson {}: {}", path.display(), reason(&error)))
        })
    });
    let mut history = History {
        file,
        site,
        lines: lines.transpose()?,
        measured,
        said: String::new(),
    };
    // One that cannot be written is said now, not with the first result.
    tapeline_archive::Archive::open_to_write(file, Patience::default().busy)?;
    let stop = until_interrupted()?;
    let mut say = |what: &str| log("collector", what);
    run_collector(
        &settings.access,
        &clock(),
        &mut history,
        &counts,
        stop,
        &mut say,
    )?;
    Ok(ExitCode::Success)
}

struct History<'a> {
    file: &'a Path,
    site: String,
    lines: Option<File>,
    measured: Arc<Mutex<FleetMetrics>>,
    /// The fault that was said last.
    said: String,
}

impl Database for History<'_> {
    fn insert(&mut self, key: &ResultKey, document: &str) -> Inserted {
        let Ok(document) = serde_json::from_str::<serde_json::Value>(document) else {
            return self.refused(key, "no JSON");
        };
        let Some(run) = self.run(key, document.clone()) else {
            return self.refused(key, "no report");
        };
        match save(self.file, Bound::default(), Patience::default(), &run) {
            Ok(saved) if saved.is_new => {
                self.said.clear();
                self.take_note(key, document);
                Inserted::New
            }
            Ok(_) => Inserted::Existed,
            Err(unsaved) => {
                self.say(crate::run::saving::unsaved_line(&unsaved).trim_end());
                Inserted::Failed
            }
        }
    }
}

impl History<'_> {
    fn say(&mut self, why: &str) {
        if self.said != why {
            log("collector", why);
            why.clone_into(&mut self.said);
        }
    }

    /// What never can be kept is not asked for again.
    fn refused(&mut self, key: &ResultKey, why: &str) -> Inserted {
        self.say(&format!("result of {} for {}: {why}", key.host, key.of.job));
        Inserted::Existed
    }

    fn run(&self, key: &ResultKey, document: serde_json::Value) -> Option<NewRun> {
        let mut run = NewRun::new(document, now()).ok()?;
        let identity = format!("{}/{key}", self.site);
        run.uuid = Uuid::of_content(identity.as_bytes(), 0);
        run.tags.insert(JOB.to_owned(), key.of.job.to_string());
        run.tags.insert("site".to_owned(), self.site.clone());
        if let Some((name, number, from, to)) = key.of.job.parts() {
            let (from, to) = (from.to_string(), to.to_string());
            let is_client = key.host.as_str() == from;
            let (own, peer) = if is_client { (from, to) } else { (to, from) };
            run.from_host = Some(own);
            run.to_host = Some(peer);
            run.series = is_client.then(|| series(&self.site, name, number));
        }
        Some(run)
    }

    /// For metrics and lines: of results that the client's host has.
    fn take_note(&mut self, key: &ResultKey, document: serde_json::Value) {
        let Some((_, _, from, to)) = key.of.job.parts() else {
            return;
        };
        if key.host.as_str() != from {
            return;
        }
        let attempt = key.of.attempt.0;
        if let Some(lines) = &mut self.lines {
            let line = serde_json::json!({
                "site": self.site, "job": key.of.job, "attempt": attempt,
                "from": from, "to": to, "report": document,
            });
            if let Err(error) = writeln!(lines, "{line}") {
                log("collector", &format!("--ndjson: {}", reason(&error)));
            }
        }
        let cell = Cell::from_report(from, to, attempt, document);
        if let Outcome::Measured(measured) = &cell.outcome {
            let mut metrics = self.measured.lock_unpoisoned();
            let numbers = PairNumbers {
                rate: measured.rate,
                rtt: measured.rtt,
                lost_ratio: measured.lost_ratio,
            };
            metrics.measured(from, to, numbers, now() / 1000);
        }
    }
}

/// Runs of one round of a schedule, or of one order, belong together.
fn series(site: &str, name: &str, number: i64) -> NewSeries {
    let identity = format!("{site}/{name}/{number}");
    NewSeries {
        uuid: Uuid::of_content(identity.as_bytes(), 1),
        started: now(),
        kind: match name {
            JobId::RUN => SeriesKind::Mesh,
            _ => SeriesKind::Schedule,
        },
        plan: Some(serde_json::json!({ "site": site, "name": name }).to_string()),
    }
}
