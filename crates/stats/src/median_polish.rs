//! A table of numbers as the sum of an effect of each row and each column, by medians.

use crate::compare::median;
use crate::distributions::normal_quantile;

/// Cells that a row or a column needs for an effect: fewer do not say whether they are like each
/// other because of it, or because of what crosses it.
const LEAST_CELLS: usize = 3;
/// Effects that are needed to say which of them is unlike the others.
const LEAST_EFFECTS: usize = 4;
/// Sweeps over rows and columns; most tables are still after three.
const MAX_SWEEPS: usize = 50;
/// A sweep that changes nothing by more is the last one.
const STILL: f64 = 1e-9;
/// Median absolute deviations from which on a number is unlike the others.
const DEVIATIONS: f64 = 5.0;
/// Fits whose distances differ by a smaller share are equally good.
const ROUNDING: f64 = 1e-9;
/// How often chance alone may make one of many normal numbers unlike the others.
const CHANCE: f64 = 0.01;
/// Median absolute deviation of the normal distribution, in standard deviations.
const NORMAL_MAD: f64 = 0.674_489_750_196_081_7;

/// Two-way median polish (Tukey 1977): each cell is overall + row + column + residual. One wild
/// cell, row or column does not change the effects of the others. Cells may be missing.
///
/// Medians in turn may stop at a poor fit, so they begin where repeated medians (Siegel 1982) of
/// the differences between rows, or between columns, lead to. Of the two fits the one with the
/// smaller sum of absolute residuals counts.
#[derive(Clone, Debug, PartialEq)]
pub struct MedianPolish {
    columns: usize,
    row_effects: Effects,
    column_effects: Effects,
    residuals: Vec<Option<f64>>,
    residual_deviation: Option<f64>,
    unlike: f64,
}

/// What all cells of a row, or of a column, have in common.
#[derive(Clone, Debug, PartialEq)]
pub struct Effects {
    each: Vec<Option<f64>>,
    deviation: Option<f64>,
    unlike: f64,
}

impl Effects {
    /// How far one is from the median of all. Nothing below three cells, or below four effects.
    #[must_use]
    pub fn get(&self, index: usize) -> Option<f64> {
        self.deviation?;
        self.each.get(index).copied().flatten()
    }

    /// Whether there are cells enough to tell it from what crosses it.
    #[must_use]
    pub fn is_known(&self, index: usize) -> bool {
        self.each.get(index).is_some_and(Option::is_some)
    }

    /// Their median absolute deviation, or what the residuals let expect of it if that is more.
    #[must_use]
    pub const fn deviation(&self) -> Option<f64> {
        self.deviation
    }

    /// How many of these an effect must be away to be unlike the others.
    #[must_use]
    pub const fn unlike(&self) -> f64 {
        self.unlike
    }
}

impl MedianPolish {
    /// Of a table, row after row. Nothing if no cell is known.
    ///
    /// # Panics
    /// The cells are not whole rows of `columns`.
    #[must_use]
    pub fn new(columns: usize, cells: &[Option<f64>]) -> Option<Self> {
        assert!(cells.len().is_multiple_of(columns), "whole rows");
        let rows = Fit::new(columns, cells, Axis::Rows)?;
        let columns_first = Fit::new(columns, cells, Axis::Columns)?;
        let is_better = columns_first.distance() < rows.distance() * (1.0 - ROUNDING);
        let fit = if is_better { columns_first } else { rows };
        let residual_deviation = fit.residual_deviation();
        Some(Self {
            columns,
            row_effects: fit.effects(Axis::Rows, residual_deviation),
            column_effects: fit.effects(Axis::Columns, residual_deviation),
            unlike: unlike(fit.residuals.iter().flatten().count()),
            residuals: fit.residuals,
            residual_deviation,
        })
    }

    /// The effects of the rows.
    #[must_use]
    pub const fn row_effects(&self) -> &Effects {
        &self.row_effects
    }

    /// The effects of the columns.
    #[must_use]
    pub const fn column_effects(&self) -> &Effects {
        &self.column_effects
    }

    /// What neither its row nor its column explains of a cell.
    #[must_use]
    pub fn residual(&self, row: usize, column: usize) -> Option<f64> {
        *self.residuals.get(row * self.columns + column)?
    }

