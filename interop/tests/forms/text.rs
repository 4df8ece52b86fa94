//! A text as it is read: rows under a head, and facts behind a label.

use std::collections::BTreeMap;

/// Titles of columns, longer ones before those that they end with.
const TITLES: [&str; 22] = [
    "reordered or dup",
    "seconds",
    "stream",
    "Mbit/s",
    "Gbit/s",
    "kbit/s",
    "bit/s",
    "KiB",
    "MiB",
    "GiB",
    "retrans",
    "cwnd KiB",
    "rtt ms",
    "rttvar ms",
    "in flight",
    "datagrams",
    "lost",
    "loss %",
    "jitter ms",
    "errors",
    "reordered",
    "dup",
];

/// A row, cell by cell. Of both directions, the rates are `to`, `from` and the last one.
#[derive(Debug, Default)]
pub(crate) struct Row {
    /// `sent`, `received`, or nothing of an interval.
    pub(crate) label: String,
    cells: BTreeMap<String, String>,
    /// The unit of its rates and of its size.
    pub(crate) rate: String,
    pub(crate) size: String,
}

impl Row {
    /// What stands in a column; nothing where that is blank or `-`.
    pub(crate) fn cell(&self, title: &str) -> Option<&str> {
        let cell = self.cells.get(title)?;
        (!cell.is_empty() && cell != "-").then_some(cell)
    }

    pub(crate) fn has(&self, title: &str) -> bool {
        self.cells.contains_key(title)
    }
}

/// A client's text.
#[derive(Debug, Default)]
pub(crate) struct Text {
    pub(crate) rows: Vec<Row>,
    facts: Vec<(String, String)>,
}

impl Text {
    /// Reads it.
    pub(crate) fn new(text: &str) -> Self {
        let mut read = Self::default();
        let mut head: Vec<(String, usize)> = Vec::new();
        for line in text.lines() {
            if let Some((label, value)) = fact(line) {
                read.facts.push((label.to_owned(), value.to_owned()));
            } else if line.split_whitespace().any(|word| word == "seconds") {
                head = columns(line);
            } else if line.starts_with(' ') && line.contains('-') && !head.is_empty() {
                read.rows.push(row(&head, line));
            }
        }
        read
    }

    /// What stands behind a label, line by line.
    pub(crate) fn facts(&self, label: &str) -> Vec<&str> {
        let facts = self.facts.iter().filter(|(name, _)| name == label);
        facts.map(|(_, value)| value.as_str()).collect()
    }
}

fn fact(line: &str) -> Option<(&str, &str)> {
    let labels = [
        "Throughput",
        "Loss",
        "Jitter",
        "Latency",
        "Limited by",
        "Streams",
        "Gap",
        "Trust",
    ];
    let label = labels.into_iter().find(|label| line.starts_with(label))?;
    Some((label, line.get(13..)?.trim()))
}

/// Titles with the column behind each.
fn columns(head: &str) -> Vec<(String, usize)> {
    let mut found: Vec<(String, usize)> = Vec::new();
    let mut at = 0;
    while at < head.len() {
        let rest = &head[at..];
        let blanks = rest.len() - rest.trim_start().len();
        at += blanks;
        let title = TITLES.iter().find(|title| {
            let behind = head[at..].strip_prefix(**title);
            behind.is_some_and(|behind| behind.is_empty() || behind.starts_with(' '))
        });
        let Some(title) = title else {
            break;
        };
        at += title.len();
        found.push(((*title).to_owned(), at));
    }
    let both = found.iter().filter(|(title, _)| title.ends_with("bit/s"));
    if both.count() == 3 {
        let rates = found
            .iter_mut()
            .filter(|(title, _)| title.ends_with("bit/s"));
        for ((title, _), way) in rates.zip(["to ", "from ", ""]) {
            title.insert_str(0, way);
        }
    }
    found
}

fn row(head: &[(String, usize)], line: &str) -> Row {
    let mut row = Row::default();
    let mut from = 0;
    for (title, to) in head {
        let cell = line.get(from..(*to).min(line.len())).unwrap_or_default();
        row.cells.insert(title.clone(), cell.trim().to_owned());
        from = *to;
        if title.ends_with("bit/s") {
            title
                .rsplit(' ')
                .next()
                .unwrap_or_default()
                .clone_into(&mut row.rate);
        }
        if ["B", "KiB", "MiB", "GiB"].contains(&title.as_str()) {
            row.size.clone_from(title);
        }
    }
    line.get(from..)
        .unwrap_or_default()
        .trim()
        .clone_into(&mut row.label);
    row
}
