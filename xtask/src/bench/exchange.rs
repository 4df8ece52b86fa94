//! Requests and responses, and connections without data.

use interop::Transport as Listening;

use super::contender::{Contender, Dialect};
use super::quantity::{Quantity, Sample};
use super::readings::{iperf2_connects, iperf2_exchanges, qperf_exchanges, sockperf_exchanges};
use super::row::{Place, Transport};
use super::session::{Session, Site};
use crate::shell::Result;

/// Runs a contender's exchange once.
///
/// # Errors
/// A program fails or prints no figures.
pub(crate) fn run(
    transport: Transport,
    place: Place,
    contender: &Contender,
    site: &Site<'_>,
) -> Result<Sample> {
    let site = Site {
        processor: match place {
            Place::Free => None,
            Place::OneProcessor => Some(0),
        },
        ..*site
    };
    let udp = transport == Transport::Udp;
    let address = site.path.address();
    let seconds = site.seconds_of(contender.client);
    let dialect = contender.server.dialect();
    let listening = match dialect {
        Dialect::Sockperf if udp => Listening::Udp,
        _ => Listening::Tcp,
    };
    let tcp = if udp { "" } else { "--tcp" };
    let session = Session::start(&site, contender, listening, |port| match dialect {
        Dialect::Sockperf => format!("sr {tcp} -p {port} -i {address}"),
        Dialect::Qperf => format!("-lp {port}"),
        _ => format!("-s -p {port}"),
    })?;
    let port = session.port;
    let words = match dialect {
        Dialect::Sockperf => format!("pp {tcp} -p {port} -i {address} -m 100 -t {seconds}"),
        Dialect::Qperf => {
            let test = if udp { "udp_lat" } else { "tcp_lat" };
            let data = interop::free_port();
            format!("{address} -lp {port} -ip {data} -t {seconds} -m 100 {test}")
        }
        _ => format!(
            "-c {address} -p {port} -t {seconds} --bounceback --bounceback-period 0 \
             --bounceback-request 100 --bounceback-reply 100"
        ),
    };
    let outcome = session.run(&words, |_| true)?;
    let client = &outcome.client.stdout;
    let exchanges = match dialect {
        Dialect::Sockperf => sockperf_exchanges(client),
        Dialect::Qperf => qperf_exchanges(client, seconds),
        _ => iperf2_exchanges(client),
    };
    let exchanges = exchanges
        .filter(|exchanges| exchanges.count > 0.0 && exchanges.seconds > 0.0)
        .ok_or_else(|| format!("no figures\n{}", outcome.shown()))?;
    let mut sample = Sample::from([
        (
            Quantity::Transactions,
            exchanges.count / 1000.0 / exchanges.seconds,
        ),
        (Quantity::MeanRoundTrip, exchanges.mean),
    ]);
    if let Some(least) = exchanges.least {
        sample.insert(Quantity::LeastRoundTrip, least);
    }
    // sockperf first measures its clock for a tenth of a second, qperf's server works in a child.
    if dialect == Dialect::Iperf2 {
        sample.insert(
            Quantity::CpuPerTransaction,
            outcome.cpu() * 1e6 / exchanges.count,
        );
    }
    Ok(sample)
}

/// Makes connections without data for the time of a run.
///
/// # Errors
/// A program fails or prints no figures.
pub(crate) fn connects(contender: &Contender, site: &Site<'_>) -> Result<Sample> {
    let session = Session::start(site, contender, Listening::Tcp, |port| {
        format!("-s -p {port}")
    })?;
    let words = format!(
        "-c {} -p {} -t {} --connect-only",
        site.path.address(),
        session.port,
        site.seconds
    );
    let outcome = session.run(&words, |_| true)?;
    let made = iperf2_connects(&outcome.client.stdout)
        .filter(|made| *made > 0.0)
        .ok_or_else(|| format!("no figures\n{}", outcome.shown()))?;
    Ok(Sample::from([
        (Quantity::Connects, made / 1000.0 / site.seconds),
        (Quantity::CpuPerConnect, outcome.cpu() * 1e6 / made),
    ]))
}
