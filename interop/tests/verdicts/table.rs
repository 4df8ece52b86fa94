//! Outcomes as tables.

use std::collections::BTreeMap;
use std::fmt::Write;

use serde_json::Value;

use crate::cause::{Cause, Confidence, Grade};
use crate::situations;

/// All tables, as Markdown.
pub(crate) fn tables(outcomes: &[Value]) -> String {
    let mut page = String::new();
    let wrong = count(outcomes, |one| word(one, "grade").starts_with("WRONG"));
    let right = count(outcomes, is_right);
    let ours: Vec<&Value> = outcomes.iter().filter(is_ours).collect();
    let ours_right = ours.iter().filter(|one| is_right(one)).count();
    let _ = writeln!(
        page,
        "{} runs of {} situations: {right} right ({}), {wrong} wrong with medium or high confidence.\n\
         With a tapeline peer {ours_right} of {} are right ({}).\n",
        outcomes.len(),
        situations::all()
            .filter(|its| outcomes
                .iter()
                .any(|one| word(one, "situation") == its.name))
            .count(),
        percent(right, outcomes.len()),
        ours.len(),
        percent(ours_right, ours.len()),
    );
    page.push_str("### Truth and verdict\n\n");
    page.push_str(
        "Rows are the truth, columns the verdicts: runs with high / medium / low confidence. If several\n\
         causes are true, the row is the one of the verdict, else the first.\n\n",
    );
    confusion(&mut page, outcomes);
    page.push_str("\n### Confidence\n\n");
    confidence(&mut page, outcomes);
    page.push_str("\n### By peer\n\n");
    by_peer(&mut page, outcomes);
    page.push_str("\n### Situations\n\n");
    by_situation(&mut page, outcomes);
    page
}

/// Shares of right verdicts that are promised, percent: of those with high and with medium confidence,
/// and of all where the peer is tapeline.
const PROMISED: [(&str, f64); 3] = [("high", 99.0), ("medium", 90.0), ("tapeline", 90.0)];

/// Which promises the outcomes of all situations break; nothing for those of a part.
pub(crate) fn broken_promises(outcomes: &[Value]) -> Vec<String> {
    if situations::all().any(|its| {
        outcomes
            .iter()
            .all(|one| word(one, "situation") != its.name)
    }) {
        return Vec::new();
    }
    let broken = PROMISED.into_iter().filter_map(|(name, least)| {
        let its: Vec<&Value> = outcomes
            .iter()
            .filter(|one| match name {
                "tapeline" => is_ours(one),
                _ => word(one, "confidence") == name && word(one, "said") != Cause::Nothing.id(),
            })
            .collect();
        let right = its.iter().filter(|one| is_right(one)).count();
        let share = 100.0 * right as f64 / its.len().max(1) as f64;
        let short = !its.is_empty() && share < least;
        short.then(|| format!("{name}: {share:.1} % right, {least} % promised"))
    });
    broken.collect()
}

fn word<'a>(outcome: &'a Value, member: &str) -> &'a str {
    outcome[member].as_str().unwrap_or_default()
}

fn is_right(outcome: &Value) -> bool {
    word(outcome, "grade") == Grade::Right.id()
}

fn is_ours(outcome: &&Value) -> bool {
    outcome["ours"] == true
}

fn count(outcomes: &[Value], is: impl Fn(&Value) -> bool) -> usize {
    outcomes.iter().filter(|one| is(one)).count()
}

fn percent(part: usize, whole: usize) -> String {
    match whole {
        0 => "-".to_owned(),
        _ => format!("{:.1} %", 100.0 * part as f64 / whole as f64),
    }
}

/// The cause in whose row an outcome stands.
fn truth(outcome: &Value) -> &str {
    if is_right(outcome) {
        return word(outcome, "said");
    }
    outcome["right"][0].as_str().unwrap_or_default()
}

fn header(page: &mut String, first: &str, columns: impl IntoIterator<Item = String>) {
    let columns: Vec<String> = columns.into_iter().collect();
    let _ = writeln!(page, "| {first} | {} |", columns.join(" | "));
    let _ = writeln!(page, "|---|{}", "---|".repeat(columns.len()));
}

