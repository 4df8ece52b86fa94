//! UDP as fast as it goes, and at a rate that a third party watches.

use interop::{Capture, Transport};

use super::contender::{Contender, Dialect};
use super::gaps::Gaps;
use super::quantity::{Quantity, Sample};
use super::readings::{has_rates, iperf2_datagrams, iperf3_datagrams};
use super::session::{Session, Site};
use crate::shell::Result;

/// Payload of a paced datagram in bytes.
const PACED_LENGTH: u32 = 1470;
/// Bits per second from which on the observer must not take each packet by itself.
const FLOOD: u64 = 1_000_000_000;

/// Runs a contender once without a rate, in so many flows.
///
/// # Errors
/// A program fails or prints no figures.
pub(crate) fn flood(
    length: u32,
    flows: usize,
    contender: &Contender,
    site: &Site<'_>,
) -> Result<Sample> {
    let session = start(contender, site)?;
    let mut words = client_words(contender, site, session.port, length, "0");
    if flows > 1 {
        words.push_str(&format!(" -P {flows}"));
    }
    // Several have a row of their sum, too.
    let rates = flows + usize::from(flows > 1);
    let iperf2 = contender.server.dialect() == Dialect::Iperf2;
    let outcome = session.run(&words, |output| !iperf2 || has_rates(output, rates))?;
    let client = &outcome.client.stdout;
    let datagrams = match contender.client.dialect() {
        Dialect::Iperf2 => iperf2_datagrams(client, &outcome.server_output),
        _ => iperf3_datagrams(client),
    };
    let datagrams = datagrams
        .filter(|counts| counts.received > 0.0 && counts.seconds > 0.0 && counts.sent > 0.0)
        .ok_or_else(|| format!("no figures\n{}", outcome.shown()))?;
    let microseconds = |seconds: f64| seconds * 1e6;
    Ok(Sample::from([
        (
            Quantity::PacketRate,
            datagrams.received / 1000.0 / datagrams.seconds,
        ),
        (
            Quantity::CpuPerPacket,
            microseconds(outcome.cpu()) / datagrams.received,
        ),
        (
            Quantity::CpuPerSentPacket,
            microseconds(outcome.client.usage.cpu.as_secs_f64()) / datagrams.sent,
        ),
        (
            Quantity::Loss,
            datagrams.lost * 100.0 / (datagrams.received + datagrams.lost),
        ),
    ]))
}

/// Runs a contender once at a rate in bits per second.
///
/// # Errors
/// A program fails, or the capture is incomplete.
pub(crate) fn paced(rate: u64, contender: &Contender, site: &Site<'_>) -> Result<Sample> {
    let session = start(contender, site)?;
    let nuttcp = contender.client.dialect() == Dialect::Nuttcp;
    // nuttcp's data have a port of their own.
    let port = if nuttcp {
        interop::free_port()
    } else {
        session.port
    };
    let (namespace, interface) = site.path.receiving();
    let failed = |error: std::io::Error| error.to_string();
    let capture = if rate >= FLOOD {
        Capture::flood_to(namespace, interface, port)
    } else {
        Capture::udp_to(namespace, interface, port)
    };
    let capture = capture.map_err(failed)?;
    let words = if nuttcp {
        format!(
            "-u -R {}k -l {PACED_LENGTH} -T {} -P {} -p {port} {}",
            rate / 1000,
            site.seconds_of(contender.client),
            session.port,
            site.path.address()
        )
    } else {
        client_words(contender, site, port, PACED_LENGTH, &rate.to_string())
    };
    let outcome = session.run(&words, |_| true)?;
    let packets = capture.finish().map_err(failed)?;
    let numbered = contender.client.dialect() == Dialect::Iperf2;
    let gaps = Gaps::from_packets(&packets, PACED_LENGTH, rate as f64, numbered)
        .ok_or_else(|| format!("{} packets captured\n{}", packets.len(), outcome.shown()))?;
    let sender = outcome.client.usage.cpu.as_secs_f64();
    Ok(Sample::from([
        (Quantity::GapMedian, gaps.error(0.50) * 1e6),
        (Quantity::GapTail, gaps.error(0.99) * 1e6),
        (Quantity::BackToBack, gaps.back_to_back() * 100.0),
        (Quantity::RateError, gaps.rate_error() * 100.0),
        (Quantity::RateErrorShare, gaps.rate_error_by_allowance()),
        (
            Quantity::SenderCpu,
            sender * 100.0 / site.seconds_of(contender.client),
        ),
    ]))
}

/// Runs a contender once at a rate, as typed, that nobody watches.
///
/// # Errors
/// A program fails.
pub(crate) fn at_rate(rate: &str, contender: &Contender, site: &Site<'_>) -> Result<()> {
    let session = start(contender, site)?;
    let words = client_words(contender, site, session.port, PACED_LENGTH, rate);
    session.run(&words, |_| true).map(|_| ())
}

fn start<'a>(contender: &'a Contender, site: &'a Site<'a>) -> Result<Session<'a>> {
    match contender.server.dialect() {
        Dialect::Iperf2 => Session::start(site, contender, Transport::Udp, |port| {
            format!("-s -u -p {port} -f b")
        }),
        Dialect::Nuttcp => Session::start(site, contender, Transport::Tcp, |port| {
            format!("-S --nofork -P {port}")
        }),
        _ => Session::start(site, contender, Transport::Tcp, |port| {
            format!("-s -p {port}")
        }),
    }
}

fn client_words(
    contender: &Contender,
    site: &Site<'_>,
    port: u16,
    length: u32,
    rate: &str,
) -> String {
    let form = match contender.client.dialect() {
        Dialect::Iperf2 => "-f b",
        _ => "-J",
    };
    format!(
        "-c {} -p {port} -u -b {rate} -l {length} -t {} {form}",
        site.path.address(),
        site.seconds_of(contender.client)
    )
}
