//! The manual pages tapeline(1) and iperf(1).

use tapeline_dialect::Personality;
use tapeline_method::MethodPlan;

use super::entry::{ResultCommand, result_commands};
use super::roff::Page;
use crate::cli::environment::variables;
use crate::cli::options::table::usable;
use crate::cli::spec::{Group, Methods, OptionSpec, Sides};
use crate::identity::OWN;

/// Day of the last change to the pages' own text.
pub(crate) const DATE: &str = "2026-11-21";

/// The page of a name.
pub(crate) fn page(personality: Personality) -> String {
    let (name, purpose) = match personality {
        Personality::Native => ("tapeline", "measure networks with TCP and UDP"),
        Personality::Iperf2 => (
            "iperf",
            "measure networks with TCP and UDP as iperf 2 does (tapeline)",
        ),
    };
    let mut page = Page::new(name, DATE, &format!("tapeline {OWN}"));
    page.name(name, purpose);
    page.synopsis(synopsis(personality));
    page.section("DESCRIPTION");
    for text in description(personality) {
        page.paragraph(text);
    }
    if personality == Personality::Native {
        methods(&mut page);
        commands(&mut page);
    }
    options(&mut page, personality);
    values(&mut page, personality);
    environment(&mut page, personality);
    endings(&mut page, personality);
    files(&mut page);
    examples(&mut page, name);
    notes(&mut page);
    page.section("SEE ALSO");
    page.paragraph(match personality {
        Personality::Native => {
            "iperf(1), iperf3(1), ss(8), tc(8), ip(8), tcp(7), udp(7), socket(7)"
        }
        Personality::Iperf2 => {
            "tapeline(1), iperf3(1), ss(8), tc(8), ip(8), tcp(7), udp(7), socket(7)"
        }
    });
    page.finish()
}

fn synopsis(personality: Personality) -> &'static [&'static str] {
    match personality {
        Personality::Native => &[
            "tapeline -s [OPTIONS]",
            "tapeline -c HOST [OPTIONS]",
            "tapeline try [HOST] [OPTIONS]",
            "tapeline METHOD HOST[:PORT] [OPTIONS]",
            "tapeline exporter [HOST]... [--metrics ADDRESS:PORT]",
            "tapeline explain [WARNING]",
            "tapeline history [ACTION] [OPTIONS]",
            "tapeline compare RUNS RUNS [OPTIONS]",
            "tapeline gate FILE RUNS [OPTIONS]",
            "tapeline --as iperf|iperf3 [OPTIONS]",
            "tapeline --generate man|bash|zsh|fish",
        ],
        Personality::Iperf2 => &["iperf -s [OPTIONS]", "iperf -c HOST [OPTIONS]"],
    }
}

fn description(personality: Personality) -> &'static [&'static str] {
    match personality {
        Personality::Native => &[
            "tapeline sends TCP or UDP from one host to another and reports how much arrived, \
             how fast, how late, and what limited it. It needs a server (-s) on one host and a \
             client (-c) on the other. Either may be iperf 2.",
            "A server takes TCP and UDP, IPv4 and IPv6, from many clients at once. A client sends; \
             with -R the server sends, with --full-duplex both do. The job try measures round \
             trips, TCP and UDP one after the other and prints one page; without HOST it needs no \
             server.",
            "The job exporter answers Prometheus over HTTP: /probe?target=HOST runs a client's test \
             and answers with its results as metrics. It tests only the HOSTs given; \
             without any, each request names its own. The job explain explains a warning.",
            "Called iperf, or with --as iperf as the first words, the program has the command \
             line, the text and the CSV of iperf 2.2.1: see iperf(1). Under the name iperf3 it has \
             those of iperf3 3.22: see iperf3(1).",
            "--generate, as the first word, prints this page (man, as roff source) or the \
             completions for a shell.",
        ],
        Personality::Iperf2 => &[
            "This is tapeline under the name iperf: command line, output, exit codes and signals \
             are those of iperf 2.2.1, except where that version ends abnormally, never ends, or \
             reports something that it has not measured.",
            "Options are read as by getopt_long(3): letters may be bundled, long names \
             shortened, and an unknown option is reported and left aside. Under the name tapeline \
             the same options are checked strictly and the report is another: see tapeline(1).",
        ],
    }
}

