//! The result of a gate for people and for the programs that show it to them.

use std::fmt::Write as _;

use jiff::Timestamp;

use super::document::{GateReport, Outcome};

/// The text, with a line end behind each line.
#[must_use]
pub fn text(report: &GateReport) -> String {
    let mut out = String::new();
    let rules = report.rules.iter().map(|rule| rule.rule.chars().count());
    let width = rules.max().unwrap_or(0);
    for rule in &report.rules {
        let (word, said) = (rule.outcome.word(), &rule.rule);
        let _ = writeln!(out, "  {word:9}  {said:width$}   {}", rule.why);
    }
    let _ = writeln!(out, "{}", summary(report));
    out
}

/// `failed: 1 of 3 rules`.
fn summary(report: &GateReport) -> String {
    let count = |outcome| {
        report
            .rules
            .iter()
            .filter(|rule| rule.outcome == outcome)
            .count()
    };
    let all = report.rules.len();
    match report.outcome {
        Outcome::Fail => format!("failed: {} of {all} rules", count(Outcome::Fail)),
        Outcome::Undecided => format!("undecided: {} of {all} rules", count(Outcome::Undecided)),
        Outcome::Pass => format!("passed: {all} of {all} rules"),
    }
}

/// A table for a pull request.
#[must_use]
pub fn markdown(report: &GateReport) -> String {
    // A cell ends at a bar and a line end, and HTML begins at a bracket.
    let cell = |text: &str| {
        let text = text
            .replace('\\', "\\\\")
            .replace('|', "\\|")
            .replace('<', "&lt;");
        text.replace(['\n', '\r'], " ")
    };
    let mut out = format!(
        "**tapeline gate, {}: {}**\n\n",
        cell(&report.name),
        summary(report)
    );
    out.push_str("| | Rule | Measured |\n|---|---|---|\n");
    for rule in &report.rules {
        let (word, why) = (rule.outcome.word(), cell(&rule.why));
        let _ = writeln!(out, "| {word} | {} | {why} |", cell(&rule.rule));
    }
    out
}

/// JUnit's XML: a case for each rule. One that is undecided is skipped, or fails with `strict`. `at` is
/// when they were judged, milliseconds since 1970. It is valid by the schemas of Ant and of Jenkins.
#[must_use]
pub fn junit(report: &GateReport, strict: bool, at: i64) -> String {
    let is_failure = |outcome| match outcome {
        Outcome::Fail => true,
        Outcome::Undecided => strict,
        Outcome::Pass => false,
    };
    let count = |wanted: fn(bool, Outcome) -> bool| {
        let rules = report.rules.iter();
        rules
            .filter(|rule| wanted(is_failure(rule.outcome), rule.outcome))
            .count()
    };
    let failures = count(|fails, _| fails);
    let skipped = count(|fails, outcome| !fails && outcome == Outcome::Undecided);
    let (name, all) = (escaped(&report.name), report.rules.len());
    let mut out = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
    let counts = format!("tests=\"{all}\" failures=\"{failures}\" errors=\"0\"");
    let at = Timestamp::from_millisecond(at).unwrap_or_default();
    let at = at.strftime("%Y-%m-%dT%H:%M:%S");
    out.push_str("<testsuites>\n");
    let _ = writeln!(
        out,
        "  <testsuite id=\"0\" package=\"tapeline\" name=\"gate {name}\" hostname=\"localhost\" \
         timestamp=\"{at}\" {counts} skipped=\"{skipped}\" time=\"0\">\n    <properties/>"
    );
    let mut said_of_all = String::new();
    for rule in &report.rules {
        let (said, why) = (escaped(&rule.rule), escaped(&rule.why));
        let _ = writeln!(
            out,
            "    <testcase classname=\"tapeline.gate\" name=\"{said}\" time=\"0\">"
        );
        match (is_failure(rule.outcome), rule.outcome) {
            (true, outcome) => {
                let word = outcome.word();
                let _ = writeln!(out, "      <failure type=\"{word}\" message=\"{why}\"/>");
            }
            (false, Outcome::Undecided) => {
                let _ = writeln!(out, "      <skipped message=\"{why}\"/>");
            }
            (false, _) => {}
        }
        let _ = writeln!(said_of_all, "{}: {said}: {why}", rule.outcome.word());
        out.push_str("    </testcase>\n");
    }
    let _ = writeln!(
        out,
        "    <system-out>{said_of_all}</system-out>\n    <system-err/>"
    );
    out.push_str("  </testsuite>\n</testsuites>\n");
    out
}

/// A text in XML; characters that XML has not become spaces.
fn escaped(text: &str) -> String {
    let mut out = String::new();
    for letter in text.chars() {
        match letter {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            control if control.is_control() => out.push(' '),
            letter => out.push(letter),
        }
    }
    out
}
