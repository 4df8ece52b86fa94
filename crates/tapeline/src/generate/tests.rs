//! The documents in the programs that read them; a program that is not there is named as
//! skipped.

use std::io::Write as _;
use std::process::{Command, Stdio};

use tapeline_dialect::Personality;

use super::document::text;
use super::entry::{entries, methods, result_commands};
use crate::cli::options::table::{find_long, nearest, usable};
use crate::cli::parse::NameMatch;
use crate::cli::spec::OptionSpec;
use crate::help::native::{self as help, Detail};
use crate::plan::{CommandName, Document};

/// Output of a program that is given `input`, or `None` when the program is not installed.
fn through(program: &str, arguments: &[&str], input: &str) -> Option<(String, String, bool)> {
    let started = Command::new(program)
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn();
    let mut child = match started {
        Ok(child) => child,
        Err(_) => {
            interop::skip(
                &format!("generate ({program})"),
                "the program is not installed",
            );
            return None;
        }
    };
    let mut stdin = child.stdin.take().expect("piped");
    let input = input.to_owned();
    let writer = std::thread::spawn(move || stdin.write_all(input.as_bytes()));
    let output = child.wait_with_output().expect("the program ends");
    writer
        .join()
        .expect("no panic")
        .expect("it reads its input");
    Some((
        String::from_utf8_lossy(&output.stdout).into_owned(),
        String::from_utf8_lossy(&output.stderr).into_owned(),
        output.status.success(),
    ))
}

#[test]
fn a_page_has_every_option_of_its_name() {
    for name in CommandName::ALL {
        let page = text(Document::Man, name);
        assert!(page.is_ascii());
        for entry in entries(name).iter().filter(|entry| !entry.help.is_empty()) {
            for spelling in entry.spellings() {
                let bold = format!("\\fB{}\\fR", spelling.replace('-', "\\-"));
                assert!(page.contains(&bold), "{spelling} in {name:?}");
            }
        }
    }
}

#[test]
fn a_page_has_every_command_once_in_its_section() {
    let page = text(Document::Man, CommandName::Tapeline);
    for command in result_commands() {
        let item = format!("\n.TP\n{}\n", command.word);
        assert_eq!(page.matches(&item).count(), 1, "{}", command.word);
    }
    #[cfg(feature = "mesh")]
    {
        let many = page.find("MANY HOSTS").expect("a section");
        let mesh = page.find("\n.TP\nmesh\n").expect("an item");
        assert!(many < mesh && page.find("HISTORY").expect("a section") < many);
    }
}

/// A command of two words is offered by its first, and once.
#[test]
fn fish_offers_an_action_once() {
    let script = text(Document::Fish, CommandName::Tapeline);
    let actions = script.lines().filter(|line| line.contains("_from "));
    let mut offers: Vec<&str> = actions
        .filter_map(|line| line.split(" -d ").next())
        .collect();
    let all = offers.len();
    offers.sort_unstable();
    offers.dedup();
    assert_eq!(offers.len(), all);
}

/// Scripts that use the names of before go on; nobody learns these names any more.
#[test]
fn former_names_are_accepted_and_shown_nowhere() {
    let mut shown = vec![
        help::page(100, Detail::Full),
        help::page(100, Detail::Short),
    ];
    for document in [Document::Man, Document::Bash, Document::Zsh, Document::Fish] {
        shown.extend(CommandName::ALL.map(|name| text(document, name)));
    }
    let mut checked = 0;
    for spec in usable(Personality::Native) {
        for former in spec.former_names {
            let found = find_long(former, Personality::Native);
            assert!(matches!(found, NameMatch::One(it, _) if it.id == spec.id));
            let cut = &former[..former.len() - 1];
            let found = find_long(cut, Personality::Native);
            assert!(matches!(found, NameMatch::Unknown), "{cut}");
            assert_ne!(nearest(cut, Personality::Native), Some(*former));
            for page in &shown {
                assert!(!page.replace("\\-", "-").contains(former), "{former}");
            }
            checked += 1;
        }
    }
    assert_eq!(checked, 4);
    // Values, too; iperf3's own help names them.
    let own = [
        help::page(100, Detail::Full),
        text(Document::Man, CommandName::Tapeline),
    ];
    assert!(!own.iter().any(|page| page.contains("economical")));
}

#[test]
fn a_page_has_every_variable_of_its_name() {
    for (name, personality) in [
        (CommandName::Tapeline, Personality::Native),
        (CommandName::Iperf, Personality::Iperf2),
    ] {
        let page = text(Document::Man, name);
        let listed = |spec: &&OptionSpec| !spec.help.is_empty();
        for (_, variable) in usable(personality)
            .filter(listed)
            .filter_map(|s| s.variable)
        {
            assert!(page.contains(&format!("\n{variable}\n")), "{variable}");
        }
    }
    let page = text(Document::Man, CommandName::Iperf3);
    assert!(page.contains("IPERF3_PASSWORD"));
}