/// The sections of the commands.
const COMMANDS: [(&str, &[&str], &str); 3] = [
    (
        "HISTORY",
        &["history", "compare", "gate"],
        "--save keeps results in a file; these commands list, compare and judge them. RUNS are r42, \
         r42..r57, s14 (a series), last, last:10, tag:KEY=VALUE, baseline:NAME, or a file with a \
         report, a series, or results of iperf 2 or iperf3; + joins several. compare --interleave RUNS -- 'TEST' -- \
         'TEST' and gate FILE -- TEST measure themselves; TEST is the command line of a client.",
    ),
    (
        "PAGE",
        &["web"],
        "The same in a browser: tests, a server, the history.",
    ),
    (
        "MANY HOSTS",
        &["mesh", "agent", "fleet"],
        "mesh tests hosts with each other over ssh; agent and fleet do so for good, over a \
         nats-server.",
    ),
];

fn commands(page: &mut Page) {
    let all = result_commands();
    for (section, words, about) in COMMANDS {
        let mut own = all.iter().filter(|command| words.contains(&command.word));
        if let Some(first) = own.next() {
            page.section(section);
            page.paragraph(about);
            std::iter::once(first)
                .chain(own)
                .for_each(|one| command(page, one));
        }
    }
}

fn command(page: &mut Page, command: &ResultCommand) {
    let actions = command.actions.iter();
    let actions: Vec<String> = actions
        .map(|(action, words, about)| {
            format!("{action} {words}").trim_end().to_owned() + ": " + about
        })
        .collect();
    let options = command.options.iter();
    let options: Vec<String> = options
        .map(|(name, value, help)| match *value {
            "" => format!("{name}: {help}"),
            value => format!("{name} {value}: {help}"),
        })
        .collect();
    let actions = match actions.is_empty() {
        true => String::new(),
        false => format!(" Actions: {}.", actions.join("; ")),
    };
    let text = format!(
        "{}.{actions} Options: {}.",
        command.about,
        options.join("; ")
    );
    page.item(command.word, &text);
}

/// The procedures, and the limits of each.
fn methods(page: &mut Page) {
    if MethodPlan::WORDS.is_empty() {
        return;
    }
    page.section("METHODS");
    page.paragraph(
        "A method runs several tests in a fixed order and ends in one page. tapeline METHOD --help \
         shows its options; tapeline METHOD HOST --plan shows its phases, durations and bytes and \
         measures nothing.",
    );
    for (word, about) in MethodPlan::WORDS {
        let limits = MethodPlan::criteria(word).iter().map(|criterion| {
            let default = criterion
                .default
                .map_or_else(String::new, |limit| format!(" ({limit})"));
            format!("{}{default}", criterion.name)
        });
        let limits: Vec<String> = limits.collect();
        let limits = match limits.join(", ") {
            limits if limits.is_empty() => String::new(),
            limits => format!(" Limits for --pass: {limits}."),
        };
        page.item(word, &format!("{about}.{limits}"));
    }
}

fn options(page: &mut Page, personality: Personality) {
    page.section("OPTIONS");
    page.paragraph(
        "Values may be attached to a letter or follow it (-t5, -t 5). Behind a long name they \
         follow a blank or = (--time 5, --time=5). A value that is shown as [=...] is \
         optional and is given behind = only. Long names may be shortened as long as they stay unique.",
    );
    for group in Group::ALL {
        let mut listed = usable(personality)
            .filter(|spec| spec.group == group && !spec.help.is_empty())
            .peekable();
        if listed.peek().is_some() {
            page.subsection(group.title());
        }
        for spec in listed {
            page.item(&term(spec), &explanation(spec, personality));
        }
    }
}

