//! A report that was kept, as a document of iperf3's `-J`. What the report does not know is left out.

use std::net::SocketAddr;

use jiff::Timestamp;
use serde_json::Value;
use tapeline_base::WallTime;

use super::amounts::percent;
use super::json::{Json, Object};
use crate::calendar::Calendar;

/// The document, over many lines.
///
/// # Errors
/// iperf3 has no such test; in words.
pub fn iperf3_document(report: &Value) -> Result<String, String> {
    let test = &report["test"];
    if let Some(workload @ ("request_response" | "connect_only")) = test["workload"].as_str() {
        let what = workload.replace('_', " ");
        return Err(format!("iperf3 has no test of the kind {what}"));
    }
    let stored = Stored {
        report,
        server: test["role"] == "server",
        udp: test["transport"] == "udp",
        bidirectional: test["direction"] == "bidirectional",
    };
    let mut document = Object::new()
        .with("start", stored.start())
        .with("intervals", stored.intervals())
        .with("end", stored.end());
    if let Some(error) = stored.error() {
        document.set("error", error);
    }
    Ok(Json::from(document).indented() + "\n")
}

struct Stored<'a> {
    report: &'a Value,
    server: bool,
    udp: bool,
    bidirectional: bool,
}

impl Stored<'_> {
    fn start(&self) -> Object {
        let (report, test) = (self.report, &self.report["test"]);
        let mut start = Object::new()
            .with("connected", self.connected())
            .with("version", self.version());
        let started = test["started"].as_str();
        let started = started.and_then(|text| text.parse::<Timestamp>().ok());
        let millis = started.map(Timestamp::as_millisecond);
        if let Some(millis) = millis.filter(|millis| *millis >= 0) {
            let at = WallTime::from_nanos(millis.saturating_mul(1_000_000));
            let timestamp = Object::new()
                .with("time", Calendar::new(true).internet_date(at))
                .with("timesecs", millis / 1000)
                .with("timemillisecs", millis);
            start.set("timestamp", timestamp);
        }
        let peer = &report["peer"];
        let mut other = Object::new();
        if self.server {
            enter(&mut other, "host", &peer["address"]);
            start.set("accepted_connection", other);
        } else if test["role"] == "client" {
            enter(&mut other, "host", &peer["host"]);
            start.set("connecting_to", other);
        }
        enter(
            &mut start,
            "target_bitrate",
            &test["requested_bits_per_second"],
        );
        enter(&mut start, "sndbuf_actual", &test["socket_buffer_bytes"]);
        let mut asked = Object::new();
        if let Some(transport) = test["transport"].as_str() {
            asked.set("protocol", transport.to_uppercase());
        }
        for (key, name) in [
            ("num_streams", "streams"),
            ("blksize", "length_bytes"),
            ("omit", "omit_seconds"),
            ("duration", "requested_seconds"),
            ("bytes", "requested_bytes"),
            ("tos", "tos"),
            ("target_bitrate", "requested_bits_per_second"),
            ("interval", "interval_seconds"),
        ] {
            enter(&mut asked, key, &test[name]);
        }
        if let Some(direction) = test["direction"].as_str() {
            asked.set("reverse", u32::from(direction == "reverse"));
            asked.set("bidir", u32::from(direction == "bidirectional"));
        }
        start.set("test_start", asked);
        start
    }

    /// The program that told it.
    fn version(&self) -> String {
        let version = self.report["version"].as_str().unwrap_or_default();
        if version.starts_with(|letter: char| letter.is_ascii_digit()) {
            format!("tapeline {version}")
        } else {
            version.to_owned()
        }
    }

    fn connected(&self) -> Vec<Json> {
        let ends = self.streams().filter_map(|stream| {
            let end = |name: &str| stream[name].as_str()?.parse::<SocketAddr>().ok();
            let (local, remote) = (end("local")?, end("remote")?);
            let object = Object::new()
                .with("socket", self.socket(&stream["id"], &stream["direction"]))
                .with("local_host", local.ip().to_canonical().to_string())
                .with("local_port", local.port())
                .with("remote_host", remote.ip().to_canonical().to_string())
                .with("remote_port", remote.port());
            Some(object.into())
        });
        ends.collect()
    }

    fn streams(&self) -> impl Iterator<Item = &Value> {
        self.report["streams"].as_array().into_iter().flatten()
    }

    /// The number of a stream: over iperf 2's protocol both directions may have the same one.
    fn socket(&self, id: &Value, direction: &Value) -> u64 {
        let own = id.as_u64().unwrap_or(0);
        let id_of = |stream: &Value| stream["id"].as_u64().unwrap_or(0);
        let both = |stream: &&Value| id_of(stream) == own && stream["direction"] == "forward";
        if direction == "reverse" && self.streams().any(|stream| both(&stream)) {
            return own + self.streams().map(id_of).max().unwrap_or(0);
        }
        own
    }

    /// This end sends what goes this way.
    fn sends(&self, direction: &Value) -> bool {
        (direction == "forward") != self.server
    }

    /// Rows that stand together: each stream once.
    fn intervals(&self) -> Vec<Json> {
        let rows = self.report["intervals"].as_array();
        let rows = rows.map_or(&[][..], Vec::as_slice);
        let mut together: Vec<Vec<&Value>> = Vec::new();
        for row in rows {
            let joins = together.last().is_some_and(|group: &Vec<&Value>| {
                group[0]["omitted"] == row["omitted"]
                    && group.iter().all(|other| {
                        (&other["stream"], &other["direction"])
                            != (&row["stream"], &row["direction"])
                    })
            });
            match together.last_mut() {
                Some(group) if joins => group.push(row),
                _ => together.push(vec![row]),
            }
        }
        together.iter().map(|rows| self.interval(rows)).collect()
    }

    fn interval(&self, rows: &[&Value]) -> Json {
        let streams = rows.iter().map(|row| {
            let socket = self.socket(&row["stream"], &row["direction"]);
            let object = Object::new().with("socket", socket);
            self.figures(object, row).into()
        });
        let mut object = Object::new().with("streams", streams.collect::<Vec<Json>>());
        for direction in ["forward", "reverse"] {
            let rows: Vec<&Value> = rows
                .iter()
                .copied()
                .filter(|row| row["direction"] == direction)
                .collect();
            if let Some(sum) = sum_of(&rows) {
                let sum = self.figures(Object::new(), &sum);
                object.set(&self.key("sum", direction), sum);
            }
        }
        object.into()
    }

    /// What an interval has of a stream, or of all.
    fn figures(&self, mut object: Object, row: &Value) -> Object {
        for (key, name) in [
            ("start", "start_seconds"),
            ("end", "end_seconds"),
            ("seconds", "seconds"),
            ("bytes", "bytes"),
            ("bits_per_second", "bits_per_second"),
        ] {
            enter(&mut object, key, &row[name]);
        }
        let sends = self.sends(&row["direction"]);
        if self.udp && sends {
            enter(&mut object, "packets", &row["packets"]);
        } else if self.udp {
            enter_loss(&mut object, row);
        } else {
            enter(&mut object, "retransmits", &row["retransmits"]);
            enter(&mut object, "snd_cwnd", &row["cwnd_bytes"]);
            enter_micros(&mut object, "rtt", &row["rtt_ms"]);
            enter_micros(&mut object, "rttvar", &row["rtt_variance_ms"]);
        }
        object
            .with("omitted", row["omitted"] == true)
            .with("sender", sends)
    }

    /// A name of a sum: that of the second direction has one of its own.
    fn key(&self, name: &str, direction: &str) -> String {
        if self.bidirectional && direction == "reverse" {
            format!("{name}_bidir_reverse")
        } else {
            name.to_owned()
        }
    }

    fn end(&self) -> Object {
        let mut object = Object::new();
        let streams: Vec<Json> = self.streams().map(|one| self.stream(one)).collect();
        if streams.is_empty() {
            return object;
        }
        object.set("streams", streams);
        let directions = self.report["sum"]["directions"].as_array();
        let directions = directions.map_or(&[][..], Vec::as_slice);
        for one in directions {
            let direction = one["direction"].as_str().unwrap_or_default();
            let sends = self.sends(&one["direction"]);
            let mut sent = amount(Object::new(), &one["sender"]);
            let mut received = amount(Object::new(), &one["receiver"]);
            if self.udp {
                let mut both = sent.clone();
                enter_loss_of_sent(&mut both, one);
                object.set(&self.key("sum", direction), both.with("sender", sends));
                enter(&mut sent, "packets", &one["sender"]["packets"]);
                enter_loss(&mut received, &one["receiver"]);
                object.set(&self.key("sum_sent", direction), sent.with("sender", true));
                // A sum without bytes would say that nothing arrived.
                if !one["receiver"]["bytes"].is_null() {
                    let received = received.with("sender", false);
                    object.set(&self.key("sum_received", direction), received);
                }
            } else {
                enter(&mut sent, "retransmits", &one["sender"]["retransmits"]);
                object.set(&self.key("sum_sent", direction), sent.with("sender", sends));
                let received = received.with("sender", sends);
                object.set(&self.key("sum_received", direction), received);
            }
        }
        if let [one] = directions {
            let (own, other) = match self.sends(&one["direction"]) {
                true => (&one["sender"], &one["receiver"]),
                false => (&one["receiver"], &one["sender"]),
            };
            let mut cpu = Object::new();
            enter(&mut cpu, "host_total", &own["cpu_percent"]);
            enter(&mut cpu, "remote_total", &other["cpu_percent"]);
            object.set("cpu_utilization_percent", cpu);
        }
        if !self.udp {
            let reverse = self.report["test"]["direction"] == "reverse";
            let sends = self.bidirectional || reverse == self.server;
            let key = if sends { "sender" } else { "receiver" };
            let name = &self.report["test"]["congestion_control"];
            enter(&mut object, &format!("{key}_tcp_congestion"), name);
        }
        object
    }

    fn stream(&self, stream: &Value) -> Json {
        let socket = self.socket(&stream["id"], &stream["direction"]);
        let sends = self.sends(&stream["direction"]);
        let object = || Object::new().with("socket", socket);
        let mut sender = amount(object(), &stream["sender"]);
        if self.udp {
            enter_loss_of_sent(&mut sender, stream);
            let count = &stream["receiver"]["out_of_order"];
            enter(&mut sender, "out_of_order", count);
            return Object::new()
                .with("udp", sender.with("sender", sends))
                .into();
        }
        enter(&mut sender, "retransmits", &stream["sender"]["retransmits"]);
        for (key, name) in [
            ("max_rtt", "max_ms"),
            ("min_rtt", "min_ms"),
            ("mean_rtt", "mean_ms"),
        ] {
            enter_micros(&mut sender, key, &stream["rtt"][name]);
        }
        let receiver = amount(object(), &stream["receiver"]);
        Object::new()
            .with("sender", sender.with("sender", sends))
            .with("receiver", receiver.with("sender", sends))
            .into()
    }

    fn error(&self) -> Option<String> {
        let test = &self.report["test"];
        match self.report["error"]["text"].as_str() {
            Some(text) => Some(text.to_owned()),
            None if test["interrupted"] == true => {
                let end = if self.server { "server" } else { "client" };
                Some(format!("interrupt - the {end} has terminated"))
            }
            None => (test["complete"] != true).then(|| "the test is not complete".to_owned()),
        }
    }
}

