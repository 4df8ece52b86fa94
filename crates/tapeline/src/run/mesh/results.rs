//! What was measured: in memory, in the journal, in the history.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use serde_json::{Value, json};
use tapeline_archive::{Bound, NewRun, NewSeries, Patience, Saved, SeriesKind, Uuid, save};
use tapeline_mesh::{HostId, Journal, MeshPlan, Mode, Pair};
use tapeline_report::FlowDirection;
use tapeline_report::matrix::{Cell, Outcome};

use super::event_stream::EventStream;
use crate::message::{self, CliMessage};
use crate::run::saving::{names, now, unsaved_line};

/// A busy history must not hold up the tests.
const PATIENCE: Patience = Patience {
    busy: Duration::from_secs(1),
    total: Duration::from_secs(1),
};

/// The cells of a mesh.
#[derive(Debug)]
pub(crate) struct Results<'a> {
    plan: &'a MeshPlan,
    cells: BTreeMap<(HostId, HostId), Cell>,
    journal: Journal,
    history: Option<History<'a>>,
    stream: EventStream,
}

/// The series of a mesh in the history.
#[derive(Debug)]
struct History<'a> {
    file: &'a Path,
    series: NewSeries,
    saved: Vec<Saved>,
}

impl<'a> Results<'a> {
    /// Those of a plan, with the cells that an earlier run measured.
    pub(crate) fn new(
        plan: &'a MeshPlan,
        journal: Journal,
        earlier: Vec<Cell>,
        history: Option<&'a Path>,
        file: Option<&str>,
        stream: EventStream,
    ) -> Self {
        let now = now();
        let words = words(plan, file);
        let history = history.map(|file| History {
            file,
            series: NewSeries {
                uuid: Uuid::at(now),
                started: now,
                kind: SeriesKind::Mesh,
                plan: words,
            },
            saved: Vec::new(),
        });
        let place = |name: &str| {
            let place = plan.hosts.iter().position(|host| host.name == name);
            place.map(HostId)
        };
        let cells = earlier.into_iter().filter_map(|cell| {
            let places = (place(&cell.from)?, place(&cell.to)?);
            cell.measured().is_some().then_some((places, cell))
        });
        Self {
            plan,
            cells: cells.collect(),
            journal,
            history,
            stream,
        }
    }

    /// Says which tests there will be.
    pub(crate) fn say_start(&self, tests: impl Iterator<Item = Pair>) {
        if self.stream.is_wanted() {
            let hosts: Vec<&String> = self.plan.hosts.iter().map(|host| &host.name).collect();
            let cells: usize = tests.map(|pair| self.ways(pair).len()).sum();
            self.stream
                .say("start", &json!({ "hosts": hosts, "cells": cells }));
            self.cells.values().for_each(|cell| self.say_cell(cell));
        }
    }

    fn say_cell(&self, cell: &Cell) {
        if self.stream.is_wanted() {
            let report = None;
            let cell = Cell {
                report,
                ..cell.clone()
            };
            self.stream.say("cell", &cell);
        }
    }

    /// Says what was kept.
    pub(crate) fn say_saved(&self) {
        let saved = self.history.as_ref().map(|history| &history.saved[..]);
        if let Some([first, ..]) = saved {
            let runs = saved.unwrap_or_default().iter();
            let runs: Vec<String> = runs.map(|saved| saved.run.to_string()).collect();
            let series = first.series.map(|series| series.to_string());
            self.stream
                .say("saved", &json!({ "runs": runs, "series": series }));
        }
    }

    /// The pairs of which a test says something.
    pub(crate) fn ways(&self, pair: Pair) -> Vec<(HostId, HostId)> {
        match self.plan.mode {
            Mode::FullDuplex => vec![(pair.from, pair.to), (pair.to, pair.from)],
            Mode::InTurn | Mode::AllAtOnce => vec![(pair.from, pair.to)],
        }
    }

    /// Whether all that a test says is known.
    pub(crate) fn has(&self, pair: Pair) -> bool {
        let known = |way: &(HostId, HostId)| {
            let cell = self.cells.get(way);
            cell.is_some_and(|cell| cell.measured().is_some())
        };
        self.ways(pair).iter().all(known)
    }

    /// The cells of a test's report, which the history takes whole.
    pub(crate) fn of_report(&mut self, pair: Pair, attempts: u32, report: Value) -> Vec<Cell> {
        let names = [pair.from, pair.to].map(|host| self.plan.host(host).name.clone());
        let [from, to] = &names;
        let mut cells = Vec::new();
        if self.plan.mode == Mode::FullDuplex {
            let back = FlowDirection::Reverse;
            cells.push(Cell::from_direction(
                to,
                from,
                attempts,
                report.clone(),
                back,
            ));
        }
        if let Some(history) = &mut self.history
            && report["error"].is_null()
        {
            history.keep(names.clone(), report.clone(), self.stream);
        }
        cells.insert(0, Cell::from_report(from, to, attempts, report));
        cells
    }

    /// Enters what came of a test that was tried.
    ///
    /// # Errors
    /// The journal cannot be written, in words.
    pub(crate) fn enter(&mut self, pair: Pair, cells: Vec<Cell>) -> Result<(), String> {
        for (way, cell) in self.ways(pair).into_iter().zip(cells) {
            self.journal
                .append(&cell)
                .map_err(|error| error.to_string())?;
            self.say_cell(&cell);
            self.cells.insert(way, cell);
        }
        Ok(())
    }

    /// Enters what came of a test that was not tried, or is not worth a line of the journal.
    pub(crate) fn note(&mut self, pair: Pair, attempts: u32, outcome: &Outcome) {
        for way in self.ways(pair) {
            let [from, to] = [way.0, way.1].map(|host| &self.plan.host(host).name);
            if !self.cells.contains_key(&way) {
                let cell = Cell::unmeasured(from, to, attempts, outcome.clone());
                self.say_cell(&cell);
                self.cells.insert(way, cell);
            }
        }
    }

    /// Where a further run goes on.
    pub(crate) fn journal(&self) -> &Path {
        self.journal.path()
    }

    /// What was kept in the history, as a line's end: `r118 to r125, series s14`.
    pub(crate) fn saved(&self) -> Option<String> {
        names(&self.history.as_ref()?.saved)
    }

    /// The cells in the order of the tests.
    pub(crate) fn into_cells(mut self, tests: impl Iterator<Item = Pair>) -> Vec<Cell> {
        let ways: Vec<_> = tests.flat_map(|pair| self.ways(pair)).collect();
        ways.iter()
            .filter_map(|way| self.cells.remove(way))
            .collect()
    }
}

impl History<'_> {
    fn keep(&mut self, [from, to]: [String; 2], report: Value, stream: EventStream) {
        let Ok(mut run) = NewRun::new(report, now()) else {
            return;
        };
        run.from_host = Some(from);
        run.to_host = Some(to);
        run.series = Some(self.series.clone());
        match save(self.file, Bound::default(), PATIENCE, &run) {
            Ok(saved) => self.saved.push(saved),
            Err(unsaved) => {
                // Without standard error nobody reads it.
                let line = unsaved_line(&unsaved);
                stream.say("unsaved", &json!({ "why": line.trim_end() }));
                let _ = message::print(&[CliMessage::err(line.trim_end())]);
            }
        }
    }
}

/// A plan in the history: with the text of its file, which says more to people.
fn words(plan: &MeshPlan, file: Option<&str>) -> Option<String> {
    // Everything in a plan is text, a number, or a list.
    let mut words = serde_json::to_value(plan).ok()?;
    if let Some(file) = file {
        words["file"] = file.into();
    }
    Some(words.to_string())
}