/// `-l, --len BYTES`.
fn term(spec: &OptionSpec) -> String {
    let letter = spec.short.map(|letter| format!("-{letter}"));
    let names = [spec.long_name(), spec.alias].into_iter().flatten();
    let names: Vec<String> = letter
        .into_iter()
        .chain(names.map(|name| format!("--{name}")))
        .collect();
    format!("{}{}", names.join(", "), spec.shown_value())
}

fn explanation(spec: &OptionSpec, personality: Personality) -> String {
    let mut text = spec.explanation(personality);
    let mut add = |sentence: &str| {
        text.push(' ');
        text.push_str(sentence);
    };
    add(sides(spec.sides));
    if spec.sides.trial && personality == Personality::Native {
        add("Also for try.");
    }
    match spec.methods {
        Methods::All if spec.sides.client => add("Also for methods."),
        Methods::All => add("Methods only."),
        Methods::Only(words) => add(&format!("For {} only.", words.join(", "))),
        Methods::None => {}
    }
    if spec.sides == Sides::OBSERVED && personality == Personality::Native {
        add("Also for exporter.");
    }
    if spec.long_name().is_some() {
        for name in spec
            .manual_names
            .iter()
            .filter(|name| Some(**name) != spec.long_name())
        {
            add(&format!("Also written --{name}."));
        }
    }
    if let Some((_, variable)) = spec.variable {
        add(&format!("Variable: {variable}."));
    }
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

const fn sides(sides: Sides) -> &'static str {
    match (sides.client, sides.server) {
        (true, false) => "Client only.",
        (false, true) => "Server only.",
        _ => "",
    }
}

fn values(page: &mut Page, personality: Personality) {
    page.section("VALUES");
    let rates = match personality {
        Personality::Native => {
            "A number with one of k m g (10^3, 10^6, 10^9), in either case, behind it: bits per \
             second. For -b a p or pps at the end means packets per second (UDP)."
        }
        Personality::Iperf2 => {
            "As bytes, but in bits per second. For -b a p or pps at the end means packets per \
             second (UDP). For --fq-rate and the mean of --isochronous, k m g count bits and \
             K M G count bytes per second, in powers of 1000."
        }
    };
    for (term, text) in [
        (
            "Bytes",
            "A number with one of k m g (10^3, 10^6, 10^9) or K M G (2^10, 2^20, 2^30) behind it; \
             a fraction of a byte is cut.",
        ),
        ("Rates", rates),
        ("Seconds", "A decimal number, such as 10 or 0.5."),
        (
            "Time of day",
            "Seconds since 1970, to the nanosecond if need be: 1536014418.25.",
        ),
        (
            "Frames",
            "FPS:MEAN,DEVIATION: frames per second, mean and standard deviation as rates over all \
             frames, such as 60:20m,2m. A mean with p behind it is datagrams per frame (2:25p).",
        ),
        (
            "Chain of lengths",
            "For -l: each length with the probabilities of every length to be the next, such as \
             <256|0.1,0.9<1470|0.5,0.5; each row adds up to 1.",
        ),
        (
            "Histograms",
            "WIDTH,BINS,LOW,HIGH: width of a bin with u (microseconds) or m (milliseconds), number \
             of bins, and the percentiles shown, such as 100u,10000,5,95.",
        ),
        (
            "Type of service",
            "0 to 255, also as 0x... or 0... (octal), or one of the names af11 to af43, cs0 to \
             cs7, ef, le, nqb, nqb2, ac_be, ac_bk, ac_vi, ac_vo, lowdelay, throughput, \
             reliability, none.",
        ),
        (
            "Hosts",
            "A name or an address. A device can follow behind %: it is needed for link-local \
             addresses of IPv6.",
        ),
    ] {
        page.item(term, text);
    }
}

fn environment(page: &mut Page, personality: Personality) {
    page.section("ENVIRONMENT");
    page.paragraph(
        "These variables set options. They are read before the command line, in this order. A \
         switch counts as given whenever its variable is defined, even if empty.",
    );
    for (variable, spec) in variables() {
        let known = usable(personality).any(|usable| usable.id == spec.id);
        if known && !spec.help.is_empty() {
            page.item(
                variable,
                &format!("As {}{}.", spec.shortest_name(), spec.shown_value()),
            );
        }
    }
    if personality == Personality::Native {
        page.item(
            "NO_COLOR, CLICOLOR, TERM",
            "Whether a terminal gets colours. Into a pipe or a file goes plain text.",
        );
    }
}

