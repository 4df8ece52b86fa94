//! The help of the commands with a table of their own.

use super::native::in_two_columns;
use crate::cli::commands::actions::{COMMANDS, actions};
use crate::cli::commands::options::{Spec, table};
use crate::cli::parse::Arity;
use crate::explain::wrap;

/// What names runs.
const RUNS: &str = "RUNS are r42, r42..r57, s14, last, last:10, tag:KEY=VALUE, baseline:NAME, or a file with a \
                    report, a series, or results of iperf 2 or iperf3; + joins several.";

/// The page, without its last line end.
pub(crate) fn page(command: &str, width: usize) -> String {
    let about = COMMANDS.iter().find(|(its, _)| *its == command);
    let about = about.map_or("", |(_, about)| about);
    let usage: &[&str] = match command {
        "history" => &["tapeline history [ACTION] [OPTIONS]"],
        "compare" => &[
            "tapeline compare RUNS RUNS [OPTIONS]",
            "tapeline compare --interleave N -- 'TEST' -- 'TEST'",
        ],
        "mesh" => &[
            "tapeline mesh HOSTS.TOML [OPTIONS] [-- TEST]",
            "tapeline mesh --resume FILE [OPTIONS]",
        ],
        "agent" => &["tapeline agent [OPTIONS]"],
        "fleet" => &["tapeline fleet ACTION [OPTIONS]"],
        "web" => &["tapeline web [OPTIONS]"],
        _ => &[
            "tapeline gate FILE RUNS [OPTIONS]",
            "tapeline gate FILE [OPTIONS] -- TEST",
        ],
    };
    let mut lines: Vec<String> = usage.iter().map(|line| (*line).to_owned()).collect();
    lines.push(String::new());
    lines.extend(wrap(&format!("{about}."), 0, width));
    if matches!(command, "history" | "compare" | "gate") {
        lines.extend(wrap(RUNS, 0, width));
    }
    let actions = actions(command);
    if !actions.is_empty() {
        lines.push(String::new());
        lines.push("Actions:".to_owned());
        for (action, words, about) in actions {
            lines.extend(in_two_columns(&format!("  {action} {words}"), about, width));
        }
    }
    lines.push(String::new());
    lines.push("Options:".to_owned());
    for spec in table(command) {
        let places = actions.iter().map(|(action, ..)| *action);
        let its: Vec<&str> = match actions.is_empty() {
            false => places.filter(|action| spec.is_of(action)).collect(),
            true => spec.is_of(command).then_some(command).into_iter().collect(),
        };
        if its.is_empty() {
            continue;
        }
        // Most actions of a command: whoever needs it finds it.
        let text = match its.len() * 2 < actions.len() {
            true => format!("{}: {}", its.join(", "), spec.help),
            false => spec.help.to_owned(),
        };
        lines.extend(in_two_columns(&names(spec), &text, width));
    }
    lines.join("\n")
}

/// `  -n, --count NUMBER`.
fn names(spec: &Spec) -> String {
    let letter = spec
        .letter
        .map_or_else(String::new, |letter| format!("-{letter}, "));
    let value = match spec.arity {
        Arity::Switch => String::new(),
        Arity::Required => format!(" {}", spec.value),
        Arity::Optional => format!("[={}]", spec.value),
    };
    format!("  {letter}--{}{value}", spec.name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_command_has_a_page_that_fits() {
        let mut shown = Vec::new();
        for (command, about) in COMMANDS {
            for width in [60, 80, 100] {
                let page = page(command, width);
                let wide = page.lines().find(|line| line.chars().count() > width);
                assert_eq!(wide, None, "{command} at {width}");
                assert!(page.contains(about.split(' ').next().unwrap_or_default()));
                let rows = table(command).iter();
                shown.extend(
                    rows.filter(|spec| page.contains(&names(spec)))
                        .map(|spec| spec.id),
                );
            }
        }
        for spec in COMMANDS.iter().flat_map(|(command, _)| table(command)) {
            assert!(shown.contains(&spec.id), "{:?}", spec.id);
        }
    }
}
