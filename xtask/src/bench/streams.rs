//! TCP streams: throughput, cost, memory, time.

use interop::Transport;

use super::contender::{Contender, Dialect};
use super::quantity::{Quantity, Sample};
use super::readings::{Received, has_rates, iperf2_received, iperf3_received};
use super::row::{Direction, Streams};
use super::session::{Outcome, Session, Site};
use crate::shell::Result;

/// Runs a contender once.
///
/// # Errors
/// A program fails or prints no figures.
pub(crate) fn run(streams: &Streams, contender: &Contender, site: &Site<'_>) -> Result<Sample> {
    let site = Site {
        seconds: streams.seconds.unwrap_or(site.seconds),
        ..*site
    };
    let session = Session::start(&site, contender, Transport::Tcp, |port| {
        server_words(streams, contender, &site, port)
    })?;
    let words = client_words(streams, contender, &site, session.port);
    // A server of iperf 2 reports each direction; iperf3's results are in the client's document.
    let flows = streams.count as usize;
    let flows = match (contender.server.dialect(), streams.direction) {
        (Dialect::Iperf2, Direction::Forward) => flows,
        (Dialect::Iperf2, Direction::Duplex) => 2 * flows,
        _ => 0,
    };
    let outcome = session.run(&words, |output| has_rates(output, flows))?;
    let received = received(streams, contender, &outcome)
        .filter(|received| received.bytes > 0.0 && received.seconds > 0.0)
        .ok_or_else(|| format!("no figures\n{}", outcome.shown()))?;
    let received = match streams.count {
        0 | 1 => received,
        _ => received.within(outcome.client.elapsed.as_secs_f64()),
    };
    let megabytes = |bytes: u64| bytes as f64 / 1e6;
    let client = megabytes(outcome.client.usage.peak_memory);
    let server = megabytes(outcome.server.peak_memory);
    Ok(Sample::from([
        (
            Quantity::Throughput,
            received.bytes * 8.0 / 1e9 / received.seconds,
        ),
        (
            Quantity::CpuPerGigabyte,
            outcome.cpu() / (received.bytes / 1e9),
        ),
        (Quantity::WallTime, outcome.wall.as_secs_f64()),
        (Quantity::ClientMemory, client),
        (Quantity::ServerMemory, server),
        (Quantity::BothMemory, client + server),
    ]))
}

fn server_words(streams: &Streams, contender: &Contender, site: &Site<'_>, port: u16) -> String {
    let mut words = format!("-s -p {port}");
    if contender.server.dialect() == Dialect::Iperf2 {
        words += " -f b";
        if let (Some(name), true) = (congestion(site), streams.direction != Direction::Forward) {
            words += &format!(" -Z {name}");
        }
    }
    words
}

fn client_words(streams: &Streams, contender: &Contender, site: &Site<'_>, port: u16) -> String {
    let iperf2 = contender.client.dialect() == Dialect::Iperf2;
    let mut words = format!(
        "-c {} -p {port} -t {}",
        site.path.address(),
        site.seconds_of(contender.client)
    );
    words += if iperf2 { " -f b" } else { " -J" };
    if let Some(name) = congestion(site) {
        words += &format!(" {} {name}", if iperf2 { "-Z" } else { "-C" });
    }
    if streams.count > 1 {
        words += &format!(" -P {}", streams.count);
    }
    words += match (streams.direction, iperf2) {
        (Direction::Forward, _) => "",
        (Direction::Reverse, _) => " -R",
        (Direction::Duplex, true) => " --full-duplex",
        (Direction::Duplex, false) => " --bidir",
    };
    if let Some(length) = streams.length {
        words += &format!(" -l {length}");
    }
    if streams.nodelay {
        words += " -N";
    }
    if let Some(rate) = streams.rate {
        words += &format!(" -b {rate}");
    }
    words
}

fn congestion(site: &Site<'_>) -> Option<&'static str> {
    site.congestion?.name()
}

fn received(streams: &Streams, contender: &Contender, outcome: &Outcome) -> Option<Received> {
    let client = &outcome.client.stdout;
    if contender.client.dialect() == Dialect::Iperf3 {
        return iperf3_received(client);
    }
    let there = || iperf2_received(&outcome.server_output, false);
    let back = || iperf2_received(client, true);
    match streams.direction {
        Direction::Forward => there(),
        Direction::Reverse => back(),
        Direction::Duplex => Some(there()?.and(back()?)),
    }
}
