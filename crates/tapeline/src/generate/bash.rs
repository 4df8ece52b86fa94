//! Completion for bash (3.2 and newer).

use std::fmt::Write as _;

use tapeline_method::MethodPlan;
use tapeline_report::document::WARNING_IDS;

use super::candidates::{CONGESTION_CONTROLS, Candidates};
use super::entry::{Entry, entries, methods, result_commands};
use crate::cli::parse::Arity;
use crate::cli::spec::Sides;
use crate::plan::CommandName;

/// The script for all names.
pub(crate) fn script() -> String {
    let mut script = HEAD.to_owned();
    for (list, arity) in [("required", Arity::Required), ("optional", Arity::Optional)] {
        let _ = writeln!(
            script,
            "\n# Offers values of options of a name ($1), {list} ones."
        );
        let _ = writeln!(script, "_tapeline_{list}() {{\n    case $1 in");
        for (names, entries) in [("iperf3", entries(CommandName::Iperf3)), ("*", iperf2())] {
            let _ = writeln!(script, "    {names}) case $2 in");
            for entry in entries.iter().filter(|entry| entry.arity == arity) {
                let offer = offer(&entry.candidates);
                let _ = writeln!(
                    script,
                    "        {}) {offer} ;;",
                    entry.spellings().join("|")
                );
            }
            script.push_str("        *) return 1 ;;\n    esac ;;\n");
        }
        script.push_str("    esac\n}\n");
    }
    script.push_str("\n# The options of a name ($1) for a job ($2).\n_tapeline_options() {\n");
    script.push_str("    case $1/$2 in\n");
    for word in methods() {
        let words = spelled(CommandName::Tapeline, |entry| entry.methods.include(word));
        let _ = writeln!(
            script,
            "        tapeline/{word}) echo '{}' ;;",
            words.join(" ")
        );
    }
    let results = result_commands();
    for command in &results {
        let names: Vec<&str> = command
            .options
            .iter()
            .map(|(name, ..)| name.as_str())
            .collect();
        let (word, names) = (command.word, names.join(" "));
        let _ = writeln!(script, "        tapeline/{word}) echo '{names}' ;;");
    }
    for name in CommandName::ALL {
        for (job, applies) in JOBS {
            let words = options(name, job, applies).join(" ");
            let _ = writeln!(script, "        {}/{job}) echo '{words}' ;;", name.word());
        }
    }
    script.push_str("    esac\n}\n");
    let methods: Vec<&str> = methods().collect();
    let _ = writeln!(
        script,
        "\n# The methods.\n_tapeline_methods='{}'",
        methods.join(" ")
    );
    let words: Vec<&str> = results.iter().map(|command| command.word).collect();
    let _ = write!(
        script,
        "\n# Commands with actions or options of their own.\n_tapeline_results='{}'\n\
         \n# Lists the actions of a command ($1).\n_tapeline_actions() {{\n    case $1 in\n",
        words.join(" "),
    );
    for command in results.iter().filter(|command| !command.actions.is_empty()) {
        let (word, actions) = (command.word, command.action_words().join(" "));
        let _ = writeln!(script, "        {word}) echo '{actions}' ;;");
    }
    script.push_str("    esac\n}\n");
    let _ = write!(
        script,
        "\n# The names of warnings.\n_tapeline_warnings='{}'\n",
        WARNING_IDS.join(" ")
    );
    script.push_str(MAIN);
    script
}

type Applies = fn(Sides) -> bool;

const JOBS: [(&str, Applies); 5] = [
    ("client", |sides| sides.client),
    ("server", |sides| sides.server),
    ("try", |sides| sides.trial),
    ("exporter", |sides| sides.exporter),
    ("*", |_| true),
];

/// The options of iperf 2's names, under which none has two meanings.
fn iperf2() -> Vec<Entry> {
    let mut both = entries(CommandName::Tapeline);
    let known: Vec<_> = both.iter().flat_map(Entry::spellings).collect();
    let others = entries(CommandName::Iperf).into_iter();
    both.extend(others.filter(|entry| {
        let spellings = entry.spellings();
        !spellings.iter().any(|spelling| known.contains(spelling))
    }));
    both
}

fn options(name: CommandName, job: &str, applies: Applies) -> Vec<String> {
    let is_method = MethodPlan::WORDS.iter().any(|(word, _)| *word == job);
    spelled(name, |entry| {
        applies(entry.sides) || is_method && entry.methods.include(job)
    })
}

fn spelled(name: CommandName, applies: impl Fn(&Entry) -> bool) -> Vec<String> {
    let entries = entries(name).into_iter();
    let words = entries.filter(|entry| applies(entry)).flat_map(|entry| {
        let mut words = entry.spellings();
        if entry.arity == Arity::Optional {
            words.extend(entry.words.iter().map(|word| format!("{word}=")));
        }
        words
    });
    words.collect()
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

const HEAD: &str = r#"# Completion for bash of tapeline, iperf and iperf3, made by `tapeline --generate bash`.

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
    [[ $name == iperf || $name == iperf3 ]] || name=tapeline
    if [[ ${words[1]} == --as && $at -gt 2 ]]; then
        word=${words[2]}
        [[ $word == = ]] && word=${words[3]}
        [[ $word == iperf || $word == iperf3 ]] && name=$word
    fi
    # A word --name=value arrives as three.
    if [[ $current == = ]]; then
        current= equals=yes
    elif [[ $option == = && $at -gt 1 ]]; then
        option=${words[at-2]} equals=yes
    fi
    if [[ $option == --as ]]; then
        _tapeline_offer -W 'tapeline iperf iperf3'
        return
    elif [[ $option == --generate ]]; then
        _tapeline_offer -W 'man bash zsh fish'
        return
    elif _tapeline_required "$name" "$option"; then
        return
    elif [[ $equals ]]; then
        _tapeline_optional "$name" "$option"
        return
    fi
    for word in "${words[@]:1:at-1}"; do
        case $word in
            -s|--server) job=server; break ;;
            -c|--client) job=client; break ;;
            try|exporter) [[ $name == tapeline ]] && job=$word ;;
            *) [[ $name == tapeline && $word == "${words[1]}" && " $_tapeline_methods $_tapeline_results " == *" $word "* ]] && job=$word ;;
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
        _tapeline_offer -W "try explain exporter $_tapeline_results $_tapeline_methods"
    elif [[ $name == tapeline && ${words[1]} == explain && $at -eq 2 ]]; then
        _tapeline_offer -W "$_tapeline_warnings"
    elif [[ $name == tapeline && $at -eq 2 && $(_tapeline_actions "${words[1]}") ]]; then
        _tapeline_offer -W "$(_tapeline_actions "${words[1]}")"
    elif [[ $name == tapeline && ${words[1]} == gate && $at -eq 2 ]]; then
        _tapeline_offer -f
    elif [[ $name == tapeline && ( ${words[1]} == exporter || ( ${words[1]} == try || " $_tapeline_methods " == *" ${words[1]} "* ) && $at -eq 2 ) ]]; then
        _tapeline_offer -A hostname
    fi
}
complete -F _tapeline tapeline iperf iperf3
"#;
