//! The manual page iperf3(1).

use super::man::DATE;
use super::roff::Page;
use crate::cli::iperf3::options::{self, End, Spec};
use crate::cli::parse::Arity;
use crate::identity::OWN;

/// The page.
pub(crate) fn page() -> String {
    let mut page = Page::new("iperf3", DATE, &format!("tapeline {OWN}"));
    page.name(
        "iperf3",
        "measure networks with TCP and UDP as iperf3 does (tapeline)",
    );
    page.synopsis(&["iperf3 -s [OPTIONS]", "iperf3 -c HOST [OPTIONS]"]);
    page.section("DESCRIPTION");
    for text in [
        "This is tapeline under the name iperf3: command line, text, JSON and exit codes are \
         those of iperf3 3.22. Either end may be an iperf3 from 3.1 on.",
        "A server carries out any number of tests at the same time, unless -1 tells it to end \
         with the first one. On the same port it serves clients of iperf 2, and clients under \
         the name tapeline.",
        "Options are read as by getopt_long(3): letters may be bundled and long names shortened. \
         Words that are no option are left out; the first fault ends the program.",
    ] {
        page.paragraph(text);
    }
    page.section("OPTIONS");
    for (title, end) in [
        ("Server or client", End::Both),
        ("Server", End::Server),
        ("Client", End::Client),
    ] {
        page.subsection(title);
        for spec in options::listed().filter(|spec| spec.end == end) {
            page.item(&term(spec), &sentence(spec));
        }
    }
    page.section("VALUES");
    for (term, text) in [
        (
            "Sizes and counts",
            "A number with K, M, G or T behind it, multiples of 1024; small letters mean the same.",
        ),
        (
            "Rates",
            "Bits per second, with the same letters as multiples of 1000.",
        ),
        (
            "Seconds",
            "A decimal number. Whole ones for -t, -O and the limits of a server.",
        ),
    ] {
        page.item(term, text);
    }
    page.section("ENVIRONMENT");
    page.item("IPERF3_PASSWORD", "The password for --username.");
    page.section("SIGNALS");
    page.item(
        "SIGINT, SIGTERM, SIGHUP",
        "Ends a running test with its totals and tells the other end. A second signal ends the \
         program at once.",
    );
    page.section("EXIT STATUS");
    page.item(
        "0",
        "The test ran to its end, or was ended by a signal with its totals.",
    );
    page.item(
        "1",
        "The test could not be run or did not end as it should, or the command line cannot be \
         carried out.",
    );
    page.section("EXAMPLES");
    for (purpose, command) in [
        ("Serve tests on port 5201:", "iperf3 -s"),
        ("Send TCP for ten seconds:", "iperf3 -c 192.0.2.1"),
        (
            "Let the server send, over four connections, and print JSON:",
            "iperf3 -c 192.0.2.1 -R -P 4 -J",
        ),
        (
            "Send 100 Mbit/s of UDP and see losses and jitter:",
            "iperf3 -c 192.0.2.1 -u -b 100M",
        ),
    ] {
        page.example(purpose, command);
    }
    page.section("SEE ALSO");
    page.paragraph("tapeline(1), iperf(1), ss(8), tc(8), ip(8), tcp(7), udp(7), socket(7)");
    page.finish()
}

/// `-b, --bitrate, --bandwidth RATE[/N]`.
fn term(spec: &Spec) -> String {
    let letter = spec.letter.map(|letter| format!("-{letter}"));
    let words = spec.names.iter().map(|name| format!("--{name}"));
    let names: Vec<String> = letter.into_iter().chain(words).collect();
    let value = match spec.arity {
        Arity::Switch => String::new(),
        Arity::Required => format!(" {}", spec.value),
        Arity::Optional => format!("[={}]", spec.value),
    };
    format!("{}{value}", names.join(", "))
}

/// The line of the help as a sentence.
fn sentence(spec: &Spec) -> String {
    let line = spec.help.replace('\n', " ");
    let mut letters = line.chars();
    let first = letters
        .next()
        .map(|letter| letter.to_uppercase().to_string());
    // A name of its own, such as SEC or mptcp(7), is not at the beginning of any line.
    format!("{}{}.", first.unwrap_or_default(), letters.as_str())
}
