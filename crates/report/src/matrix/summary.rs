//! Tests between many hosts as text, a line for each host: where a matrix has no room.

use tapeline_stats::median;

use super::cell::Cell;
use super::numbers::Numbers;
use super::table::width;

const HEAD: [&str; 6] = [
    "",
    "sends",
    "receives",
    "worst to",
    "worst from",
    "no result",
];

/// Medians, the worst tests, and how many have no result, of each host.
pub(crate) fn text(numbers: &Numbers<'_>) -> String {
    let row = |host: &&str| {
        let sent: Vec<&Cell> = numbers.cells().filter(|cell| cell.from == **host).collect();
        let received: Vec<&Cell> = numbers.cells().filter(|cell| cell.to == **host).collect();
        let (slow_sender, slow_receiver) = numbers.host_stands_out(host);
        let failed = sent
            .iter()
            .chain(&received)
            .filter(|cell| cell.measured().is_none());
        let failed = match failed.count() {
            0 => String::new(),
            failed => failed.to_string(),
        };
        [
            (*host).to_owned(),
            middle(numbers, &sent, slow_sender),
            middle(numbers, &received, slow_receiver),
            worst(numbers, &sent, |cell| &cell.to),
            worst(numbers, &received, |cell| &cell.from),
            failed,
        ]
    };
    let head = HEAD.map(str::to_owned);
    let rows: Vec<[String; 6]> = std::iter::once(head)
        .chain(numbers.hosts.iter().map(row))
        .collect();
    let mut lines: Vec<String> = vec![String::from(" "); rows.len()];
    for column in 0..HEAD.len() {
        let wide = rows
            .iter()
            .map(|row| width(&row[column]))
            .max()
            .unwrap_or(0);
        for (line, row) in lines.iter_mut().zip(&rows) {
            // Names stand to the left, and numbers to the right before the place of their mark.
            let cell = &row[column];
            let text = match column {
                0 => format!(" {cell:wide$}"),
                1 | 2 if cell.ends_with('!') => format!("  {cell:>marked$}", marked = wide + 1),
                1 | 2 => format!("  {cell:>wide$} "),
                3 | 4 => format!("  {cell:wide$}"),
                _ => format!("  {cell:>wide$}"),
            };
            line.push_str(&text);
        }
    }
    let title = format!("{}, medians of each host's tests\n", numbers.label());
    let lines = lines.iter().map(|line| format!("{}\n", line.trim_end()));
    std::iter::once(title).chain(lines).collect()
}

/// The median of some tests, marked where the host stands out.
fn middle(numbers: &Numbers<'_>, cells: &[&Cell], stands_out: bool) -> String {
    let values: Vec<f64> = cells
        .iter()
        .filter_map(|cell| numbers.value(cell))
        .collect();
    if values.is_empty() {
        return "-".to_owned();
    }
    let mark = if stands_out { "!" } else { "" };
    format!("{}{mark}", numbers.shown(median(&values)))
}

/// The worst of some tests: the other host, and the number.
fn worst(numbers: &Numbers<'_>, cells: &[&Cell], host: fn(&Cell) -> &str) -> String {
    let values = cells
        .iter()
        .filter_map(|cell| Some((numbers.value(cell)?, *cell)));
    let order = |one: &(f64, &Cell), other: &(f64, &Cell)| one.0.total_cmp(&other.0);
    let worst = if numbers.more_is_worse() {
        values.max_by(order)
    } else {
        values.min_by(order)
    };
    worst.map_or_else(String::new, |(value, cell)| {
        format!("{} {}", host(cell), numbers.shown(value))
    })
}