fn confusion(page: &mut String, outcomes: &[Value]) {
    let said: Vec<Cause> = Cause::ALL
        .into_iter()
        .filter(|cause| outcomes.iter().any(|one| word(one, "said") == cause.id()))
        .collect();
    header(page, "", said.iter().map(|cause| format!("`{cause}`")));
    for row in Cause::ALL {
        let of_row: Vec<&Value> = outcomes
            .iter()
            .filter(|one| truth(one) == row.id())
            .collect();
        if of_row.is_empty() {
            continue;
        }
        let _ = write!(page, "| `{row}` |");
        for column in &said {
            let counts = Confidence::ALL.map(|confidence| {
                let hit = |one: &&&Value| {
                    word(one, "said") == column.id() && word(one, "confidence") == confidence.id()
                };
                of_row.iter().filter(hit).count()
            });
            let cell = match counts {
                [0, 0, 0] => String::new(),
                [.., low] if *column == Cause::Nothing => low.to_string(),
                [high, medium, low] => format!("{high} / {medium} / {low}"),
            };
            let _ = write!(page, " {cell} |");
        }
        page.push('\n');
    }
}

fn confidence(page: &mut String, outcomes: &[Value]) {
    header(page, "", ["runs", "right", "share"].map(str::to_owned));
    for word_of in Confidence::ALL {
        let with: Vec<&Value> = outcomes
            .iter()
            .filter(|one| word(one, "confidence") == word_of.id())
            .filter(|one| word(one, "said") != Cause::Nothing.id())
            .collect();
        let right = with.iter().filter(|one| is_right(one)).count();
        let share = percent(right, with.len());
        let _ = writeln!(
            page,
            "| `{}` | {} | {right} | {share} |",
            word_of.id(),
            with.len()
        );
    }
    let nothing = count(outcomes, |one| word(one, "said") == Cause::Nothing.id());
    let right = count(outcomes, |one| {
        word(one, "said") == Cause::Nothing.id() && is_right(one)
    });
    let share = percent(right, nothing);
    let _ = writeln!(page, "| no verdict | {nothing} | {right} | {share} |");
}

fn grades(page: &mut String, outcomes: &[&Value]) {
    for grade in Grade::ALL {
        let count = outcomes
            .iter()
            .filter(|one| word(one, "grade") == grade.id())
            .count();
        match count {
            0 => page.push_str("  |"),
            count => {
                let _ = write!(page, " {count} |");
            }
        }
    }
    page.push('\n');
}

fn grade_names() -> impl Iterator<Item = String> {
    Grade::ALL.into_iter().map(|grade| grade.id().to_owned())
}

fn by_peer(page: &mut String, outcomes: &[Value]) {
    header(page, "", grade_names());
    let mut runs: Vec<&str> = outcomes.iter().map(|one| word(one, "run")).collect();
    runs.sort_unstable_by_key(|run| (!run.starts_with("tapeline"), *run));
    runs.dedup();
    for run in runs {
        let of_run: Vec<&Value> = outcomes
            .iter()
            .filter(|one| word(one, "run") == run)
            .collect();
        let _ = write!(page, "| {run} |");
        grades(page, &of_run);
    }
}

fn by_situation(page: &mut String, outcomes: &[Value]) {
    let columns = ["truth".to_owned()].into_iter().chain(grade_names());
    header(page, "Situation", columns);
    // What is right in every run needs no row of its own: names and runs, by truth.
    let mut right: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for situation in situations::all() {
        let of_it: Vec<&Value> = outcomes
            .iter()
            .filter(|one| word(one, "situation") == situation.name)
            .collect();
        let causes = situation.truth.right.iter();
        let truth: Vec<String> = causes.map(|one| format!("`{one}`")).collect();
        let truth = truth.join(", ");
        if of_it.is_empty() {
            continue;
        }
        if of_it.iter().all(|one| is_right(one)) {
            let named = format!("{} ({})", situation.name, of_it.len());
            right.entry(truth).or_default().push(named);
            continue;
        }
        let _ = write!(page, "| {} | {truth} |", situation.name);
        grades(page, &of_it);
    }
    page.push_str("\nThese were right in every run (runs in brackets):\n\n");
    header(page, "truth", ["situations".to_owned()]);
    for (truth, named) in right {
        let _ = writeln!(page, "| {truth} | {} |", named.join("; "));
    }
}