/// Enters what is known.
fn enter(object: &mut Object, key: &str, value: &Value) {
    let known = match value {
        Value::Number(number) => match (number.as_u64(), number.as_f64()) {
            (Some(whole), _) => Json::from(whole),
            (None, Some(number)) => Json::from(number),
            (None, None) => return,
        },
        Value::String(text) => Json::from(text.as_str()),
        _ => return,
    };
    object.set(key, known);
}

/// Enters milliseconds as whole microseconds.
fn enter_micros(object: &mut Object, key: &str, millis: &Value) {
    if let Some(millis) = millis.as_f64() {
        object.set(key, (millis * 1e3).round() as u64);
    }
}

/// Bytes over a time from the begin on.
fn amount(mut object: Object, end: &Value) -> Object {
    if let Some(seconds) = end["seconds"].as_f64() {
        object = object
            .with("start", 0.0)
            .with("end", seconds)
            .with("seconds", seconds);
    }
    enter(&mut object, "bytes", &end["bytes"]);
    enter(&mut object, "bits_per_second", &end["bits_per_second"]);
    object
}

/// What a receiver says of datagrams; `packets` are those that it knows to be sent.
fn enter_loss(object: &mut Object, receiver: &Value) {
    let count = |name: &str| receiver[name].as_u64();
    enter(object, "jitter_ms", &receiver["jitter_ms"]);
    enter(object, "lost_packets", &receiver["lost"]);
    if let Some((arrived, lost)) = count("packets").zip(count("lost")) {
        let all = arrived.saturating_add(lost);
        object.set("packets", all);
        object.set("lost_percent", percent(lost, all));
    }
    enter(object, "lost_percent", &receiver["lost_percent"]);
}