fn endings(page: &mut Page, personality: Personality) {
    page.section("SIGNALS");
    page.item(
        "SIGINT, SIGTERM, SIGALRM",
        "Ends running tests in order and prints totals. A server stops listening. A second \
         signal ends the program at once.",
    );
    page.section("EXIT STATUS");
    page.item(
        "0",
        "The test ran to its end, or was ended by a signal with its totals. Also help and \
         version, and a server that was stopped, whatever its clients did.",
    );
    let failed = "The test could not be run or did not end as it should: a name that cannot be \
                  resolved, a refused or lost connection, an address in use, a UDP server that \
                  sent no report, a report that could not be written. What was measured until \
                  then is printed.";
    match personality {
        Personality::Native => {
            page.item("1", failed);
            page.item(
                "2",
                "The command line cannot be carried out: an unknown option, a bad value, a \
                 conflict.",
            );
            page.item(
                "3",
                "With --fail-if-host-limited: the test ran to its end, but a host limited it, not the \
                 network.",
            );
            page.item(
                "4",
                "A method ran to its end, and its result missed a limit (--pass). Where 3 applies too, \
                 it is 3: a result that a host limited says nothing of the network. A rule of gate is \
                 broken.",
            );
            page.item("5", "The runs that gate was given do not decide its rules.");
        }
        Personality::Iperf2 => page.item(
            "1",
            &format!("{failed} Also a command line that cannot be carried out."),
        ),
    }
}

fn files(page: &mut Page) {
    page.section("FILES");
    for (path, text) in [
        (
            super::candidates::CONGESTION_CONTROLS,
            "Congestion controls that -Z can choose from (Linux).",
        ),
        (
            "/proc/sys/net/core/rmem_max, /proc/sys/net/core/wmem_max",
            "Largest socket buffers that -w can have without further rights (Linux).",
        ),
    ] {
        page.item(path, text);
    }
}

fn examples(page: &mut Page, name: &str) {
    page.section("EXAMPLES");
    for (purpose, arguments) in [
        ("Serve tests on port 5001:", "-s"),
        (
            "Send TCP for ten seconds, a row every second:",
            "-c 192.0.2.1 -i 1",
        ),
        (
            "Let the server send, over four connections:",
            "-c 192.0.2.1 -R -P 4",
        ),
        (
            "Send 100 Mbit/s of UDP with a DSCP, and see losses and jitter:",
            "-c 192.0.2.1 -u -b 100m -S ef -e -i 1",
        ),
        (
            "Measure one-way delay (the clocks of both hosts must agree):",
            "-c 192.0.2.1 -u -b 10m --trip-times -i 1",
        ),
        (
            "Measure round trips of small requests, a hundred in a row each second:",
            "-c 192.0.2.1 --bounceback=100 -i 1",
        ),
        (
            "Send video-like frames, 60 a second, 20 Mbit/s in the mean:",
            "-c 192.0.2.1 -u --isochronous=60:20m,2m -i 1",
        ),
    ] {
        page.example(purpose, &format!("{name} {arguments}"));
    }
    if name == "tapeline" {
        page.example(
            "See what this machine does, without a server:",
            "tapeline try",
        );
        page.example(
            "Install the completions for bash:",
            "tapeline --generate bash > ~/.local/share/bash-completion/completions/tapeline",
        );
    }
}

fn notes(page: &mut Page) {
    page.section("NOTES");
    page.paragraph(
        "One-way delay (--trip-times) is the difference between the clocks of two hosts. It is \
         as right as they agree: within microseconds with a common PTP clock, within about a \
         millisecond with NTP on one site. With -X the program compares the clocks before the \
         test. Round trips (--bounceback) need no agreement.",
    );
    page.paragraph(
        "Rates count the bytes that programs hand over and receive, without the headers of TCP, \
         UDP, IP and the link.",
    );
}
