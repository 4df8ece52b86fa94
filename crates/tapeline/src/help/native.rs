//! tapeline's own help: groups, two columns, as wide as the terminal.

use tapeline_dialect::Personality;
use tapeline_method::MethodPlan;

use crate::cli::options::table::all;
use crate::cli::spec::{Availability, Group, OptionId as Id, OptionSpec, Personalities};
use crate::explain::wrap;

/// How much is said.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Detail {
    /// What most tests need.
    Short,
    /// What there is to know about each option.
    Full,
}

/// Widest help, columns: longer lines are hard to read.
const WIDEST: usize = 100;
/// Narrowest layout that still has two columns.
const NARROWEST: usize = 60;

const USAGE: &str = "\
tapeline: a tape measure for networks

  tapeline -s [OPTIONS]             run a server
  tapeline -c HOST [OPTIONS]        test towards a server (tapeline or iperf 2)
  tapeline try [HOST] [OPTIONS]     quick check of a path
  tapeline explain [WARNING]        say what a warning means
  tapeline exporter [HOST]...       test when Prometheus asks
  tapeline history|compare|gate     saved results (--help explains each)
  tapeline --as iperf ...           behave as iperf 2.2.1 does";

/// What the short page explains: what most tests need.
const OFTEN_USED: [(Group, &[Id]); 6] = [
    (Group::Mode, &[Id::Server, Id::Client, Id::Udp, Id::Peer]),
    (Group::Addressing, &[Id::Port, Id::Bind]),
    (
        Group::Amount,
        &[
            Id::Time,
            Id::Num,
            Id::Bandwidth,
            Id::Len,
            Id::Parallel,
            Id::Repeat,
        ],
    ),
    (Group::Direction, &[Id::Reverse, Id::FullDuplex]),
    (Group::Latency, &[Id::Bounceback, Id::TripTimes]),
    (
        Group::Output,
        &[Id::Interval, Id::Enhanced, Id::Json, Id::Html],
    ),
];

/// Where the short page ends.
const ALL_OPTIONS: &str = "All options: --help, man tapeline";

/// The whole page, without its last line end.
pub(crate) fn page(width: usize, detail: Detail) -> String {
    let mut lines = vec![USAGE.to_owned()];
    lines.extend(methods(width));
    lines.extend(match detail {
        Detail::Short => short(width),
        Detail::Full => full(width),
    });
    lines.join("\n")
}

/// The procedures that there are, where there are any.
fn methods(width: usize) -> Vec<String> {
    let words: Vec<&str> = MethodPlan::WORDS.iter().map(|(word, _)| *word).collect();
    if words.is_empty() {
        return Vec::new();
    }
    let text = format!("one of {} (--help explains each)", words.join(", "));
    in_two_columns("  tapeline METHOD HOST [OPTIONS]", &text, width)
}

fn short(width: usize) -> Vec<String> {
    let mut lines = Vec::new();
    for (group, ids) in OFTEN_USED {
        lines.push(String::new());
        lines.push(format!("{}:", group.title()));
        for id in ids {
            for spec in all().filter(|spec| spec.id == *id) {
                lines.extend(in_two_columns(&names(spec), spec.help, width));
            }
        }
    }
    lines.push(String::new());
    lines.push(ALL_OPTIONS.to_owned());
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

const FULL_NOTES: &str = "Sizes take a suffix: k m g multiply by 1000, K M G by 1024. Rates take k m g in either case, multiples of 1000. A value \
                          that is shown behind [= is optional. Long options may be \
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
pub(crate) fn names(spec: &OptionSpec) -> String {
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
pub(crate) fn in_two_columns(first: &str, text: &str, width: usize) -> Vec<String> {
    let mut lines = wrap(text, INDENT, width);
    if first.len() + 2 > INDENT {
        lines.insert(0, first.to_owned());
    } else {
        lines[0].replace_range(..INDENT, &format!("{first:<INDENT$}"));
    }
    lines
}

/// The terminal's width as far as the help uses it; 80 without a terminal.
pub(crate) fn terminal_width() -> usize {
    terminal_size::terminal_size()
        .map_or(80, |(width, _)| usize::from(width.0))
        .clamp(NARROWEST, WIDEST)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_full_page_names_every_option_and_both_fit_the_width() {
        for width in [60, 80, 100] {
            let full = page(width, Detail::Full);
            for spec in all().filter(|spec| spec.availability == Availability::Available) {
                let native = spec.personalities.include(Personality::Native);
                let name = spec.shortest_name();
                let options = full.lines().skip(USAGE.lines().count());
                let named = options.filter(|line| line.starts_with("  ")).any(|line| {
                    let mut words = line.split(['[', ' ', ',']);
                    words.any(|word| word == name)
                });
                assert_eq!(named, native, "{name} at {width}");
            }
            for page in [page(width, Detail::Short), full] {
                let options = page.lines().skip(USAGE.lines().count());
                let too_wide = options.into_iter().find(|line| line.len() > width);
                assert_eq!(too_wide, None, "at {width}");
            }
        }
    }

    #[test]
    fn the_short_page_fits_a_screen_and_the_full_one_gives_details() {
        let short = page(80, Detail::Short);
        assert!(short.lines().count() <= 50, "{short}");
        assert!(short.ends_with(ALL_OPTIONS), "{short}");
        let options: usize = OFTEN_USED.iter().map(|(_, ids)| ids.len()).sum();
        assert_eq!(options, 20);
        let unknown = OFTEN_USED
            .iter()
            .flat_map(|(_, ids)| ids.iter())
            .find(|id| !all().any(|spec| spec.id == **id));
        assert_eq!(unknown, None);
        assert!(USAGE.lines().all(|line| line.len() <= 80));
        let full = page(80, Detail::Full).replace(['\n', ' '], "");
        for spec in Group::ALL.into_iter().flat_map(listed) {
            for details in [spec.details, spec.native_details] {
                assert!(full.contains(&details.replace(' ', "")), "{:?}", spec.id);
            }
        }
    }
}