/// The same beside the sender's bytes, with the sender's count of datagrams where it is known.
fn enter_loss_of_sent(object: &mut Object, ends: &Value) {
    enter_loss(object, &ends["receiver"]);
    enter(object, "packets", &ends["sender"]["packets"]);
}

/// The rows of one direction as one; none of no row.
fn sum_of(rows: &[&Value]) -> Option<Value> {
    let (first, others) = rows.split_first()?;
    if others.is_empty() {
        return Some((*first).clone());
    }
    let total = |name: &str| {
        let counts = rows.iter().map(|row| row[name].as_u64());
        counts.sum::<Option<u64>>()
    };
    let jitter: Option<f64> = rows.iter().map(|row| row["jitter_ms"].as_f64()).sum();
    let bytes = total("bytes");
    let seconds = first["seconds"].as_f64().filter(|seconds| *seconds > 0.0);
    Some(serde_json::json!({
        "direction": first["direction"],
        "omitted": first["omitted"],
        "start_seconds": first["start_seconds"],
        "end_seconds": first["end_seconds"],
        "seconds": first["seconds"],
        "bytes": bytes,
        "bits_per_second": bytes.zip(seconds).map(|(bytes, seconds)| bytes as f64 * 8.0 / seconds),
        "packets": total("packets"),
        "lost": total("lost"),
        "retransmits": total("retransmits"),
        "jitter_ms": jitter.map(|jitter| jitter / rows.len() as f64),
    }))
}
