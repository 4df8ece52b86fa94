//! Completion for fish.

use std::fmt::Write as _;

use tapeline_method::MethodPlan;
use tapeline_report::document::WARNING_IDS;

use super::candidates::{CONGESTION_CONTROLS, Candidates};
use super::entry::{Entry, entries, result_commands};
use crate::cli::parse::Arity;
use crate::plan::CommandName;

/// The script for all names.
pub(crate) fn script() -> String {
    let mut script = HEAD.to_owned();
    for name in CommandName::ALL {
        let word = name.word();
        let _ = writeln!(script, "\ncomplete -c {word} -f");
        for entry in entries(name) {
            let _ = writeln!(script, "complete -c {word}{}", arguments(&entry));
        }
    }
    script.push_str(OWN_WORDS);
    let others = |(word, _): &&(&str, &str)| *word != "try";
    for (word, about) in MethodPlan::WORDS.iter().filter(others) {
        let _ = writeln!(
            script,
            "complete -c tapeline -n __fish_is_first_arg -a {word} -d {}",
            quoted(about)
        );
    }
    for command in result_commands() {
        let (word, about) = (command.word, quoted(command.about));
        let _ = writeln!(
            script,
            "complete -c tapeline -n __fish_is_first_arg -a {word} -d {about}"
        );
        let mut offered = Vec::new();
        for (action, _, about) in command.actions {
            // Of two words the first is offered alone and once, with what it does first.
            let action = action.split(' ').next().unwrap_or(action);
            if offered.contains(&action) {
                continue;
            }
            offered.push(action);
            let about = quoted(about);
            let _ = writeln!(
                script,
                "complete -c tapeline -n '__fish_seen_subcommand_from {word}' -a {action} -d {about}"
            );
        }
        for (name, _, help) in &command.options {
            let (name, help) = (name.trim_start_matches('-'), quoted(help));
            let _ = writeln!(
                script,
                "complete -c tapeline -n '__fish_seen_subcommand_from {word}' -l {name} -d {help}"
            );
        }
    }
    let _ = writeln!(
        script,
        "complete -c tapeline -n '__fish_seen_subcommand_from explain' -a '{}'",
        WARNING_IDS.join(" ")
    );
    script
}

const HEAD: &str =
    "# Completion for fish of tapeline, iperf and iperf3, made by `tapeline --generate fish`.\n";

const OWN_WORDS: &str = "
complete -c tapeline -n __fish_is_first_arg -a try -d 'quick check'
complete -c tapeline -n __fish_is_first_arg -a explain -d 'say what a warning means'
complete -c tapeline -n __fish_is_first_arg -a exporter -d 'test when Prometheus asks'
complete -c tapeline -n '__fish_seen_subcommand_from try exporter' -a '(__fish_print_hostnames)'
complete -c tapeline -n __fish_is_first_arg -l as -x -a 'tapeline iperf iperf3' -d 'behave as another name does'
complete -c tapeline -n __fish_is_first_arg -l generate -x -a 'man bash zsh fish' -d 'print a manual page or completions'
";

fn arguments(entry: &Entry) -> String {
    let mut arguments = String::new();
    // An option of one job is not offered once the other job is chosen.
    match (entry.sides.client, entry.sides.server) {
        (true, false) => arguments.push_str(" -n '__fish_not_contain_opt -s s server'"),
        (false, true) => arguments.push_str(" -n '__fish_not_contain_opt -s c client'"),
        _ => {}
    }
    if let Some(letter) = entry.letter {
        let _ = write!(arguments, " -s {letter}");
    }
    for word in &entry.words {
        let _ = write!(arguments, " -l {}", word.trim_start_matches('-'));
    }
    match (entry.arity, &entry.candidates) {
        (Arity::Required, Candidates::Files) => arguments.push_str(" -r -F"),
        (Arity::Required, _) => arguments.push_str(" -x"),
        (Arity::Switch | Arity::Optional, _) => {}
    }
    if let Some(values) = values(&entry.candidates) {
        let _ = write!(arguments, " -a {}", quoted(&values));
    }
    let _ = write!(arguments, " -d {}", quoted(&entry.help));
    arguments
}

fn values(candidates: &Candidates) -> Option<String> {
    match candidates {
        Candidates::Nothing | Candidates::Files => None,
        Candidates::Words(words) => Some(words.join(" ")),
        Candidates::Hosts => Some("(__fish_print_hostnames)".to_owned()),
        Candidates::CongestionControls => Some(format!(
            "(test -r {CONGESTION_CONTROLS}; and string split ' ' <{CONGESTION_CONTROLS})"
        )),
        Candidates::Devices => Some("(__fish_print_interfaces)".to_owned()),
    }
}

fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\\', "\\\\").replace('\'', "\\'"))
}
