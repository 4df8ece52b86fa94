//! Reading tapeline's own tables.

/// One row of a table, with its cells under the names of their columns.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct NativeRow {
    /// Number of the flow, or the word in its place.
    pub flow: String,
    /// Whether the data flow towards this program.
    pub receives: bool,
    /// Whether the row is the flow's total.
    pub total: bool,
    cells: Vec<(String, String)>,
}

impl NativeRow {
    /// The cell of a column.
    #[must_use]
    pub fn cell(&self, column: &str) -> Option<&str> {
        let (_, text) = self.cells.iter().find(|(name, _)| name == column)?;
        Some(text)
    }

    /// The whole number in a column.
    #[must_use]
    pub fn count(&self, column: &str) -> Option<u64> {
        self.cell(column)?.parse().ok()
    }
}

/// Reads the rows of tapeline's own tables; other lines are left out.
///
/// Byte counts are exact with `-f b`, in the column `B`.
#[must_use]
pub fn parse_native(output: &str) -> Vec<NativeRow> {
    let mut columns: Vec<&str> = Vec::new();
    let mut rows = Vec::new();
    // A line that is still being written has no end yet.
    let complete = output.rfind('\n').map_or("", |end| &output[..end]);
    for line in complete.lines() {
        let mut words = line.split_whitespace();
        match (words.next(), words.next()) {
            (Some("flow"), Some("seconds")) => {
                // Names of two words have a single blank between them.
                columns = line
                    .split("  ")
                    .map(str::trim)
                    .filter(|name| !name.is_empty())
                    .collect();
            }
            (Some(flow), Some(arrow @ ("->" | "<-"))) => {
                let mut cells: Vec<String> = words.map(str::to_owned).collect();
                let total = cells.pop_if(|last| last == "total").is_some();
                let names = columns.iter().skip(1).map(|name| (*name).to_owned());
                rows.push(NativeRow {
                    flow: flow.to_owned(),
                    receives: arrow == "<-",
                    total,
                    cells: names.zip(cells).collect(),
                });
            }
            _ => {}
        }
    }
    rows
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_are_found_by_the_names_of_their_columns() {
        let output = "\
flow 2: local 127.0.0.1:7011 (lo), peer 127.0.0.1:51836

  flow        seconds      Mbit/s        KiB   received     lost   loss %  reordered    dup  jitter ms      pkt/s
  2 <-      0.00-0.50       5.019      313.0        427        1     0.23          2      3      0.008        427
  2 <-      0.00-1.00       5.019      613.0        527        1     0.23          2      3      0.008        427 total

goodput  5.019 Mbit/s  from 127.0.0.1
";
        let rows = parse_native(output);
        assert_eq!(rows.len(), 2);
        let total = &rows[1];
        assert!(total.total && total.receives && !rows[0].total);
        assert_eq!(
            (total.flow.as_str(), total.cell("loss %")),
            ("2", Some("0.23"))
        );
        assert_eq!(
            (total.count("received"), total.count("dup")),
            (Some(527), Some(3))
        );
        assert_eq!(total.count("jitter ms"), None);
    }
}
