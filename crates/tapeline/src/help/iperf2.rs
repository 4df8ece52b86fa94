//! Help under the name iperf: the reference's sections, names and order, our words.

use tapeline_dialect::Personality;

use crate::cli::options::table::{all, find_long};
use crate::cli::parse::NameMatch;
use crate::cli::spec::{Availability, OptionSpec, Section};

/// One line of a section.
struct SectionRow {
    spec: &'static OptionSpec,
    /// Name behind `--` as iperf 2's help shows it: `-F` is `--fileinput` there, although
    /// the program calls it `--file_input`.
    name: &'static str,
    /// What follows the name.
    argument: &'static str,
    text: &'static str,
}

/// Long names in the order of iperf 2.2.1's help.
const BOTH: &str = "bandwidth enhanced format hide-ips histograms interval len print_mss output \
                    port permit-key tcp-tx-delay sum-only udp utc window realtime bind \
                    compatibility NUM_REPORT_STRUCTS mss nodelay tos tcp-congestion";
const SERVER: &str = "port server singleclient histograms jitter-histograms permit-key-timeout \
                      skip-rx-copy tcp-rx-window-clamp test-exchange-timeout tap-dev time bind \
                      single_udp sum-dstip daemon ipv6_domain";
const CLIENT: &str = "bounceback bounceback-hold bounceback-no-quickack bounceback-period \
                      bounceback-reply bounceback-txdelay client connect-only \
                      connect-retry-timer connect-retry-time dscp dualtest fq-rate fq-rate-step \
                      fq-rate-step-interval full-duplex histograms ignore-shutdown incr-dstip \
                      incr-dstport incr-srcip incr-srcport ipg isochronous local-only \
                      near-congestion no-connect-sync no-udp-fin num sync-transfer-id tradeoff \
                      tcp-quickack tcp-write-prefetch tcp-write-times time trip-times \
                      txdelay-time txstart-time udp-l4s udp-l4s-video bind fileinput ssm-host \
                      stdin listenport parallel reverse tos ttl working-load working-load-cca \
                      ipv6_domain peer-detect";
const MISC: &str = "reportexclude reportstyle help version";

/// The lines of a section: first those of iperf 2.2.1 in its order, then the others.
/// Options that are always refused are left out.
fn section_rows(section: Section) -> Vec<SectionRow> {
    let order = match section {
        Section::Both => BOTH,
        Section::Server => SERVER,
        Section::Client => CLIENT,
        Section::Misc => MISC,
    };
    let mut rows: Vec<SectionRow> = order
        .split_whitespace()
        .filter_map(|name| match find_long(name, Personality::Iperf2) {
            NameMatch::One(spec, _) => row(spec, name, section),
            _ => None,
        })
        .collect();
    for spec in all() {
        if !rows.iter().any(|row| row.spec.id == spec.id) {
            rows.extend(row(spec, spec.long, section));
        }
    }
    rows
}

fn row(spec: &'static OptionSpec, name: &'static str, section: Section) -> Option<SectionRow> {
    if spec.availability != Availability::Available {
        return None;
    }
    let (_, argument, text) = spec
        .listings
        .iter()
        .find(|(listed, ..)| *listed == section)?;
    Some(SectionRow {
        spec,
        name,
        argument,
        text,
    })
}

/// The whole page, without its last line end.
pub(crate) fn page() -> String {
    let mut lines = vec![
        "Usage: iperf [-s|-c host] [options]".to_owned(),
        "       iperf [-h|--help] [-v|--version]".to_owned(),
    ];
    for section in Section::ALL {
        lines.push(String::new());
        lines.push(format!("{}:", section.title()));
        lines.extend(section_rows(section).iter().map(line));
    }
    lines.push(NOTES.trim_end().to_owned());
    lines.join("\n")
}

const NOTES: &str = "
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

fn line(row: &SectionRow) -> String {
    let letter = row
        .spec
        .short
        .map_or_else(|| "    ".to_owned(), |letter| format!("-{letter}, "));
    let mut name = format!("  {letter}--{}", row.name);
    match row.argument {
        "" => {}
        // `--option[=value]`, written without a blank.
        argument if argument.starts_with("[=") => name.push_str(argument),
        argument => name = format!("{name:<17} {argument}"),
    }
    format!("{name:<26} {}", row.text)
}

#[cfg(test)]
mod tests {
    use super::*;

    const REFERENCE: &str = include_str!("../../tests/golden/bad/help_short.stdout");

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
                let name = names.split(['=', '[']).next().unwrap_or("");
                entries.push((section.clone(), name.to_owned()));
            }
        }
        entries
    }

    #[test]
    fn the_page_has_the_head_and_the_sections_of_the_reference() {
        let page = page();
        assert_eq!(page.lines().next(), REFERENCE.lines().next());
        assert_eq!(page.lines().nth(1), REFERENCE.lines().nth(1));
        let titles = |page: &str| -> Vec<String> {
            let titles = page
                .lines()
                .filter(|line| line.ends_with(':') && !line.starts_with(' '));
            titles.map(str::to_owned).collect()
        };
        assert_eq!(titles(&page), titles(REFERENCE));
    }

    #[test]
    fn every_line_of_the_reference_is_there_in_its_order() {
        let reference = entries(REFERENCE);
        let wanted: Vec<_> = reference
            .iter()
            .filter(|(_, names)| {
                let name = names.rsplit("--").next().unwrap_or_default();
                match find_long(name, Personality::Iperf2) {
                    NameMatch::One(spec, _) => spec.availability == Availability::Available,
                    other => panic!("{names}: {other:?}"),
                }
            })
            .collect();
        let ours = entries(&page());
        let ours: Vec<_> = ours
            .iter()
            .filter(|entry| reference.contains(entry))
            .collect();
        assert_eq!(ours, wanted);
    }

    #[test]
    fn an_option_stands_once_in_a_section() {
        for section in Section::ALL {
            let mut ids: Vec<_> = section_rows(section)
                .iter()
                .map(|row| row.spec.id)
                .collect();
            let count = ids.len();
            ids.dedup();
            assert_eq!(ids.len(), count, "{}", section.title());
        }
    }
}
