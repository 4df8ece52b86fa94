//! One number of all tests, by sender and receiver, in one unit.

use std::collections::BTreeMap;

use tapeline_base::FormatLetter;

use super::cell::Cell;
use super::document::MeshDocument;
use super::finding::MatrixQuantity;
use crate::native::{Unit, digits, in_unit};

/// One number of all tests.
pub(crate) struct Numbers<'a> {
    pub(crate) hosts: Vec<&'a str>,
    document: &'a MeshDocument,
    quantity: MatrixQuantity,
    cells: BTreeMap<(&'a str, &'a str), &'a Cell>,
    unit: Unit,
}

impl<'a> Numbers<'a> {
    /// Nothing where no test has the number.
    pub(crate) fn new(document: &'a MeshDocument, quantity: MatrixQuantity) -> Option<Self> {
        let (hosts, cells) = (document.run.hosts.iter(), document.run.cells.iter());
        let known = cells
            .clone()
            .filter_map(|cell| quantity.of(cell.measured()?));
        let largest = known.reduce(f64::max)?;
        Some(Self {
            hosts: hosts.map(|host| host.name.as_str()).collect(),
            document,
            quantity,
            cells: cells
                .map(|cell| ((cell.from.as_str(), cell.to.as_str()), cell))
                .collect(),
            unit: Unit::for_rate(largest, FormatLetter::default()),
        })
    }

    /// The test from one host to another, if one was planned.
    pub(crate) fn cell(&self, from: &'a str, to: &'a str) -> Option<&'a Cell> {
        self.cells.get(&(from, to)).copied()
    }

    /// All tests, by sender and receiver.
    pub(crate) fn cells(&self) -> impl Iterator<Item = &'a Cell> {
        self.cells.values().copied()
    }

    /// The number of a test.
    pub(crate) fn value(&self, cell: &Cell) -> Option<f64> {
        self.quantity.of(cell.measured()?)
    }

    /// A number without its unit.
    pub(crate) fn shown(&self, value: f64) -> String {
        match self.quantity {
            MatrixQuantity::Rate => in_unit(self.unit, value),
            MatrixQuantity::RoundTrip => digits(value * 1e3),
        }
    }

    /// What the numbers are, with their unit.
    pub(crate) const fn label(&self) -> &'static str {
        match self.quantity {
            MatrixQuantity::Rate => self.unit.label,
            MatrixQuantity::RoundTrip => "Round trip ms",
        }
    }

    /// Whether a larger number is the worse one.
    pub(crate) const fn more_is_worse(&self) -> bool {
        matches!(self.quantity, MatrixQuantity::RoundTrip)
    }

    /// Whether a test is part of a finding.
    pub(crate) fn stands_out(&self, cell: &Cell) -> bool {
        self.document.stands_out(cell, self.quantity)
    }

    /// Whether a host is one that stands out as a sender, and as a receiver.
    pub(crate) fn host_stands_out(&self, host: &str) -> (bool, bool) {
        let its = self
            .document
            .findings
            .iter()
            .filter(|one| one.quantity == self.quantity);
        its.fold((false, false), |(sends, receives), one| {
            let (as_sender, as_receiver) = one.subject.is_host(host);
            (sends || as_sender, receives || as_receiver)
        })
    }
}
