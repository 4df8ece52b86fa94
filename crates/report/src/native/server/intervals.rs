//! Rows of intervals: one for each test and direction, under a header that comes again.

use std::collections::BTreeMap;
use std::time::Duration;

use super::amount::Amount;
use crate::model::{Measure, Row};
use crate::native::cells;
use crate::native::number::millis;
use crate::native::number::{decimals, digits};
use crate::native::table::{Column, Table};

/// Rows below each header.
const ROWS: usize = 20;
/// Intervals of a test that wait for its other flows.
const MAX_PENDING: usize = 64;

/// Where the rows of a test are added up until all of its flows have reported theirs.
#[derive(Debug, Default)]
pub(crate) struct Pending(BTreeMap<(bool, Duration), Sum>);

/// An interval of several flows.
#[derive(Clone, Debug)]
pub(crate) struct Sum {
    flows: usize,
    amount: Amount,
    jitter: Option<f64>,
    /// Of the first of them.
    row: Row,
}

impl Pending {
    /// Adds a row; gives the sum when that of `flows` flows is complete.
    pub(crate) fn add(&mut self, row: &Row, flows: usize) -> Option<Sum> {
        if self.0.len() >= MAX_PENDING {
            self.0.pop_first();
        }
        let key = (row.measure.sends(), row.span.start);
        let sum = self.0.entry(key).or_insert_with(|| Sum {
            flows: 0,
            amount: Amount::default(),
            jitter: None,
            row: row.clone(),
        });
        sum.flows += 1;
        sum.amount.add(row);
        if let Measure::UdpReceive(receive) = &row.measure {
            sum.jitter = match (sum.jitter, receive.jitter) {
                (Some(one), Some(other)) => Some(one.max(other)),
                (one, other) => one.or(other),
            };
        }
        (sum.flows >= flows).then(|| self.0.remove(&key))?
    }
}

/// The table of all tests.
#[derive(Debug)]
pub(crate) struct Intervals {
    table: Table,
    /// Rows since the last header.
    rows: Option<usize>,
}

impl Intervals {
    /// For a device of so many columns.
    pub(crate) fn new(width: usize) -> Self {
        let column = |title, width, rank| Column::new(title, width, rank);
        let columns = vec![
            column("test", 4, 0),
            column("direction", 11, 0),
            column("seconds", 11, 0),
            column("Mbit/s", 7, 0),
            column("retrans", 7, 1),
            column("lost", 6, 1),
            column("loss %", 6, 2),
            column("jitter ms", 9, 3),
        ];
        Self {
            table: Table::fitting(columns, width),
            rows: None,
        }
    }

    /// The lines of an interval of a test.
    pub(crate) fn lines(&mut self, test: u32, sum: &Sum) -> Vec<String> {
        let mut lines = Vec::new();
        if self.rows.is_none_or(|rows| rows >= ROWS) {
            lines.push(self.table.header());
            self.rows = Some(0);
        }
        let Amount {
            retransmits, loss, ..
        } = sum.amount;
        let mbits = sum.amount.rate() / 1e6;
        let dash = || "-".to_owned();
        let share = |(lost, total): (u64, u64)| digits(100.0 * lost as f64 / total.max(1) as f64);
        let jitter = sum.jitter.filter(|_| loss.is_some());
        lines.push(self.table.line([
            format!("#{test}"),
            if sum.row.measure.sends() {
                "from server".to_owned()
            } else {
                "to server".to_owned()
            },
            cells::seconds(sum.row.span),
            format!("{mbits:.*}", decimals(mbits)),
            retransmits.map_or_else(dash, |count| count.to_string()),
            loss.map_or_else(dash, |(lost, _)| lost.to_string()),
            loss.map_or_else(dash, share),
            jitter.map_or_else(dash, millis),
        ]));
        self.rows = self.rows.map(|rows| rows + 1);
        lines
    }
}
