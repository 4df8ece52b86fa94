//! tapeline's own help: groups, two columns, as wide as the terminal.

use tapeline_dialect::Personality;

use super::wrap;
use crate::options::{Availability, Group, OptionId as Id, OptionSpec, Personalities, all};

/// How much is said.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Detail {
    /// What most tests need, and the names of all other options.
    Short,
    /// What there is to know about each option.
    Full,
}

const USAGE: &str = "\
tapeline: a tape measure for networks

  tapeline -s [OPTIONS]             serve tests
  tapeline -c HOST [OPTIONS]        test towards a server (tapeline or iperf 2)
  tapeline try [HOST] [OPTIONS]     measure at once, with sensible settings
  tapeline explain [WARNING]        say what a warning means
  tapeline exporter [HOST]...       test when Prometheus asks
  tapeline --as iperf ...           behave as iperf 2.2.1 does";

/// What the short page explains.
#[rustfmt::skip]
const OFTEN_USED: [Id; 21] = [
    Id::Server, Id::Client, Id::Udp, Id::Port, Id::Bind, Id::Time, Id::Num, Id::Bandwidth,
    Id::Len, Id::Parallel, Id::Interval, Id::Reverse, Id::FullDuplex, Id::TripTimes,
    Id::Bounceback, Id::TcpCongestion, Id::Tos, Id::Enhanced, Id::ReportStyle, Id::Help,
    Id::Version,
];

/// The whole page, without its last line end.
pub(super) fn page(width: usize, detail: Detail) -> String {
    let mut lines = vec![USAGE.to_owned()];
    lines.extend(match detail {
        Detail::Short => short(width),
        Detail::Full => full(width),
    });
    lines.join("\n")
}

fn short(width: usize) -> Vec<String> {
    let mut lines = vec![String::new(), "Often used:".to_owned()];
    for id in OFTEN_USED {
        for spec in all().filter(|spec| spec.id == id) {
            lines.extend(in_two_columns(&names(spec), spec.help, width));
        }
    }
    lines.push(String::new());
    lines.push("All others, explained by --help:".to_owned());
    for group in Group::ALL {
        let others: Vec<String> = listed(group)
            .filter(|spec| !OFTEN_USED.contains(&spec.id))
            .map(OptionSpec::shortest_name)
            .collect();
        if !others.is_empty() {
            let title = format!("  {}", group.title());
            lines.extend(in_two_columns(&title, &others.join(" "), width));
        }
    }
    lines.push(String::new());
    lines.extend(wrap(SHORT_NOTES, 0, width));
    lines
}

fn full(width: usize) -> Vec<String> {
    let mut lines = Vec::new();
    for group in Group::ALL {
        lines.push(String::new());
        lines.push(format!("{}:", group.title()));
        for spec in listed(group) {
            let text = spec.explanation(Personality::Native);
            lines.extend(in_two_columns(&names(spec), &text, width));
        }
    }
    lines.push(String::new());
    lines.extend(wrap(FULL_NOTES, 0, width));
    lines
}

const SHORT_NOTES: &str = "k m g behind a number multiply by 1000, K M G by 1024.";

const FULL_NOTES: &str = "Numbers take a suffix: k m g multiply by 1000, K M G by 1024. A value \
                          that is shown behind [= may be left out. Long options may be \
                          shortened as long as they stay unique. Variables such as IPERF_TIME \
                          and TCP_WINDOW_SIZE set options that are not typed. --generate \
                          man|bash|zsh|fish, as the first word, prints the manual page or the \
                          completions for a shell.";

fn listed(group: Group) -> impl Iterator<Item = &'static OptionSpec> {
    all().filter(move |spec| {
        spec.availability == Availability::Available
            && spec.personalities != Personalities::Iperf2
            && spec.group == group
    })
}

/// `  -l, --len BYTES`.
fn names(spec: &OptionSpec) -> String {
    let letter = spec
        .short
        .map_or_else(|| "    ".to_owned(), |letter| format!("-{letter}, "));
    let name = match spec.long_name() {
        None => format!("  {}", letter.trim_end_matches(", ")),
        Some(long) => format!("  {letter}--{long}"),
    };
    format!("{name}{}", spec.shown_value())
}

/// Column of the texts.
const INDENT: usize = 34;

/// A long first column gets a line of its own.
fn in_two_columns(first: &str, text: &str, width: usize) -> Vec<String> {
    let mut lines = wrap(text, INDENT, width);
    if first.len() + 2 > INDENT {
        lines.insert(0, first.to_owned());
    } else {
        lines[0].replace_range(..INDENT, &format!("{first:<INDENT$}"));
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_pages_name_every_option_and_fit_the_width() {
        for width in [60, 80, 100] {
            for page in [page(width, Detail::Short), page(width, Detail::Full)] {
                for spec in all().filter(|spec| spec.availability == Availability::Available) {
                    let native = spec.personalities.include(Personality::Native);
                    let name = spec.shortest_name();
                    let options = page.lines().skip(USAGE.lines().count());
                    let named = options.filter(|line| line.starts_with("  ")).any(|line| {
                        let mut words = line.split(['[', ' ', ',']);
                        words.any(|word| word == name)
                    });
                    assert_eq!(named, native, "{name} at {width}");
                }
                let options = page.lines().skip(USAGE.lines().count());
                let too_wide = options.into_iter().find(|line| line.len() > width);
                assert_eq!(too_wide, None, "at {width}");
            }
        }
    }

    #[test]
    fn the_short_page_fits_a_screen_and_the_full_one_gives_details() {
        let short = page(80, Detail::Short);
        assert!(short.lines().count() <= 80, "{short}");
        assert!(USAGE.lines().all(|line| line.len() <= 80));
        let full = page(80, Detail::Full).replace(['\n', ' '], "");
        for spec in Group::ALL.into_iter().flat_map(listed) {
            for details in [spec.details, spec.native_details] {
                assert!(full.contains(&details.replace(' ', "")), "{:?}", spec.id);
            }
        }
    }
}
