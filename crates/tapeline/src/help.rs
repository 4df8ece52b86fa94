//! Help texts, made from the option table.

use crate::options::{Availability, Group, OptionSpec, Personalities, Section, all};
use crate::plan::HelpPage;

/// Widest help, columns: longer lines are hard to read.
const WIDEST: usize = 100;
/// Narrowest layout that still has two columns.
const NARROWEST: usize = 60;

/// The terminal's width as far as the help uses it; 80 without a terminal.
pub(crate) fn terminal_width() -> usize {
    terminal_size::terminal_size()
        .map_or(80, |(width, _)| usize::from(width.0))
        .clamp(NARROWEST, WIDEST)
}

/// The text of a page without its last line end.
pub(crate) fn page(page: HelpPage, width: usize) -> String {
    match page {
        HelpPage::Iperf2 => iperf2(),
        HelpPage::Short => native(width, false),
        HelpPage::Full => native(width, true),
    }
}

/// iperf 2's layout: four sections, letters in the order of the alphabet, capitals last.
/// Options that this version lacks are left out.
fn iperf2() -> String {
    let mut lines = vec![
        "Usage: iperf [-s|-c host] [options]".to_owned(),
        "       iperf [-h|--help] [-v|--version]".to_owned(),
    ];
    for (section, title) in [
        (Section::Both, "Client/Server:"),
        (Section::Server, "Server specific:"),
        (Section::Client, "Client specific:"),
        (Section::Misc, "Miscellaneous:"),
    ] {
        lines.push(String::new());
        lines.push(title.to_owned());
        lines.extend(iperf2_section(section));
    }
    lines.push(IPERF2_NOTES.trim_end().to_owned());
    lines.join("\n")
}

const IPERF2_NOTES: &str = "
[kmgKMG] marks options that take a suffix k, m, g, K, M or G;
lowercase multiplies by powers of 1000, uppercase by powers of 1024
(1k = 1000, 1K = 1024, 1m = 1,000,000, 1M = 1,048,576)

Values of -S: af11, af12, af13, af21, af22, af23, af31, af32, af33, af41, af42, af43,
cs0, cs1, cs2, cs3, cs4, cs5, cs6, cs7, ef, le, nqb, nqb2, ac_be, ac_bk, ac_vi, ac_vo, lowdelay,
throughput, reliability, or a number.

The TCP window size can be set by the environment variable TCP_WINDOW_SIZE. Most other
options have a variable IPERF_<long option name>, such as IPERF_BANDWIDTH.

This is tapeline under the name iperf; tapeline --help shows its own options.
";

fn iperf2_section(section: Section) -> Vec<String> {
    let mut rows: Vec<_> = all()
        .filter(|spec| spec.availability == Availability::Available)
        .flat_map(|spec| spec.listings.iter().map(move |listing| (spec, listing)))
        .filter(|(_, (listed, ..))| *listed == section)
        .map(|(spec, (_, argument, text))| (iperf2_rank(spec), iperf2_line(spec, argument, text)))
        .collect();
    rows.sort();
    rows.into_iter().map(|(_, line)| line).collect()
}

/// Capital letters come behind the rest; `-m` stands at m, not at p for print_mss.
fn iperf2_rank(spec: &OptionSpec) -> (bool, String) {
    match spec.short {
        Some(letter) if letter.is_ascii_uppercase() => (true, letter.to_string()),
        Some(letter) if letter.is_ascii_lowercase() => (false, letter.to_string()),
        _ => (false, spec.long.to_owned()),
    }
}

fn iperf2_line(spec: &OptionSpec, argument: &str, text: &str) -> String {
    let letter = spec
        .short
        .map_or_else(|| "    ".to_owned(), |letter| format!("-{letter}, "));
    let mut name = format!("  {letter}--{}", spec.long);
    if !argument.is_empty() {
        name = format!("{name:<17} {argument}");
    }
    format!("{name:<26} {text}")
}

/// tapeline's own help.
fn native(width: usize, full: bool) -> String {
    let mut lines = vec![
        "tapeline: a tape measure for networks".to_owned(),
        String::new(),
        "  tapeline -s [OPTIONS]             serve tests".to_owned(),
        "  tapeline -c HOST [OPTIONS]        test towards a server (tapeline or iperf 2)"
            .to_owned(),
        "  tapeline try [HOST] [OPTIONS]     measure at once, with sensible settings".to_owned(),
        "  tapeline --as iperf ...           behave as iperf 2.2.1 does".to_owned(),
    ];
    for (group, title) in [
        (Group::Mode, "What to do"),
        (Group::Addressing, "Addresses"),
        (Group::Amount, "How much, how fast, how long"),
        (Group::Direction, "Directions"),
        (Group::Socket, "Sockets"),
        (Group::Output, "Output"),
        (Group::Misc, "Help"),
    ] {
        lines.push(String::new());
        lines.push(format!("{title}:"));
        for spec in all().filter(|spec| is_listed(spec, group)) {
            lines.extend(native_lines(spec, width, full));
        }
    }
    lines.push(String::new());
    lines.extend(wrap(NATIVE_NOTES, 0, width));
    if full {
        lines.push(String::new());
        lines.extend(wrap(&later_options(), 0, width));
    }
    lines.join("\n")
}

const NATIVE_NOTES: &str = "Numbers take a suffix: k m g multiply by 1000, K M G by 1024. Long \
                            options may be shortened as long as they stay unique. Variables such \
                            as IPERF_TIME and TCP_WINDOW_SIZE set options that are not typed.";

