//! What must hold after a mode has run.

use interop::{Histogram, Row, RowId, Transport, parse_histograms};

use crate::case::Ran;
use crate::mode::file;
use crate::reading;

/// Most milliseconds that a delay over loopback can plausibly have on a busy machine.
const PLAUSIBLE_MS: f64 = 2000.0;

/// Payload of a datagram, unless another is given.
const DATAGRAM: u64 = 1470;
/// Bytes of the longest header in front of a test's data.
const LONGEST_HEADER: u64 = 256;

/// One thing that must hold.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Check {
    /// What each side sent, the other received: bytes of TCP, datagrams of UDP.
    Agrees,
    /// The same, but a peer may count so many bytes of its own preamble in another way.
    AgreesWithin(u64),
    /// Each side shows so many totals of flows.
    Flows(usize),
    /// The client shows this text.
    ClientShows(&'static str),
    /// The server shows this text.
    ServerShows(&'static str),
    /// The client's rows have delays, consistent and plausible.
    ClientDelays,
    /// The server's rows have.
    ServerDelays,
    /// The client shows the server's report with delays.
    ReportDelays,
    /// An isochronous sender at the client counts at least so many frames, and sends most of them: a
    /// busy machine makes a sender miss some.
    ClientFrames(u64),
    /// One at the server.
    ServerFrames(u64),
    /// An isochronous UDP receiver at the server counts as many frames as were sent.
    ServerFramesArrive,
    /// At least so many round trips, with requests and replies of these sizes.
    RoundTrips(u64, u64, u64),
    /// The mean of the client's delays is at least so many milliseconds.
    DelayOf(f64),
    /// A histogram of this name, as a total, with as many values as its bins have.
    ClientHistogram(&'static str),
    /// The same at the server.
    ServerHistogram(&'static str),
    /// The client's totals show this rate of bits per second, within so many per cent.
    Rate(f64, f64),
    /// The client sends so many bytes, and a header at most.
    ClientBytes(u64),
    /// The client sends the whole file of the tests, behind a header.
    WholeFile,
    /// The client sends so many datagrams, with this tolerance.
    Datagrams(u64, u64),
    /// The client takes at least so many seconds.
    Takes(f64),
    /// Both sides use the same numbers for the flows.
    SameNumbers,
    /// The client ends with failure.
    ClientFails,
    /// The client may end either way.
    ClientMayFail,
    /// The server shows no row.
    ServerShowsNoData,
    /// The server ends by itself.
    ServerEnds,
    /// So many lines of the client have this text.
    ClientLines(usize, &'static str),
}

impl Check {
    /// Says what is wrong.
    pub(crate) fn apply(self, ran: &Ran) -> Result<(), String> {
        let may_fail = [Self::ClientFails, Self::ClientMayFail];
        let must_succeed = !ran.mode.checks.iter().any(|check| may_fail.contains(check));
        if must_succeed && ran.client.code() != Some(0) {
            return Err("the client did not succeed".to_owned());
        }
        if ran.client.stderr.contains("nrecognized option") {
            return Err("the client does not know an option".to_owned());
        }
        let right = match self {
            Self::Agrees => return ran.agrees(0),
            Self::AgreesWithin(bytes) => return ran.agrees(bytes),
            Self::Flows(flows) => {
                ran.at_client.totals().len() == flows && ran.at_server.totals().len() == flows
            }
            Self::ClientShows(text) => ran.client_output().contains(text),
            Self::ServerShows(text) => ran.server.contains(text),
            Self::ClientLines(count, text) => {
                let output = ran.client_output();
                output.lines().filter(|line| line.contains(text)).count() == count
            }
            Self::ClientDelays => are_plausible(&ran.at_client.totals()),
            Self::ServerDelays => are_plausible(&ran.at_server.totals()),
            Self::ReportDelays => are_plausible(&ran.at_client.server_reports),
            Self::ClientFrames(least) => frames(&ran.client.stdout, least),
            Self::ServerFrames(least) => frames(&ran.server, least),
            Self::ServerFramesArrive => ran.frames_arrive(),
            Self::RoundTrips(least, request, reply) => {
                let read = reading::round_trips(&ran.client.stdout);
                // Sizes print with three digits.
                let near = |size: u64, each: u64, count: u64| {
                    (size as f64 / (each * count) as f64 - 1.0).abs() < 0.01
                };
                read.is_some_and(|(count, sizes)| {
                    count >= least
                        && sizes.is_none_or(|(sent, received)| {
                            near(sent, request, count) && near(received, reply, count)
                        })
                })
            }
            Self::DelayOf(least) => {
                let total = ran
                    .at_client
                    .totals()
                    .into_iter()
                    .find_map(|row| row.delays);
                total.is_some_and(|delays| delays.mean >= least)
            }
            Self::ClientHistogram(name) => histogram(&ran.client.stdout, name),
            Self::ServerHistogram(name) => histogram(&ran.server, name),
            Self::Rate(rate, per_cent) => {
                let totals = ran.at_client.totals();
                let near = |row: &Row| (row.rate / rate - 1.0).abs() <= per_cent / 100.0;
                !totals.is_empty() && totals.iter().all(near)
            }
            Self::ClientBytes(bytes) => {
                let sent = bytes..=bytes + LONGEST_HEADER;
                let totals = ran.at_client.totals();
                totals.iter().all(|row| sent.contains(&row.bytes))
            }
            Self::WholeFile => {
                let length = std::fs::metadata(file()).map_or(0, |file| file.len());
                let totals = ran.at_server.totals();
                let received = length..=length + LONGEST_HEADER;
                totals.len() == 1 && received.contains(&totals[0].bytes)
            }
            Self::Datagrams(count, tolerance) => {
                let sent: u64 = ran.at_client.sent.iter().map(|(_, count)| count).sum();
                sent.abs_diff(count) <= tolerance
            }
            Self::Takes(seconds) => ran.client.elapsed.as_secs_f64() >= seconds,
            Self::SameNumbers => {
                let numbers = |rows: Vec<Row>| {
                    let mut ids: Vec<RowId> = rows.into_iter().map(|row| row.id).collect();
                    ids.sort_by_key(|id| format!("{id:?}"));
                    ids
                };
                numbers(ran.at_client.totals()) == numbers(ran.at_server.totals())
            }
            Self::ClientFails => ran.client.code().is_some_and(|code| code != 0),
            Self::ServerShowsNoData => ran.at_server.rows.is_empty(),
            Self::ServerEnds | Self::ClientMayFail => true,
        };
        if right {
            Ok(())
        } else {
            Err(format!("{self:?} does not hold"))
        }
    }
}

impl Ran {
    fn client_output(&self) -> String {
        format!("{}{}", self.client.stdout, self.client.stderr)
    }

    fn agrees(&self, of_peers: u64) -> Result<(), String> {
        let amounts = |rows: Vec<Row>| {
            let amount = |row: &Row| match (self.mode.transport, row.datagrams) {
                (Transport::Tcp, _) => row.bytes,
                // What the receiver missed and what it got is what was sent.
                (Transport::Udp, Some(counts)) => counts.total,
                (Transport::Udp, None) => self.datagrams_sent(row),
            };
            let mut amounts: Vec<u64> = rows.iter().map(amount).collect();
            amounts.sort_unstable();
            amounts
        };
        let (client, server) = (
            amounts(self.at_client.totals()),
            amounts(self.at_server.totals()),
        );
        let ours = self.client_program.is_tapeline() && self.server_program.is_tapeline();
        let tolerance = match self.mode.transport {
            Transport::Tcp if ours => 0,
            Transport::Tcp => of_peers,
            // Whether the end marker counts is every version's own choice.
            Transport::Udp => 2,
        };
        let same = client.len() == server.len()
            && client
                .iter()
                .zip(&server)
                .all(|(a, b)| a.abs_diff(*b) <= tolerance)
            && client.iter().all(|amount| *amount > 0);
        if same {
            return Ok(());
        }
        Err(format!(
            "the client counts {client:?}, the server {server:?}"
        ))
    }

    /// Datagrams of a sender's row: printed by `Sent N datagrams`, or by its bytes.
    fn datagrams_sent(&self, row: &Row) -> u64 {
        let RowId::Flow { id, .. } = row.id else {
            return 0;
        };
        let of = |sent: &&(RowId, u64)| matches!(sent.0, RowId::Flow { id: of, .. } if of == id);
        let sides = [&self.at_client, &self.at_server];
        let side = sides.into_iter().find(|side| side.rows.contains(row));
        let sent = side.and_then(|side| side.sent.iter().find(of));
        sent.map_or(row.bytes.div_ceil(DATAGRAM), |(_, count)| *count)
    }

    fn frames_arrive(&self) -> bool {
        let sent = reading::frames_sent(&self.client.stdout);
        let received = reading::frames_received(&self.server);
        match (sent, received) {
            (Some([sent, ..]), Some([received, lost])) => {
                (received + lost).abs_diff(sent) <= 1 && received > 0
            }
            _ => false,
        }
    }
}

fn are_plausible(rows: &[Row]) -> bool {
    let delays = || rows.iter().filter_map(|row| row.delays);
    delays().next().is_some()
        && delays().all(|delays| {
            // A row whose digits were rounded can be off in the last one.
            delays.are_consistent() && delays.least >= -1.0 && delays.most < PLAUSIBLE_MS
        })
}

fn frames(output: &str, least: u64) -> bool {
    let frames = reading::frames_sent(output);
    frames.is_some_and(|[sent, missed, _]| sent + missed >= least && missed <= sent / 2)
}

fn histogram(output: &str, name: &str) -> bool {
    let is = |histogram: &Histogram| histogram.name == name && histogram.total;
    let histograms = parse_histograms(output);
    histograms.iter().any(|histogram| {
        let sum: u64 = histogram.bins.iter().map(|(_, count)| count).sum();
        is(histogram) && histogram.count > 0 && sum <= histogram.count
    })
}