    /// Median absolute residual, without as many of the smallest as there are effects: the fit
    /// makes those 0. Nothing if no other is there.
    #[must_use]
    pub const fn residual_deviation(&self) -> Option<f64> {
        self.residual_deviation
    }

    /// How many of these a residual must be to be unlike the others.
    #[must_use]
    pub const fn unlike(&self) -> f64 {
        self.unlike
    }
}

/// Deviations that make one of so many numbers unlike the others: five, or more where chance
/// alone would bring one of them there.
fn unlike(count: usize) -> f64 {
    // Both tails of each.
    let chance = normal_quantile(CHANCE / count as f64);
    DEVIATIONS.max(chance / NORMAL_MAD)
}

/// The median, without sorting all: a fit takes thousands of them. The values change places.
fn selected_median(values: &mut [f64]) -> f64 {
    let middle = values.len() / 2;
    let is_even = values.len().is_multiple_of(2);
    let (below, upper, _) = values.select_nth_unstable_by(middle, f64::total_cmp);
    let lower = below.iter().copied().reduce(f64::max);
    match lower.filter(|_| is_even) {
        Some(lower) => f64::midpoint(lower, *upper),
        None => *upper,
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Axis {
    Rows,
    Columns,
}

/// A fit as it is made.
struct Fit {
    columns: usize,
    row_effects: Vec<Option<f64>>,
    column_effects: Vec<Option<f64>>,
    residuals: Vec<Option<f64>>,
}

impl Fit {
    fn new(columns: usize, cells: &[Option<f64>], first: Axis) -> Option<Self> {
        let known: Vec<f64> = cells.iter().copied().flatten().collect();
        if known.is_empty() {
            return None;
        }
        let overall = median(&known);
        let mut fit = Self {
            columns,
            row_effects: vec![None; cells.len() / columns],
            column_effects: vec![None; columns],
            residuals: cells.iter().map(|cell| Some((*cell)? - overall)).collect(),
        };
        fit.begin(first);
        let order = match first {
            Axis::Rows => [Axis::Columns, Axis::Rows],
            Axis::Columns => [Axis::Rows, Axis::Columns],
        };
        for _ in 0..MAX_SWEEPS {
            let changes = order.map(|axis| fit.sweep(axis));
            if changes.iter().all(|change| *change <= STILL) {
                break;
            }
        }
        Some(fit)
    }

    /// Gives each row, or each column, the median of its median differences from all of them.
    fn begin(&mut self, axis: Axis) {
        let known = |index: &usize| self.known(axis, *index).count() >= LEAST_CELLS;
        let judged: Vec<usize> = (0..self.count(axis)).filter(known).collect();
        let between = |one: usize, other: usize| {
            let pairs = self.line(axis, one).zip(self.line(axis, other));
            let both = pairs.filter_map(|(a, b)| Some(self.residuals[a]? - self.residuals[b]?));
            let mut both: Vec<f64> = both.collect();
            (!both.is_empty()).then(|| selected_median(&mut both))
        };
        let moves: Vec<f64> = judged
            .iter()
            .map(|one| {
                let differences = judged.iter().filter_map(|other| between(*one, *other));
                selected_median(&mut differences.collect::<Vec<f64>>())
            })
            .collect();
        for (index, move_by) in judged.into_iter().zip(moves) {
            self.shift(axis, index, move_by);
        }
    }

    /// Moves the medians of the rows or columns into their effects: the largest move.
    fn sweep(&mut self, axis: Axis) -> f64 {
        let (mut largest, mut known) = (0.0_f64, Vec::new());
        for index in 0..self.count(axis) {
            known.clear();
            known.extend(self.known(axis, index));
            if known.len() < LEAST_CELLS {
                continue;
            }
            let move_by = selected_median(&mut known);
            self.shift(axis, index, move_by);
            largest = largest.max(move_by.abs());
        }
        largest
    }

    /// Moves so much of all cells of a row or column into its effect.
    fn shift(&mut self, axis: Axis, index: usize, move_by: f64) {
        for at in self.line(axis, index) {
            if let Some(residual) = &mut self.residuals[at] {
                *residual -= move_by;
            }
        }
        let effects = match axis {
            Axis::Rows => &mut self.row_effects,
            Axis::Columns => &mut self.column_effects,
        };
        *effects[index].get_or_insert(0.0) += move_by;
    }

    /// How many rows or columns there are.
    const fn count(&self, axis: Axis) -> usize {
        match axis {
            Axis::Rows => self.row_effects.len(),
            Axis::Columns => self.column_effects.len(),
        }
    }

    /// The residuals of a row or column.
    fn known(&self, axis: Axis, index: usize) -> impl Iterator<Item = f64> {
        self.line(axis, index).filter_map(|at| self.residuals[at])
    }

    /// Where the cells of a row or column are.
    fn line(&self, axis: Axis, index: usize) -> impl Iterator<Item = usize> + use<> {
        let (columns, rows) = (self.columns, self.row_effects.len());
        match axis {
            Axis::Rows => (index * columns..(index + 1) * columns).step_by(1),
            Axis::Columns => (index..rows * columns).step_by(columns),
        }
    }

    fn distance(&self) -> f64 {
        self.residuals.iter().flatten().map(|one| one.abs()).sum()
    }

    fn residual_deviation(&self) -> Option<f64> {
        let mut sizes: Vec<f64> = self.residuals.iter().flatten().map(|r| r.abs()).collect();
        sizes.sort_unstable_by(f64::total_cmp);
        let effects = [&self.row_effects, &self.column_effects];
        let fitted = effects.map(|axis| axis.iter().flatten().count());
        // One of them says the same as the overall median.
        let fitted = (fitted[0] + fitted[1]).saturating_sub(1).max(1);
        let free = sizes.get(fitted..).filter(|free| !free.is_empty())?;
        Some(median(free))
    }

    fn effects(&self, axis: Axis, residual_deviation: Option<f64>) -> Effects {
        let effects = match axis {
            Axis::Rows => &self.row_effects,
            Axis::Columns => &self.column_effects,
        };
        let known: Vec<f64> = effects.iter().copied().flatten().collect();
        if known.len() < LEAST_EFFECTS {
            return Effects {
                each: effects.clone(),
                deviation: None,
                unlike: DEVIATIONS,
            };
        }
        let middle = median(&known);
        let away: Vec<f64> = known.iter().map(|effect| (effect - middle).abs()).collect();
        // Few effects may be close to each other by chance.
        let cells = self.residuals.iter().flatten().count() as f64 / known.len() as f64;
        let expected = residual_deviation.map(|residual| residual / cells.sqrt());
        Effects {
            each: effects.iter().map(|one| Some((*one)? - middle)).collect(),
            deviation: expected.map(|expected| median(&away).max(expected)),
            unlike: unlike(known.len()),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// A square table without its diagonal.
    fn table(hosts: usize, cell: impl Fn(usize, usize) -> f64) -> Vec<Option<f64>> {
        let places = (0..hosts * hosts).map(|at| (at / hosts, at % hosts));
        let cells = places.map(|(row, column)| (row != column).then(|| cell(row, column)));
        cells.collect()
    }

    fn close(one: Option<f64>, other: f64) -> bool {
        one.is_some_and(|one| (one - other).abs() < 1e-6)
    }

    #[test]
    fn a_slow_column_is_an_effect_of_its_column_alone() {
        let cells = table(6, |_, column| if column == 4 { -0.8 } else { 0.0 });
        let polish = MedianPolish::new(6, &cells).expect("a fit");
        for index in 0..6 {
            let slow = if index == 4 { -0.8 } else { 0.0 };
            assert!(close(polish.column_effects().get(index), slow));
            assert!(close(polish.row_effects().get(index), 0.0));
        }
        assert_eq!(polish.residual_deviation(), Some(0.0));
        assert_eq!(polish.residual(2, 2), None);
        assert_eq!(polish.residual(2, 9), None);
    }

    #[test]
    fn two_slow_columns_of_four_are_not_taken_for_rows() {
        let cells = table(4, |_, column| if column > 1 { -0.5 } else { 0.0 });
        let polish = MedianPolish::new(4, &cells).expect("a fit");
        let rows: Vec<Option<f64>> = (0..4).map(|row| polish.row_effects().get(row)).collect();
        assert_eq!(rows, [Some(0.0); 4]);
        assert!(
            (0..4)
                .all(|row| (0..4)
                    .all(|column| polish.residual(row, column).is_none_or(|r| r == 0.0)))
        );
    }

    #[test]
    fn few_cells_have_no_effects() {
        let three = MedianPolish::new(3, &table(3, |_, _| 1.0)).expect("a fit");
        assert_eq!(three.row_effects().get(0), None);
        assert_eq!(MedianPolish::new(2, &[None; 4]), None);
        // A ring: each row and column has one cell, which is compared with all others.
        let mut ring = vec![None; 36];
        for host in 0..6 {
            ring[host * 6 + (host + 1) % 6] = Some(if host == 2 { -1.0 } else { 0.0 });
        }
        let polish = MedianPolish::new(6, &ring).expect("a fit");
        assert_eq!(polish.row_effects().get(2), None);
        assert_eq!(polish.residual(2, 3), Some(-1.0));
        assert_eq!(polish.residual_deviation(), Some(0.0));
    }

    #[test]
    fn more_are_needed_to_be_unlike_more() {
        assert_eq!(unlike(1), 5.0);
        assert_eq!(unlike(12), 5.0);
        assert!((5.8..6.0).contains(&unlike(132)));
        assert!((6.9..7.1).contains(&unlike(4032)));
    }

    proptest! {
        #[test]
        fn cells_are_the_sum_of_their_parts(
            columns in 1_usize..9,
            cells in prop::collection::vec(prop::option::weighted(0.8, -5.0..5.0_f64), 0..64),
        ) {
            let cells = &cells[..cells.len() / columns * columns];
            let Some(fit) = cells.iter().flatten().next().and(Fit::new(columns, cells, Axis::Rows)) else {
                prop_assert_eq!(MedianPolish::new(columns, cells), None);
                return Ok(());
            };
            let known: Vec<f64> = cells.iter().copied().flatten().collect();
            let overall = median(&known);
            for (at, cell) in cells.iter().enumerate() {
                prop_assert_eq!(cell.is_some(), fit.residuals[at].is_some());
                if let (Some(cell), Some(residual)) = (cell, fit.residuals[at]) {
                    let row = fit.row_effects[at / columns].unwrap_or(0.0);
                    let column = fit.column_effects[at % columns].unwrap_or(0.0);
                    prop_assert!((overall + row + column + residual - cell).abs() < 1e-9);
                }
            }
        }

        #[test]
        fn a_table_that_is_a_sum_has_no_residuals(
            rows in prop::collection::vec(-3.0..3.0_f64, 4..9),
            columns in prop::collection::vec(-3.0..3.0_f64, 4..9),
        ) {
            let cells: Vec<Option<f64>> =
                rows.iter().flat_map(|row| columns.iter().map(move |column| Some(row + column))).collect();
            let polish = MedianPolish::new(columns.len(), &cells).expect("a fit");
            let middle = median(&columns);
            for (column, effect) in columns.iter().enumerate() {
                prop_assert!(close(polish.column_effects().get(column), effect - middle));
                prop_assert!((0..rows.len()).all(|row| close(polish.residual(row, column), 0.0)));
            }
        }

        #[test]
        fn a_wild_cell_changes_no_effect(
            hosts in 5_usize..12,
            row in 0_usize..5,
            column in 0_usize..4,
            wild in -50.0..50.0_f64,
        ) {
            let column = if column >= row { column + 1 } else { column };
            let mut cells = table(hosts, |row, column| row as f64 * 0.3 - column as f64 * 0.2);
            let before = MedianPolish::new(hosts, &cells).expect("a fit");
            *cells[row * hosts + column].as_mut().expect("a cell") += wild;
            let after = MedianPolish::new(hosts, &cells).expect("a fit");
            for host in 0..hosts {
                let effect = before.row_effects().get(host).expect("an effect");
                prop_assert!(close(after.row_effects().get(host), effect));
            }
            prop_assert!(close(after.residual(row, column), wild));
        }

        #[test]
        fn a_factor_for_all_moves_nothing(
            cells in prop::collection::vec(prop::option::weighted(0.9, -5.0..5.0_f64), 30),
            shift in -9.0..9.0_f64,
        ) {
            let moved: Vec<Option<f64>> = cells.iter().map(|cell| Some((*cell)? + shift)).collect();
            let (one, other) = (MedianPolish::new(6, &cells), MedianPolish::new(6, &moved));
            let (Some(one), Some(other)) = (one, other) else { return Ok(()) };
            for row in 0..5 {
                for column in 0..6 {
                    let (a, b) = (one.residual(row, column), other.residual(row, column));
                    prop_assert!(a.zip(b).is_none_or(|(a, b)| (a - b).abs() < 1e-6));
                }
            }
        }
    }
}
