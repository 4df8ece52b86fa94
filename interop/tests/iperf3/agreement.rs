//! Whether both ends report the same test.

use interop::Program;
use serde_json::Value;

use crate::case::{End, Ran};
use crate::check::Check;
use crate::document::{Document, number};
use crate::mode::Form;

/// Bytes that may be under way when a test over TCP ends by its time: buffers of both ends.
const UNDER_WAY: f64 = 8e6;

/// All that is wrong.
pub(crate) fn failures(ran: &Ran) -> Vec<String> {
    let mut failures = Vec::new();
    for (side, end) in [("client", &ran.client), ("server", &ran.server)] {
        failures.extend(complaint(side, end, ran));
    }
    let (Some(client), Some(server)) = (&ran.client.document, &ran.server.document) else {
        return failures;
    };
    let start = |key: &str| {
        client
            .number(&format!("start.test_start.{key}"))
            .unwrap_or_default()
    };
    for key in [
        "protocol",
        "num_streams",
        "blksize",
        "omit",
        "duration",
        "bytes",
        "blocks",
        "tos",
    ] {
        let [ours, theirs] = [client, server].map(|end| end.at(&format!("start.test_start.{key}")));
        if ours.is_none() || ours != theirs {
            failures.push(format!(
                "{key} is {ours:?} at the client, {theirs:?} at the server"
            ));
        }
    }
    let directions = if ran.mode.is_bidirectional() {
        2.0
    } else {
        1.0
    };
    for (side, end) in [("client", client), ("server", server)] {
        let streams = end.items("end.streams").len();
        if streams as f64 != start("num_streams") * directions {
            failures.push(format!("{streams} streams at the {side}"));
        }
        let omitted = |interval: &Value| interval["sum"]["omitted"] == true;
        let intervals = end.items("intervals");
        if intervals.iter().any(omitted) != (start("omit") > 0.0) {
            failures.push(format!("the {side} omits another start"));
        }
        let missed = side == "server" && may_miss_all(ran);
        if intervals.iter().all(omitted) && !missed {
            failures.push(format!("no intervals at the {side}"));
        }
    }
    for flow in Flow::all(ran) {
        flow.compare(ran, client, server, &mut failures);
    }
    failures
}

/// What an end should not say.
fn complaint(side: &str, end: &End, ran: &Ran) -> Option<String> {
    let form = if side == "client" {
        ran.mode.client_form
    } else {
        ran.mode.server_form
    };
    let Some(document) = &end.document else {
        let missing = form != Form::Text;
        return missing.then(|| format!("no document of the {side}"));
    };
    if let Some(error) = document.at("error") {
        return Some(format!("the {side} says {error}"));
    }
    let warns = end.program.is_tapeline() && !end.complained.is_empty() && !ran.has(Check::Warns);
    warns.then(|| format!("the {side} complains"))
}

/// One direction of a test.
#[derive(Clone, Copy)]
struct Flow {
    to_client: bool,
    /// Ending of the keys of its sums.
    suffix: &'static str,
}

impl Flow {
    fn all(ran: &Ran) -> Vec<Self> {
        let mode = ran.mode;
        let flow = |to_client, suffix| Self { to_client, suffix };
        if mode.is_bidirectional() && ran.client.program == Program::Iperf3V9 {
            // It has no sums of the second direction.
            vec![flow(false, "")]
        } else if mode.is_bidirectional() {
            vec![flow(false, ""), flow(true, "_bidir_reverse")]
        } else {
            vec![flow(mode.is_reverse(), "")]
        }
    }