fn is_listed(spec: &OptionSpec, group: Group) -> bool {
    spec.availability == Availability::Available
        && spec.personalities != Personalities::Iperf2
        && spec.group == group
}

/// Column of the texts.
const INDENT: usize = 34;

fn native_lines(spec: &OptionSpec, width: usize, full: bool) -> Vec<String> {
    let letter = spec
        .short
        .map_or_else(|| "    ".to_owned(), |letter| format!("-{letter}, "));
    let mut name = match spec.long {
        "" => format!("  {}", letter.trim_end_matches(", ")),
        long => format!("  {letter}--{long}"),
    };
    if !spec.value_name.is_empty() {
        name = format!("{name} {}", spec.value_name);
    }
    let mut text = spec.help.to_owned();
    if full && !spec.details.is_empty() {
        text = format!("{text}. {}", spec.details);
    }
    let mut lines = wrap(&text, INDENT, width);
    if name.len() + 2 > INDENT {
        lines.insert(0, name);
    } else {
        lines[0].replace_range(..INDENT, &format!("{name:<INDENT$}"));
    }
    lines
}

/// Names what iperf 2.2.1 has and this version lacks.
fn later_options() -> String {
    let names: Vec<_> = all()
        .filter(|spec| matches!(spec.availability, Availability::Later(_)))
        .map(|spec| match spec.manual_names {
            [name] if spec.long.is_empty() => format!("--{name}"),
            _ => format!("--{}", spec.long),
        })
        .collect();
    format!(
        "Known from iperf 2 and not available yet: {}.",
        names.join(" ")
    )
}

/// Breaks a text at blanks into lines of at most `width` columns, `indent` of them blank.
fn wrap(text: &str, indent: usize, width: usize) -> Vec<String> {
    let mut lines = vec![" ".repeat(indent)];
    for word in text.split_whitespace() {
        let line = lines.last_mut().expect("there is always a line");
        if line.len() > indent && line.len() + 1 + word.len() > width {
            lines.push(format!("{}{word}", " ".repeat(indent)));
        } else {
            if line.len() > indent {
                line.push(' ');
            }
            line.push_str(word);
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use tapeline_dialect::Personality;

    use super::*;
    use crate::options::{LongMatch, find_long};

    const REFERENCE: &str = include_str!("../tests/golden/bad/help_short.stdout");

    /// Section and option names of each line: `Server specific:`, `-t, --time`.
    fn entries(page: &str) -> Vec<(String, String)> {
        let mut section = String::new();
        let mut entries = Vec::new();
        for line in page.lines() {
            if line.ends_with(':') && !line.starts_with(' ') {
                section = line.to_owned();
            } else if line.starts_with(' ') && line.trim_start().starts_with('-') {
                let words = line.split_whitespace();
                let names: Vec<_> = words.take_while(|word| word.starts_with('-')).collect();
                // An option's value may stand behind `=`.
                let names = names.join(" ");
                entries.push((
                    section.clone(),
                    names.split('=').next().unwrap_or("").to_owned(),
                ));
            }
        }
        entries
    }

    #[test]
    fn iperf_help_has_the_layout_of_the_reference() {
        let page = page(HelpPage::Iperf2, 80);
        assert_eq!(page.lines().next(), REFERENCE.lines().next());
        assert_eq!(page.lines().nth(1), REFERENCE.lines().nth(1));
        let titles = |page: &str| -> Vec<String> {
            let titles = page
                .lines()
                .filter(|line| line.ends_with(':') && !line.starts_with(' '));
            titles.map(str::to_owned).collect()
        };
        assert_eq!(titles(&page), titles(REFERENCE));
        let ours = entries(&page);
        for (section, names) in &ours {
            let listed = entries(REFERENCE).contains(&(section.clone(), names.clone()));
            assert!(listed, "{names} is not under {section}");
        }
    }

    #[test]
    fn iperf_help_lists_what_the_reference_lists_and_this_version_has() {
        let ours = entries(&page(HelpPage::Iperf2, 80));
        for (section, names) in entries(REFERENCE) {
            let name = names.rsplit("--").next().unwrap_or_default();
            let spec = match find_long(name, Personality::Iperf2) {
                LongMatch::One(spec, _) => spec,
                other => panic!("{names}: {other:?}"),
            };
            let available = spec.availability == Availability::Available;
            assert_eq!(
                ours.contains(&(section.clone(), names.clone())),
                available,
                "{names}"
            );
        }
    }

    #[test]
    fn own_help_names_every_option_and_fits_the_width() {
        for width in [60, 80, 100] {
            for page in [page(HelpPage::Short, width), page(HelpPage::Full, width)] {
                for spec in all().filter(|spec| spec.availability == Availability::Available) {
                    let native = spec.personalities.include(Personality::Native);
                    let row = match spec.long {
                        "" => format!("  {}  ", spec.shortest_name()),
                        long => format!("--{long} "),
                    };
                    let named = page
                        .lines()
                        .any(|line| line.starts_with("  ") && format!("{line} ").contains(&row));
                    assert_eq!(named, native, "{row} at {width}");
                }
                let usage = 6;
                let too_wide = page.lines().skip(usage).find(|line| line.len() > width);
                assert_eq!(too_wide, None, "at {width}");
            }
        }
    }

    #[test]
    fn full_help_names_what_comes_later() {
        let text = page(HelpPage::Full, 80);
        assert!(text.contains("--trip-times") && text.contains("--daemon"));
        assert!(!page(HelpPage::Short, 80).contains("--trip-times"));
    }
}
