//! Completion for zsh.

use std::fmt::Write as _;

use tapeline_report::document::WARNING_IDS;

use super::candidates::{CONGESTION_CONTROLS, Candidates};
use super::entry::{Entry, entries, methods, result_commands};
use crate::cli::parse::Arity;
use crate::plan::CommandName;

/// The script for all names.
pub(crate) fn script() -> String {
    let mut script = format!(
        "#compdef tapeline iperf iperf3\n\
         # Completion for zsh of tapeline, iperf and iperf3, made by `tapeline --generate zsh`.\n\n\
         _tapeline_congestion_controls() {{\n    \
             local file={CONGESTION_CONTROLS}\n    \
             [[ -r $file ]] && compadd -- ${{=\"$(<$file)\"}}\n\
         }}\n\n\
         _tapeline_operands() {{\n    \
             if [[ ${{words[(r)explain]}} == explain ]]; then\n        \
                 compadd -- {}\n    \
             else\n        \
                 _hosts\n    \
             fi\n\
         }}\n\n",
        WARNING_IDS.join(" ")
    );
    for name in CommandName::ALL {
        let _ = writeln!(
            script,
            "_{}_arguments() {{\n    _arguments -s -S \\",
            name.word()
        );
        let entries = entries(name);
        for entry in &entries {
            for line in lines(entry, &entries) {
                let _ = writeln!(script, "        {line} \\");
            }
        }
        script.push_str(&match name {
            CommandName::Tapeline => own_words(),
            CommandName::Iperf | CommandName::Iperf3 => "        && return\n".to_owned(),
        });
        script.push_str("}\n\n");
    }
    script.push_str(MAIN);
    script
}

fn own_words() -> String {
    let methods: String = methods().map(|word| format!(" {word}")).collect();
    let results = result_commands();
    let results: String = results.iter().map(|it| format!(" {}", it.word)).collect();
    OWN_WORDS
        .replace("@METHODS@", &methods)
        .replace("@RESULTS@", &results)
}

const OWN_WORDS: &str =
    "        '(-)--as[behave as another name does]:name:(tapeline iperf iperf3)' \\
        '(-)--generate[print a manual page or completions]:document:(man bash zsh fish)' \\
        '1::job:(try explain exporter@RESULTS@@METHODS@)' \\
        '*:operand:_tapeline_operands' && return
";

const MAIN: &str = "case ${service:-tapeline} in
    iperf|iperf3) _${service}_arguments ;;
    *)
        if [[ $words[2] == --as && $words[3] == iperf(|3) ]] && (( CURRENT > 3 )); then
            _$words[3]_arguments
        else
            _tapeline_arguments
        fi
        ;;
esac
";

/// One argument of `_arguments` for each spelling.
fn lines(entry: &Entry, all: &[Entry]) -> Vec<String> {
    let not_with = excluded(entry, all);
    let letter = entry.letter.map(|letter| match entry.arity {
        Arity::Required => format!("-{letter}+"),
        Arity::Switch | Arity::Optional => format!("-{letter}"),
    });
    let words = entry.words.iter().map(|word| match entry.arity {
        Arity::Switch => word.clone(),
        Arity::Required => format!("{word}="),
        Arity::Optional => format!("{word}=-"),
    });
    let value = match entry.arity {
        Arity::Switch => String::new(),
        Arity::Required => format!(":{}:{}", escaped(entry.value), action(&entry.candidates)),
        Arity::Optional => format!("::{}:{}", escaped(entry.value), action(&entry.candidates)),
    };
    let help = escaped(&entry.help);
    let lines = letter.into_iter().chain(words);
    lines
        .map(|name| format!("'({not_with}){name}[{help}]{value}'"))
        .collect()
}

/// What cannot follow once the option is there: its other spellings; for a job the options of
/// other jobs.
fn excluded(entry: &Entry, all: &[Entry]) -> String {
    let mut names = entry.spellings();
    let others: fn(&Entry) -> bool = match entry.words.first().map(String::as_str) {
        Some("--server") => |other| !other.sides.server,
        Some("--client") => |other| !other.sides.client,
        _ => |_| false,
    };
    let others = all.iter().filter(|other| others(other));
    names.extend(others.flat_map(Entry::spellings));
    names.dedup();
    names.join(" ")
}

fn action(candidates: &Candidates) -> String {
    match candidates {
        Candidates::Nothing => " ".to_owned(),
        Candidates::Words(words) => format!("({})", words.join(" ")),
        Candidates::Files => "_files".to_owned(),
        Candidates::Hosts => "_hosts".to_owned(),
        Candidates::CongestionControls => "_tapeline_congestion_controls".to_owned(),
        Candidates::Devices => "_net_interfaces".to_owned(),
    }
}

/// Text inside a quoted argument of `_arguments`.
fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '\'' => escaped.push_str("'\\''"),
            '[' | ']' | ':' | '\\' => {
                escaped.push('\\');
                escaped.push(letter);
            }
            _ => escaped.push(letter),
        }
    }
    escaped
}
