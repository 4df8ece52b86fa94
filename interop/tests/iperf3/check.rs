//! What must hold after a mode, in addition to what holds after every test.

use serde_json::Value;

use crate::case::Ran;
use crate::document::{Document, number};
use crate::place::file;

/// One thing that must hold.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Check {
    /// Each stream was sent at this rate of bits per second, as well as a busy machine lets it.
    Rate(f64),
    /// So many bytes were sent in all, at least; no more than a block for each stream above it when
    /// tapeline sends.
    Bytes(f64),
    /// Both documents have this number at this path; a peer may lack the path.
    Both(&'static str, f64),
    /// The client's document has this word at this path.
    ClientSays(&'static str, &'static str),
    /// The server's document has it.
    ServerSays(&'static str, &'static str),
    /// The client's document has something at this path.
    ClientHas(&'static str),
    /// The client's text has this.
    ClientShows(&'static str),
    /// The server's text has this.
    ServerShows(&'static str),
    /// The client's text ends as that of a test without faults does.
    ClientIsDone,
    /// Each line of the client's text begins with a second of this century.
    ClientStamps,
    /// All the file's bytes were sent, and the receiver wrote them.
    WholeFile,
    /// The client wrote as many bytes as it received.
    ClientWrote,
    /// A warning on standard error is right.
    Warns,
}

impl Check {
    /// Says what is wrong.
    pub(crate) fn apply(self, ran: &Ran) -> Result<(), String> {
        let holds = match self {
            Self::Rate(rate) => return rates(ran, rate),
            Self::Bytes(bytes) => return amount(ran, bytes),
            Self::Both(path, value) => [&ran.client, &ran.server].iter().all(|end| {
                let document = end.document.as_ref();
                let found = document.and_then(|document| document.number(path));
                // Older peers do not write every key.
                found == Some(value) || (found.is_none() && !end.program.is_tapeline())
            }),
            Self::ClientSays(path, word) => says(ran.client.document.as_ref(), path, word),
            Self::ServerSays(path, word) => says(ran.server.document.as_ref(), path, word),
            Self::ClientHas(path) => {
                let document = ran.client.document.as_ref();
                document.is_some_and(|document| document.at(path).is_some())
            }
            Self::ClientShows(text) => ran.client.said.contains(text),
            Self::ServerShows(text) => ran.server.said.contains(text),
            Self::ClientIsDone => {
                let said = &ran.client.said;
                let lines =
                    |ending: &str| said.lines().any(|line| line.trim_end().ends_with(ending));
                said.contains("iperf Done.") && lines("sender") && lines("receiver")
            }
            Self::ClientStamps => ran.client.said.lines().all(|line| {
                let digits = line.find(|c: char| !c.is_ascii_digit());
                let second = line[..digits.unwrap_or(line.len())].parse::<u64>();
                second.is_ok_and(|second| second > 1_500_000_000)
            }),
            Self::WholeFile => return whole_file(ran),
            Self::ClientWrote => return client_wrote(ran),
            Self::Warns => true,
        };
        if holds {
            Ok(())
        } else {
            Err(format!("{self:?} does not hold"))
        }
    }
}

fn says(document: Option<&Document>, path: &str, word: &str) -> bool {
    let found = document.and_then(|document| document.at(path));
    found.and_then(Value::as_str) == Some(word)
}

/// The sums of all that was sent, from the client's document.
fn sent(ran: &Ran) -> Vec<&Value> {
    let sums = ["sum_sent", "sum_sent_bidir_reverse"];
    let document = ran.client.document.iter();
    let sums = document.flat_map(|document| {
        // Clients before 3.12 have one sum for UDP.
        let found = sums.map(|sum| document.at(&format!("end.{sum}")));
        let found: Vec<&Value> = found.into_iter().flatten().collect();
        if found.is_empty() {
            document.at("end.sum").into_iter().collect()
        } else {
            found
        }
    });
    sums.collect()
}

fn streams(ran: &Ran) -> f64 {
    let document = ran.client.document.as_ref();
    let streams = document.and_then(|document| document.number("start.test_start.num_streams"));
    streams.unwrap_or_default()
}

fn block(ran: &Ran) -> f64 {
    let document = ran.client.document.as_ref();
    let block = document.and_then(|document| document.number("start.test_start.blksize"));
    block.unwrap_or_default()
}

/// A sender may fall behind, but is never ahead by more than a few blocks.
fn rates(ran: &Ran, rate: f64) -> Result<(), String> {
    let streams = streams(ran);
    // A reference may report its peer's bytes over its own time.
    let documents = ran.client.document.iter().chain(&ran.server.document);
    let sums = documents.flat_map(Document::sums);
    let seconds = sums.map(|sum| number(sum, "seconds")).fold(0.0, f64::max);
    for sum in sent(ran) {
        let bytes = number(sum, "bytes");
        let due = rate * streams * seconds / 8.0;
        // A peer that segments sends what is due of its burst, and a whole group more.
        let group = if ran.mode.client.contains("--gsro") {
            64.0
        } else {
            0.0
        };
        let ahead = (10.0 + group) * block(ran) * streams;
        // What was late in an omitted start is sent in the time that counts.
        let late = if ran.mode.client.contains("-O") {
            due
        } else {
            0.0
        };
        if bytes > due * 1.05 + ahead + late || bytes < due * 0.2 {
            return Err(format!("{bytes} bytes in {seconds} s instead of {due}"));
        }
    }
    Ok(())
}

fn amount(ran: &Ran, bytes: f64) -> Result<(), String> {
    for (at, sum) in sent(ran).into_iter().enumerate() {
        let sent = number(sum, "bytes");
        let server_sends = at == 1 || ran.mode.is_reverse();
        let sender = if server_sends {
            &ran.server
        } else {
            &ran.client
        };
        let most = bytes + streams(ran) * block(ran);
        // A peer's result is taken while its sender counts: a packet before its bytes.
        let uncounted = if sender.program.is_tapeline() {
            0.0
        } else {
            streams(ran) * block(ran)
        };
        if sent < bytes - uncounted
            || (!server_sends && sender.program.is_tapeline() && sent >= most)
        {
            return Err(format!("{sent} bytes sent instead of {bytes}"));
        }
    }
    Ok(())
}

fn whole_file(ran: &Ran) -> Result<(), String> {
    let content = std::fs::read(file()).map_err(|error| error.to_string())?;
    let bytes = sent(ran)
        .iter()
        .map(|sum| number(sum, "bytes"))
        .sum::<f64>();
    if bytes != content.len() as f64 {
        return Err(format!("{bytes} bytes of {}", content.len()));
    }
    let written = std::fs::read(ran.place.written()).map_err(|error| error.to_string())?;
    // Peers write whole blocks, and not all that is under way at the end.
    let whole = written.len() == content.len() || !ran.server.program.is_tapeline();
    if whole && content.starts_with(&written) {
        Ok(())
    } else {
        Err(format!("{} bytes written", written.len()))
    }
}

fn client_wrote(ran: &Ran) -> Result<(), String> {
    let wrote = ran.place.written().metadata().map(|file| file.len() as f64);
    let wrote = wrote.map_err(|error| error.to_string())?;
    let document = ran.client.document.as_ref();
    let received = document.and_then(|document| document.number("end.sum_received.bytes"));
    let received = received.ok_or("no sum")?;
    // A peer writes a part of a block that it does not count, or the other way around.
    let tolerance = if ran.client.program.is_tapeline() {
        0.0
    } else {
        block(ran)
    };
    if (wrote - received).abs() <= tolerance {
        Ok(())
    } else {
        Err(format!("{wrote} bytes written of {received}"))
    }
}