#[test]
fn groff_formats_the_pages_without_a_warning() {
    for name in CommandName::ALL {
        let page = text(Document::Man, name);
        let arguments = ["-man", "-Tutf8", "-ww", "-P-cbou", "-rLL=80n"];
        let Some((shown, said, good)) = through("groff", &arguments, &page) else {
            return;
        };
        assert!(good && said.is_empty(), "{said}");
        assert!(shown.contains("EXIT STATUS") && shown.contains("congestion"));
    }
}

#[test]
fn mandoc_finds_nothing_to_warn_of() {
    for name in CommandName::ALL {
        let page = text(Document::Man, name);
        let Some((said, _, good)) = through("mandoc", &["-T", "lint", "-W", "warning"], &page)
        else {
            return;
        };
        assert!(good, "{said}");
    }
}

/// What bash offers at the end of a line.
fn bash(line: &str) -> Option<Vec<String>> {
    // Readline makes words of their own of `=`.
    let mut words: Vec<String> = Vec::new();
    for word in line.split(' ') {
        match word.split_once('=') {
            Some((name, "")) => words.extend([name.to_owned(), "=".to_owned()]),
            Some((name, value)) => {
                words.extend([name.to_owned(), "=".to_owned(), value.to_owned()]);
            }
            None => words.push(word.to_owned()),
        }
    }
    let quoted: Vec<String> = words.iter().map(|word| format!("'{word}'")).collect();
    let script = format!(
        "set -u\n{}\nCOMP_WORDS=({})\nCOMP_CWORD={}\n_tapeline\nprintf '%s\\n' \"${{COMPREPLY[@]:-}}\"\n",
        text(Document::Bash, CommandName::Tapeline),
        quoted.join(" "),
        words.len() - 1,
    );
    let (shown, said, _) = through("bash", &["--norc", "-s"], &script)?;
    assert_eq!(said, "", "{line}");
    Some(
        shown
            .lines()
            .filter(|line| !line.is_empty())
            .map(str::to_owned)
            .collect(),
    )
}

#[test]
fn bash_offers_options_values_and_jobs() {
    let Some(first) = bash("tapeline ") else {
        return;
    };
    let offered = |line: &str| bash(line).expect("bash is there");
    let results = result_commands().into_iter().map(|command| command.word);
    let jobs = ["try", "explain", "exporter"].into_iter();
    let jobs = jobs.chain(results).chain(methods());
    assert_eq!(first, jobs.collect::<Vec<_>>());
    for word in methods() {
        assert_eq!(offered(&format!("tapeline {word} h --budg")), ["--budget"]);
        assert_eq!(offered(&format!("tapeline {word} h --isoc")), [""; 0]);
        assert_eq!(
            offered(&format!("tapeline {word} h --direction d")),
            ["down"]
        );
    }
    assert_eq!(offered("tapeline history ta"), ["tag"]);
    assert_eq!(offered("tapeline compare ta"), [""; 0]);
    if cfg!(feature = "fleet") {
        assert_eq!(offered("tapeline fleet sch"), ["schedule"]);
        assert_eq!(offered("tapeline fleet enrol h --add"), ["--address"]);
        assert_eq!(offered("tapeline agent --conf"), ["--config"]);
    }
    assert_eq!(offered("tapeline history prune --old"), ["--older"]);
    assert_eq!(offered("tapeline compare --inte"), ["--interleave"]);
    assert_eq!(offered("tapeline gate g --inte"), [""; 0]);
    assert_eq!(offered("tapeline -c h --budg"), [""; 0]);
    assert_eq!(offered("tapeline explain rate"), ["rate-not-reached"]);
    assert_eq!(offered("tapeline exporter --metr"), ["--metrics"]);
    assert_eq!(offered("tapeline -s --metr"), ["--metrics"]);
    assert_eq!(offered("tapeline -c h --metr"), [""; 0]);
    assert_eq!(offered("iperf -s --metr"), [""; 0]);
    assert_eq!(offered("tapeline --paral"), ["--parallel"]);
    assert_eq!(offered("/usr/bin/iperf -c h --paral"), ["--parallel"]);
    assert_eq!(offered("tapeline -c h --full"), ["--full-duplex"]);
    assert_eq!(offered("tapeline -s --full"), [""; 0]);
    assert_eq!(offered("tapeline try --isoc"), [""; 0]);
    assert_eq!(offered("tapeline -c h -S af4"), ["af41", "af42", "af43"]);
    assert_eq!(offered("tapeline -c h --tos=af4"), ["af41", "af42", "af43"]);
    assert_eq!(offered("tapeline -c h -f g"), ["g"]);
    assert_eq!(offered("tapeline -c h -y "), ["C"]);
    assert_eq!(offered("tapeline -c h -t "), [""; 0]);
    assert_eq!(offered("tapeline --as i"), ["iperf", "iperf3"]);
    // The same letter is another option under another name.
    assert_eq!(offered("iperf3 -c h -Z "), [""; 0]);
    assert_eq!(offered("iperf3 -c h --bid"), ["--bidir"]);
    assert_eq!(offered("tapeline --as iperf3 -s --bid"), [""; 0]);
    assert_eq!(
        offered("/opt/iperf3 -c h --dscp af4"),
        ["af41", "af42", "af43"]
    );
    assert_eq!(offered("iperf3 -c h --debug="), ["1", "2", "3", "4"]);
    assert_eq!(offered("tapeline --generate b"), ["bash"]);
    let listed = std::fs::read_to_string(super::candidates::CONGESTION_CONTROLS);
    if let Ok(listed) = listed {
        let controls: Vec<_> = listed.split_whitespace().collect();
        assert_eq!(offered("tapeline -c h -Z "), controls);
        assert_eq!(offered("iperf -c h --tcp-cca="), controls);
        assert_eq!(offered("iperf3 -c h -C "), controls);
    }
}

