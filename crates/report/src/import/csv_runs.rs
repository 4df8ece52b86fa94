//! The runs of a file of iperf 2's `-y C`.
//!
//! The file may hold many tests one after the other, and those of several clients of a server among each other.

use std::collections::VecDeque;

use jiff::civil::DateTime;

use super::error::Fault;
use super::intervals::MAX_INTERVALS;
use super::iperf2_csv::{self, CsvRow, Names};
use super::kind::Kind;
use super::lines::Lines;
use super::run::{ImportedRun, MAX_RUNS};
use super::table::Table;

/// Kinds of rows with names that a file can have.
const MAX_NAMES: usize = 16;

/// The runs of a file of rows.
#[derive(Debug)]
pub(crate) struct CsvRuns<'a> {
    lines: Lines<'a>,
    names: Vec<Names>,
    /// The program is older than 2.0.14, by the first number of a stream.
    old: Option<bool>,
    open: Vec<Open>,
    /// Rows of the tests that are open, at least.
    kept: usize,
    ready: VecDeque<Table>,
}

/// A test whose rows are being read.
#[derive(Debug)]
struct Open {
    pair: (String, String),
    table: Table,
    /// The time of its last row.
    last: Option<DateTime>,
}

/// Whether a line is a row, or the names of columns.
pub(crate) fn is_row(line: &str) -> bool {
    iperf2_csv::names(line).is_some() || iperf2_csv::row(line, &[], false).is_some()
}

impl<'a> CsvRuns<'a> {
    pub(crate) fn new(file: &'a [u8]) -> Self {
        Self {
            lines: Lines::new(file),
            names: Vec::new(),
            old: None,
            open: Vec::new(),
            kept: 0,
            ready: VecDeque::new(),
        }
    }

    fn take(&mut self, line: &str) -> Result<(), String> {
        if let Some(names) = iperf2_csv::names(line) {
            self.names.retain(|known| *known != names);
            if self.names.len() == MAX_NAMES {
                self.names.remove(0);
            }
            self.names.push(names);
            return Ok(());
        }
        let old = self.old.unwrap_or(true);
        let Some(row) = iperf2_csv::row(line, &self.names, old) else {
            return Ok(());
        };
        if self.old.is_none() {
            // Streams were called by their descriptors then.
            self.old = Some(row.id() > 2);
            return self.take(line);
        }
        self.enter(row)
    }

    fn enter(&mut self, row: CsvRow) -> Result<(), String> {
        self.kept += 1;
        if self.kept > MAX_INTERVALS {
            return Err(format!("more than {MAX_INTERVALS} intervals"));
        }
        let found = self.open.iter().position(|open| row.is_between(&open.pair));
        let at = match found {
            Some(at) if row.is_of(&self.open[at].table, self.open[at].last) => at,
            other => {
                if let Some(at) = other {
                    let table = self.open.remove(at).table;
                    self.kept -= table.len().min(self.kept);
                    self.ready.push_back(table);
                }
                if self.open.len() == MAX_RUNS {
                    return Err(format!("more than {MAX_RUNS} runs"));
                }
                self.open.push(Open {
                    pair: row.pair.clone(),
                    table: Table::new(Kind::Iperf2Csv),
                    last: None,
                });
                self.open.len() - 1
            }
        };
        let open = &mut self.open[at];
        open.last = row.time;
        row.enter(&mut open.table)
    }
}

impl Iterator for CsvRuns<'_> {
    type Item = Result<ImportedRun<'static>, Fault>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some(table) = self.ready.pop_front() {
                return Some(Ok(table.finish()));
            }
            let Some(line) = self.lines.next() else {
                self.ready
                    .extend(self.open.drain(..).map(|open| open.table));
                if self.ready.is_empty() {
                    return None;
                }
                continue;
            };
            if let Err(why) = self.take(&line.text) {
                return Some(Err(Fault::new(line.at, why)));
            }
        }
    }
}