    fn compare(self, ran: &Ran, client: &Document, server: &Document, failures: &mut Vec<String>) {
        let sum = |document: &Document, end: &str, key: &str| {
            document.number(&format!("end.sum_{end}{}.{key}", self.suffix))
        };
        let (own, other) = if self.to_client {
            ("received", "sent")
        } else {
            ("sent", "received")
        };
        let [Some(sent), Some(received)] =
            ["sent", "received"].map(|end| sum(client, end, "bytes"))
        else {
            // Clients before 3.12 have one sum for UDP.
            return self.compare_single(ran, client, failures);
        };
        if sent == 0.0 || (received == 0.0 && !may_miss_all(ran)) {
            failures.push(format!("{own}{}: no data", self.suffix));
        }
        // What the server counted reaches the client as it is.
        let at_server = sum(server, other, "bytes").filter(|_| !lacks_second_direction(ran));
        let at_client = sum(client, other, "bytes");
        // A peer's threads may go on by a block between its results and its document.
        let is_exact = ran.server.program.is_tapeline() || !self.to_client;
        let tolerance = if is_exact { 0.0 } else { block(client) };
        let apart = at_server.zip(at_client).map(|(a, b)| (a - b).abs());
        if apart.is_some_and(|apart| apart > tolerance) {
            failures.push(format!(
                "{other}{}: {at_server:?} bytes at the server, {at_client:?} of it at the client",
                self.suffix
            ));
        }
        let udp = ran.mode.is_udp();
        let sender = if self.to_client {
            &ran.server
        } else {
            &ran.client
        };
        if !udp && sum(client, "sent", "retransmits").is_none() {
            failures.push("no retransmits of the sender".to_owned());
        }
        let omits = client.number("start.test_start.omit") != Some(0.0);
        // A server of iperf3 may send on until it is sent the end, whatever amount was agreed.
        let goes_on = self.to_client && !sender.program.is_tapeline() && ran.mode.has_amount();
        let behind = match (ends_exactly(ran), goes_on) {
            (true, _) => 0.0,
            (false, false) => UNDER_WAY,
            (false, true) => f64::INFINITY,
        };
        let ahead = match (omits, sender.program.is_tapeline()) {
            (true, _) => UNDER_WAY,
            (false, true) => 0.0,
            // A peer does not count a block that it has sent in part.
            (false, false) => block(client),
        };
        if received > sent + ahead || sent > received + behind {
            failures.push(format!(
                "{}: {sent} bytes sent by {}, {received} received",
                self.suffix, sender.program
            ));
        }
        if udp {
            self.compare_datagrams(ran, client, server, failures);
        }
    }

    fn compare_datagrams(
        self,
        ran: &Ran,
        client: &Document,
        server: &Document,
        failures: &mut Vec<String>,
    ) {
        for (side, document) in [("client", client), ("server", server)] {
            if side == "server" && lacks_second_direction(ran) {
                continue;
            }
            let name = format!("end.sum{}", self.suffix);
            let Some(sum) = document.at(&name) else {
                failures.push(format!("no {name} at the {side}"));
                continue;
            };
            let lost = number(sum, "lost_packets");
            if lost != 0.0 && !(side == "client" && lost == self.unread(ran, client, server)) {
                failures.push(format!("{name} of the {side} has losses: {sum}"));
            }
            if number(sum, "packets") <= 0.0 {
                failures.push(format!("{name} of the {side} has no datagrams: {sum}"));
            }
        }
    }

    /// Datagrams that a reference server had not read when it was sent the end: it does not count
    /// them, our client does.
    fn unread(self, ran: &Ran, client: &Document, server: &Document) -> f64 {
        let packets = |document: &Document| {
            let path = format!("end.sum{}.packets", self.suffix);
            document.number(&path).unwrap_or_default()
        };
        if lacks_second_direction(ran) && !self.to_client {
            // It does not report what it received, but its results did.
            let number = |path| client.number(path).unwrap_or_default();
            let received = number("end.sum_received.bytes") / number("start.test_start.blksize");
            return packets(client) - received;
        }
        if self.to_client || ran.server.program.is_tapeline() {
            return 0.0;
        }
        packets(client) - packets(server)
    }

    fn compare_single(self, ran: &Ran, client: &Document, failures: &mut Vec<String>) {
        let sum = client.at(&format!("end.sum{}", self.suffix));
        match sum {
            Some(sum) if ran.mode.is_udp() => {
                let lost = number(sum, "lost_packets");
                if lost != 0.0 || number(sum, "packets") <= 0.0 || number(sum, "bytes") <= 0.0 {
                    failures.push(format!("the client's sum is {sum}"));
                }
            }
            _ => failures.push("the client has no sums".to_owned()),
        }
    }
}

/// Whether all that was sent must arrive: our client ends an amount exactly, and our server waits
/// for it. A test of a time leaves what is under way at its end uncounted.
fn ends_exactly(ran: &Ran) -> bool {
    let client = ran.client.program.is_tapeline();
    let forward = !ran.mode.is_reverse() && !ran.mode.is_bidirectional();
    client && ran.server.program.is_tapeline() && forward && ran.mode.has_amount()
}

/// A server of iperf3 reads nothing behind the message of the end: on a busy machine it may not
/// have begun with a small amount.
fn may_miss_all(ran: &Ran) -> bool {
    !ran.server.program.is_tapeline() && ran.mode.has_amount()
}

/// 3.9 has no sums of the second direction, and may enter its own numbers where the peer's
/// belong.
fn lacks_second_direction(ran: &Ran) -> bool {
    let ends = [ran.client.program, ran.server.program];
    ends.contains(&Program::Iperf3V9) && ran.mode.is_bidirectional()
}

/// Bytes of a block of all streams.
fn block(client: &Document) -> f64 {
    let number = |key| client.number(&format!("start.test_start.{key}"));
    number("blksize").unwrap_or_default() * number("num_streams").unwrap_or_default()
}
