//! Completion for zsh.

use std::fmt::Write as _;

use tapeline_dialect::Personality;

use super::candidates::{CONGESTION_CONTROLS, Candidates, candidates};
use super::{NAMES, long_spellings, spellings, usable};
use crate::options::{Arity, OptionId as Id, OptionSpec};

/// The script for all names.
pub(super) fn script() -> String {
    let mut script = format!(
        "#compdef tapeline iperf\n\
         # Completion for zsh of tapeline and iperf, made by `tapeline --generate zsh`.\n\n\
         _tapeline_congestion_controls() {{\n    \
             local file={CONGESTION_CONTROLS}\n    \
             [[ -r $file ]] && compadd -- ${{=\"$(<$file)\"}}\n\
         }}\n\n"
    );
    for (name, personality) in NAMES {
        let _ = writeln!(script, "_{name}_arguments() {{\n    _arguments -s -S \\");
        for spec in usable(personality) {
            for line in lines(spec, personality) {
                let _ = writeln!(script, "        {line} \\");
            }
        }
        script.push_str(match personality {
            Personality::Native => OWN_WORDS,
            Personality::Iperf2 => "        && return\n",
        });
        script.push_str("}\n\n");
    }
    script.push_str(MAIN);
    script
}

const OWN_WORDS: &str = "        '(-)--as[behave as another name does]:name:(tapeline iperf)' \\
        '(-)--generate[print a manual page or completions]:document:(man bash zsh fish)' \\
        '1::job:(try)' \\
        '2::host:_hosts' && return
";

const MAIN: &str = "case ${service:-tapeline} in
    iperf) _iperf_arguments ;;
    *)
        if [[ $words[2] == --as && $words[3] == iperf ]] && (( CURRENT > 3 )); then
            _iperf_arguments
        else
            _tapeline_arguments
        fi
        ;;
esac
";

/// One argument of `_arguments` for each spelling.
fn lines(spec: &OptionSpec, personality: Personality) -> Vec<String> {
    let not_with = excluded(spec, personality);
    let letter = spec.short.map(|letter| match spec.arity {
        Arity::Required => format!("-{letter}+"),
        Arity::Switch | Arity::Optional => format!("-{letter}"),
    });
    let words = long_spellings(spec).map(|name| match spec.arity {
        Arity::Switch => name,
        Arity::Required => format!("{name}="),
        Arity::Optional => format!("{name}=-"),
    });
    let value = match spec.arity {
        Arity::Switch => String::new(),
        Arity::Required => format!(":{}:{}", escaped(spec.value_name), action(spec)),
        Arity::Optional => format!("::{}:{}", escaped(spec.value_name), action(spec)),
    };
    let help = escaped(spec.help);
    let lines = letter.into_iter().chain(words);
    lines
        .map(|name| format!("'({not_with}){name}[{help}]{value}'"))
        .collect()
}

/// What cannot follow once the option is there: its other spellings; for a job the options of
/// other jobs.
fn excluded(spec: &OptionSpec, personality: Personality) -> String {
    let mut names = spellings(spec);
    let others: fn(&OptionSpec) -> bool = match spec.id {
        Id::Server => |other| !other.sides.server,
        Id::Client => |other| !other.sides.client,
        _ => |_| false,
    };
    names.extend(
        usable(personality)
            .filter(|other| others(other))
            .flat_map(spellings),
    );
    names.dedup();
    names.join(" ")
}

fn action(spec: &OptionSpec) -> String {
    match candidates(spec) {
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
