//! Completion for bash (3.2 and newer).

use std::fmt::Write as _;

use tapeline_dialect::Personality;

use super::candidates::{CONGESTION_CONTROLS, Candidates, candidates};
use super::{NAMES, long_spellings, spellings, usable};
use crate::options::{Arity, OptionSpec, Sides};

/// The script for all names.
pub(super) fn script() -> String {
    let mut script = HEAD.to_owned();
    for (list, arity) in [("required", Arity::Required), ("optional", Arity::Optional)] {
        let _ = writeln!(script, "\n# Offers values of options, {list} ones.");
        let _ = writeln!(script, "_tapeline_{list}() {{\n    case $1 in");
        for spec in with_value(arity) {
            let offer = offer(&candidates(spec));
            let _ = writeln!(script, "        {}) {offer} ;;", spellings(spec).join("|"));
        }
        script.push_str("        *) return 1 ;;\n    esac\n}\n");
    }
    script.push_str("\n# The options of a name ($1) for a job ($2).\n_tapeline_options() {\n");
    script.push_str("    case $1/$2 in\n");
    for (name, personality) in NAMES {
        for (job, applies) in JOBS {
            let words = options(personality, applies).join(" ");
            let _ = writeln!(script, "        {name}/{job}) echo '{words}' ;;");
        }
    }
    script.push_str("    esac\n}\n");
    script.push_str(MAIN);
    script
}

type Applies = fn(Sides) -> bool;

const JOBS: [(&str, Applies); 4] = [
    ("client", |sides| sides.client),
    ("server", |sides| sides.server),
    ("try", |sides| sides.trial),
    ("*", |_| true),
];

/// Options of that arity under any name.
fn with_value(arity: Arity) -> impl Iterator<Item = &'static OptionSpec> {
    let own = usable(Personality::Native);
    let others =
        usable(Personality::Iperf2).filter(|spec| !spec.personalities.include(Personality::Native));
    own.chain(others).filter(move |spec| spec.arity == arity)
}

fn options(personality: Personality, applies: Applies) -> Vec<String> {
    usable(personality)
        .filter(|spec| applies(spec.sides))
        .flat_map(|spec| {
            let equals = long_spellings(spec).map(|name| format!("{name}="));
            let equals = (spec.arity == Arity::Optional).then_some(equals);
            spellings(spec)
                .into_iter()
                .chain(equals.into_iter().flatten())
        })
        .collect()
}

fn offer(candidates: &Candidates) -> String {
    match candidates {
        Candidates::Nothing => ":".to_owned(),
        Candidates::Words(words) => format!("_tapeline_offer -W '{}'", words.join(" ")),
        Candidates::Files => "_tapeline_offer -f".to_owned(),
        Candidates::Hosts => "_tapeline_offer -A hostname".to_owned(),
        Candidates::CongestionControls => {
            format!("_tapeline_offer -W \"$(cat {CONGESTION_CONTROLS} 2>/dev/null)\"")
        }
        Candidates::Devices => "_tapeline_offer -W \"$(ls /sys/class/net 2>/dev/null)\"".to_owned(),
    }
}

const HEAD: &str = r#"# Completion for bash of tapeline and iperf, made by `tapeline --generate bash`.

# Offers what compgen finds for the word $current.
_tapeline_offer() {
    local IFS=$'\n' words=("$@")
    if [[ $1 == -f ]]; then
        compopt -o filenames 2>/dev/null
    elif [[ $1 == -W ]]; then
        IFS=$' \n'
    fi
    local found
    found=$(compgen "${words[@]}" -- "$current")
    IFS=$'\n'
    COMPREPLY=($found)
}
"#;

const MAIN: &str = r#"
_tapeline() {
    local words=("${COMP_WORDS[@]}") at=$COMP_CWORD
    local current=${words[at]} option=${words[at-1]} name=${words[0]##*/} job= equals= word
    COMPREPLY=()
    [[ $name == iperf ]] || name=tapeline
    if [[ ${words[1]} == --as && $at -gt 2 ]]; then
        word=${words[2]}
        [[ $word == = ]] && word=${words[3]}
        [[ $word == iperf ]] && name=iperf
    fi
    # A word --name=value arrives as three.
    if [[ $current == = ]]; then
        current= equals=yes
    elif [[ $option == = && $at -gt 1 ]]; then
        option=${words[at-2]} equals=yes
    fi
    if [[ $option == --as ]]; then
        _tapeline_offer -W 'tapeline iperf'
        return
    elif [[ $option == --generate ]]; then
        _tapeline_offer -W 'man bash zsh fish'
        return
    elif _tapeline_required "$option"; then
        return
    elif [[ $equals ]]; then
        _tapeline_optional "$option"
        return
    fi
    for word in "${words[@]:1:at-1}"; do
        case $word in
            -s|--server) job=server; break ;;
            -c|--client) job=client; break ;;
            try) [[ $name == tapeline ]] && job=try ;;
        esac
    done
    if [[ $current == -* ]]; then
        word=$(_tapeline_options "$name" "$job")
        [[ $at -eq 1 ]] && word+=' --as --generate'
        _tapeline_offer -W "$word"
        if [[ ${#COMPREPLY[@]} -eq 1 && ${COMPREPLY[0]} == *= ]]; then
            compopt -o nospace 2>/dev/null
        fi
    elif [[ $at -eq 1 && $name == tapeline ]]; then
        _tapeline_offer -W try
    fi
}
complete -F _tapeline tapeline iperf
"#;
