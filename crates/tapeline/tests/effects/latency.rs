//! Delays, their distributions, requests and responses, connects.

use crate::pair::{Pair, has, has_not, number_before, rows};

/// The histogram line of that name, up to its first bin.
#[track_caller]
fn histogram<'a>(output: &'a str, name: &str) -> &'a str {
    let named = |line: &&str| line.contains(&format!("{name}(f)-PDF: bin(w="));
    let line = output.lines().find(named);
    line.unwrap_or_else(|| panic!("no histogram {name} in:\n{output}"))
}

#[test]
fn requests_are_answered_so_many_a_period() {
    let pair = Pair::run("", "--bounceback=4 --bounceback-period 0.1 -t 0.5");
    has(
        pair.client(),
        "Bursting request 4 times every 0.10 second(s)",
    );
    let total = rows(pair.client(), "[  1]");
    let count = number_before(total.last().expect("a total"), "=");
    assert!((16.0..=24.0).contains(&count), "{}", pair.client());
    has(pair.client(), "BB8(f)-PDF");
    // Back to back there are far more.
    let pair = Pair::run("", "--bounceback --bounceback-period 0 -t 0.2");
    let count = number_before(rows(pair.client(), "[  1]").last().expect("a total"), "=");
    assert!(count > 100.0, "{}", pair.client());
}

#[test]
fn a_hold_and_sizes_are_the_servers_to_keep() {
    let line = "--bounceback=2 --bounceback-hold 30 --bounceback-request 200 \
                --bounceback-reply 300 -t 0.5";
    let pair = Pair::run("", line);
    has(
        pair.client(),
        "(bb w/quickack req/reply/hold=200/300/30000)",
    );
    has(
        pair.server(),
        "(bb w/quickack req/reply/hold=200/300/30000)",
    );
    has(pair.client(), "Tx= 400 Byte Rx= 600 Byte");
    let rows = rows(pair.client(), "[  1]");
    let (_, times) = rows
        .last()
        .and_then(|row| row.split_once('='))
        .expect("times");
    let smallest = times.split('/').nth(1);
    let smallest: f64 = smallest.expect("min").parse().expect("ms");
    assert!(smallest >= 30.0, "{}", pair.client());
}

#[test]
fn quick_acknowledgements_can_be_left_out() {
    let plain = Pair::run("", "--bounceback=1 -t 0.2");
    has(plain.client(), "tcp_quickack");
    let without = Pair::run("", "--bounceback=1 -t 0.2 --bounceback-no-quickack");
    has_not(without.client(), "quickack");
    has(without.server(), "(bb req/reply/hold=");
}

#[test]
fn requests_wait_for_their_delay() {
    let begun = std::time::Instant::now();
    Pair::run("", "--bounceback=1 -t 0.1 --bounceback-txdelay 0.4");
    assert!(begun.elapsed().as_secs_f64() >= 0.5);
}

#[test]
fn stamps_of_datagrams_become_delays() {
    let pair = Pair::run(
        "-u -e --histograms=50u,2000,10,90",
        "-u --trip-times -n 100K -b 20m",
    );
    has(pair.client(), "(trip-times)");
    has(pair.server(), "Latency avg/min/max/stdev");
    has(
        pair.server(),
        "Enabled receive histograms bin-width=0.050 ms, bins=2000",
    );
    let line = histogram(pair.server(), "T8");
    has(line, "bin(w=50us):cnt(");
    has(line, "(10.00/90.00/99.7%=");
}

#[test]
fn jitter_has_a_distribution() {
    let pair = Pair::run("-u --jitter-histograms=40", "-u -n 100K -b 20m");
    has(pair.server(), "Enabled jitter histograms (bin-width=40 us)");
    has(histogram(pair.server(), "J8"), "bin(w=40us):cnt(");
}

#[test]
fn connects_are_counted_and_timed() {
    let pair = Pair::run("", "--connect-only=3");
    has(pair.client(), "TCP three-way-handshake (3WHS) only");
    assert_eq!(
        pair.client().matches("(ct=").count(),
        3,
        "{}",
        pair.client()
    );
    has(pair.client(), "(tot/err) = 3/0");
}

#[test]
fn stamps_of_writes_become_delays() {
    let pair = Pair::run("-e --histograms", "--trip-times -n 1M -l 64K");
    has(pair.client(), "(trip-times)");
    has(
        pair.server(),
        "Burst Latency avg/min/max/stdev (cnt/size) inP NetPwr",
    );
    has(rows(pair.server(), "[  1]")[0], " ms (16/655");
    has(histogram(pair.server(), "F8"), ":cnt(16)=");
}

#[test]
fn writes_are_timed() {
    let pair = Pair::run("", "--tcp-write-times -n 1M -l 64K --histograms");
    has(pair.client(), "(write timer enabled)");
    has(pair.client(), "write-times avg/min/max/stdev (cnt)");
    has(rows(pair.client(), "[  1]")[0], " ms (16)");
    has(histogram(pair.client(), "W8"), ":cnt(16)=");
}

#[test]
fn clocks_are_compared_before_the_test() {
    let pair = Pair::run("-e", "-X --trip-times -n 10K");
    has(&pair.client.stderr, "Clock sync check (ms): RTT/Half=(");
}

#[test]
fn each_way_of_a_request_has_its_delay() {
    let pair = Pair::run("", "--bounceback=2 --trip-times -t 0.2 --histograms");
    has(pair.client(), "OWD (ms) Cnt=2 TX=");
    has(histogram(pair.client(), " OWD-TX"), ":cnt(2)=");
    has(histogram(pair.client(), " OWD-RX"), ":cnt(2)=");
}

#[test]
fn rows_follow_the_bursts() {
    let line = "--burst-period 0.1 --burst-size 256K -t 0.3 --trip-times";
    let pair = Pair::run("-e -i f", line);
    has(pair.server(), "Burst (start-end)");
    // Three bursts and their total.
    assert_eq!(rows(pair.server(), "[  1]").len(), 4, "{}", pair.server());
}