#[test]
fn bash_offers_files_where_a_file_is_meant() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("with blank.txt");
    std::fs::write(&path, "").expect("a file");
    let typed = format!("tapeline -s -o {}/w", folder.path().display());
    let Some(offered) = bash(&typed) else {
        return;
    };
    assert_eq!(offered, [path.display().to_string()]);
}

#[test]
fn bash_offers_every_option_of_a_name() {
    for name in CommandName::ALL {
        let Some(offered) = bash(&format!("{} -", name.word())) else {
            return;
        };
        for spelling in entries(name).iter().flat_map(|entry| entry.spellings()) {
            assert!(offered.contains(&spelling), "{spelling} under {name:?}");
        }
    }
}

#[test]
fn zsh_hears_of_every_option_and_its_values() {
    let script = text(Document::Zsh, CommandName::Tapeline);
    for name in CommandName::ALL {
        let word = name.word();
        // What the completion system would be told, one argument a line.
        let asked = format!(
            "_arguments() {{ print -rl -- \"$@\" }}\n\
             service={word}\nwords=({word} '')\nCURRENT=2\n{script}"
        );
        let Some((shown, said, good)) = through("zsh", &["-f"], &asked) else {
            return;
        };
        assert!(good && said.is_empty(), "{said}");
        for spelling in entries(name).iter().flat_map(|entry| entry.spellings()) {
            let offered = shown.lines().any(|line| {
                let named = line.split_once(')').map(|(_, rest)| rest);
                let rest = named.and_then(|named| named.strip_prefix(&*spelling));
                rest.is_some_and(|rest| rest.trim_start_matches(['+', '=', '-']).starts_with('['))
            });
            assert!(offered, "{spelling} under {name:?}");
        }
        assert!(shown.contains("(-S --tos)-S+["), "{shown}");
        let values = match name {
            CommandName::Tapeline | CommandName::Iperf => ":TOS:(af11 af12",
            CommandName::Iperf3 => "N|NAME:(af11 af12",
        };
        assert!(shown.contains(values), "{shown}");
        let methods: String = methods().map(|word| format!(" {word}")).collect();
        let results: String = result_commands()
            .iter()
            .map(|command| format!(" {}", command.word))
            .collect();
        let jobs = shown.contains(&format!("1::job:(try explain exporter{results}{methods})"));
        assert_eq!(jobs, name == CommandName::Tapeline, "{shown}");
    }
}

#[test]
fn fish_offers_options_and_values() {
    let script = text(Document::Fish, CommandName::Tapeline);
    let offered = |line: &str| -> Option<Vec<String>> {
        let script = format!("{script}\ncomplete -C '{line}'\n");
        let (shown, said, _) = through("fish", &["--no-config"], &script)?;
        assert_eq!(said, "", "{line}");
        let words = shown.lines().filter_map(|line| line.split('\t').next());
        Some(words.map(str::to_owned).collect())
    };
    let Some(names) = offered("tapeline --paral") else {
        return;
    };
    assert_eq!(names, ["--parallel"]);
    assert_eq!(
        offered("iperf -c h -S af4").expect("fish"),
        ["af41", "af42", "af43"]
    );
    assert_eq!(offered("tapeline -s --full").expect("fish"), [""; 0]);
    assert_eq!(offered("tapeline tr").expect("fish"), ["try"]);
    assert_eq!(offered("tapeline history prun").expect("fish"), ["prune"]);
    assert_eq!(offered("tapeline gate --juni").expect("fish"), ["--junit"]);
    assert_eq!(
        offered("tapeline explain rate").expect("fish"),
        ["rate-not-reached"]
    );
    assert_eq!(offered("iperf3 --bid").expect("fish"), ["--bidir"]);
    assert_eq!(offered("iperf3 -s --bid").expect("fish"), [""; 0]);
}
