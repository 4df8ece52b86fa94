//! tapeline's own help: groups, two columns, as wide as the terminal.

use super::wrap;
use crate::options::{Availability, Group, OptionSpec, Personalities, all};

/// How much is said.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Detail {
    /// One line for each option.
    Short,
    /// What there is to know about each option.
    Full,
}

/// The whole page, without its last line end.
pub(super) fn page(width: usize, detail: Detail) -> String {
    let mut lines = vec![
        "tapeline: a tape measure for networks".to_owned(),
        String::new(),
        "  tapeline -s [OPTIONS]             serve tests".to_owned(),
        "  tapeline -c HOST [OPTIONS]        test towards a server (tapeline or iperf 2)"
            .to_owned(),
        "  tapeline try [HOST] [OPTIONS]     measure at once, with sensible settings".to_owned(),
        "  tapeline --as iperf ...           behave as iperf 2.2.1 does".to_owned(),
    ];
    for group in Group::ALL {
        let mut listed = all().filter(|spec| is_listed(spec, group)).peekable();
        if listed.peek().is_none() {
            continue;
        }
        lines.push(String::new());
        lines.push(format!("{}:", group.title()));
        for spec in listed {
            lines.extend(option_lines(spec, width, detail));
        }
    }
    lines.push(String::new());
    lines.extend(wrap(NOTES, 0, width));
    lines.join("\n")
}

const NOTES: &str = "Numbers take a suffix: k m g multiply by 1000, K M G by 1024. A value that \
                     is shown behind [= may be left out. Long options may be shortened as long \
                     as they stay unique. Variables such as IPERF_TIME and TCP_WINDOW_SIZE set \
                     options that are not typed. --generate man|bash|zsh|fish, as the first \
                     word, prints the manual page or the completions for a shell.";

fn is_listed(spec: &OptionSpec, group: Group) -> bool {
    spec.availability == Availability::Available
        && spec.personalities != Personalities::Iperf2
        && spec.group == group
}

/// Column of the texts.
const INDENT: usize = 34;

fn option_lines(spec: &OptionSpec, width: usize, detail: Detail) -> Vec<String> {
    let letter = spec
        .short
        .map_or_else(|| "    ".to_owned(), |letter| format!("-{letter}, "));
    let name = match spec.long_name() {
        None => format!("  {}", letter.trim_end_matches(", ")),
        Some(long) => format!("  {letter}--{long}"),
    };
    let name = format!("{name}{}", spec.shown_value());
    let mut text = spec.help.to_owned();
    if detail == Detail::Full && !spec.details.is_empty() {
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

#[cfg(test)]
mod tests {
    use tapeline_dialect::Personality;

    use super::*;

    #[test]
    fn the_help_names_every_option_and_fits_the_width() {
        for width in [60, 80, 100] {
            for page in [page(width, Detail::Short), page(width, Detail::Full)] {
                for spec in all().filter(|spec| spec.availability == Availability::Available) {
                    let native = spec.personalities.include(Personality::Native);
                    let row = match spec.long_name() {
                        None => format!("  {}  ", spec.shortest_name()),
                        Some(long) => format!("--{long}"),
                    };
                    let named = page.lines().any(|line| {
                        let mut words = line.split(['[', ' ', ',']);
                        line.starts_with("  ")
                            && (words.any(|word| word == row.trim()) || line.starts_with(&row))
                    });
                    assert_eq!(named, native, "{row} at {width}");
                }
                let usage = 6;
                let too_wide = page.lines().skip(usage).find(|line| line.len() > width);
                assert_eq!(too_wide, None, "at {width}");
            }
        }
    }
}
