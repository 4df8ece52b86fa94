//! Rows in columns.

/// A header and rows of as many words, in columns that are as wide as they must be.
pub(crate) fn table(header: &[&str], rows: impl Iterator<Item = Vec<String>>) -> String {
    let header: Vec<String> = header.iter().map(|&word| word.to_owned()).collect();
    let rows: Vec<Vec<String>> = std::iter::once(header).chain(rows).collect();
    let columns = rows.iter().map(Vec::len).max().unwrap_or_default();
    let width = |column: usize| {
        let words = rows.iter().filter_map(|row| row.get(column));
        words
            .map(|word| word.chars().count())
            .max()
            .unwrap_or_default()
    };
    let widths: Vec<usize> = (0..columns).map(width).collect();
    let mut text = String::new();
    for row in &rows {
        let mut line = String::new();
        for (word, width) in row.iter().zip(&widths) {
            line.push_str(&format!("{word:width$}  "));
        }
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_as_wide_as_their_widest_word() {
        let rows = [["a", "long word", ""], ["bbb", "é", "x"]];
        let rows = rows
            .iter()
            .map(|row| row.iter().map(|&word| word.to_owned()).collect());
        assert_eq!(
            table(&["A", "B", "C"], rows),
            "A    B          C\na    long word\nbbb  é          x\n"
        );
    }
}
