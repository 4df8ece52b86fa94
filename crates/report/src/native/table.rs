//! Columns under one header, as many as the terminal is wide.

/// A column: what its header says and how it is laid out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Column {
    title: String,
    width: usize,
    /// Columns of lower rank stay longer on a narrow terminal; rank 0 always stays.
    rank: u8,
}

impl Column {
    /// A column that is at least as wide as its title.
    #[must_use]
    pub fn new(title: &str, width: usize, rank: u8) -> Self {
        Self {
            title: title.to_owned(),
            width: width.max(title.chars().count()),
            rank,
        }
    }

    /// What its header says.
    #[must_use]
    pub fn title(&self) -> &str {
        &self.title
    }
}

/// A set of columns that fits into a width.
#[derive(Clone, Debug)]
pub struct Table {
    columns: Vec<Column>,
    /// Which columns are shown.
    shown: Vec<bool>,
}

/// Blanks between columns.
const GAP: usize = 2;

impl Table {
    /// Leaves out columns, highest rank first, until the rest is at most `width` wide.
    #[must_use]
    pub fn fitting(columns: Vec<Column>, width: usize) -> Self {
        let mut shown = vec![true; columns.len()];
        let used = |shown: &[bool]| -> usize {
            columns
                .iter()
                .zip(shown)
                .filter(|(_, shown)| **shown)
                .map(|(column, _)| column.width + GAP)
                .sum()
        };
        while used(&shown) > width + GAP {
            let victim = (0..columns.len())
                .filter(|index| shown[*index] && columns[*index].rank > 0)
                .max_by_key(|index| columns[*index].rank);
            match victim {
                Some(index) => shown[index] = false,
                None => break,
            }
        }
        Self { columns, shown }
    }

    /// The header line.
    #[must_use]
    pub fn header(&self) -> String {
        self.line(self.columns.iter().map(|column| column.title.clone()))
    }

    /// A line of cells, one for each column that there was, shown or not.
    #[must_use]
    pub fn line(&self, cells: impl IntoIterator<Item = String>) -> String {
        let mut line = String::new();
        let shown = self.columns.iter().zip(&self.shown).zip(cells);
        for ((column, _), cell) in shown.filter(|((_, shown), _)| **shown) {
            if !line.is_empty() {
                line.push_str("  ");
            }
            let fill = column.width.saturating_sub(cell.chars().count());
            line.extend(std::iter::repeat_n(' ', fill));
            line.push_str(&cell);
        }
        line
    }
}

/// Joins phrases with commas into lines of at most `width`; lines after the first are
/// indented.
pub(crate) fn wrap(phrases: &[String], width: usize, indent: usize) -> String {
    let mut text = String::new();
    let mut used = 0;
    for (index, phrase) in phrases.iter().enumerate() {
        let length = phrase.chars().count();
        if index > 0 {
            text.push(',');
            if used + length + 3 > width {
                text.push('\n');
                text.extend(std::iter::repeat_n(' ', indent));
                used = indent;
            } else {
                text.push(' ');
                used += 2;
            }
        }
        text.push_str(phrase);
        used += length;
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn columns() -> Vec<Column> {
        vec![
            Column::new("flow", 4, 0),
            Column::new("Mbit/s", 8, 0),
            Column::new("retrans", 7, 1),
            Column::new("rtt ms", 7, 2),
        ]
    }

    #[test]
    fn narrow_terminals_lose_the_least_important_column_first() {
        let header = |width| Table::fitting(columns(), width).header();
        assert_eq!(header(80), "flow    Mbit/s  retrans   rtt ms");
        assert_eq!(header(32), "flow    Mbit/s  retrans   rtt ms");
        assert_eq!(header(31), "flow    Mbit/s  retrans");
        assert_eq!(header(10), "flow    Mbit/s");
    }

    #[test]
    fn cells_keep_their_columns() {
        let table = Table::fitting(columns(), 25);
        let cells = ["1", "941.5", "0", "0.4"].map(str::to_owned);
        assert_eq!(table.line(cells), "   1     941.5        0");
    }

    #[test]
    fn phrases_break_between_each_other() {
        let phrases = ["one two", "three", "four"].map(str::to_owned);
        assert_eq!(wrap(&phrases, 80, 2), "one two, three, four");
        assert_eq!(wrap(&phrases, 16, 2), "one two, three,\n  four");
    }
}
