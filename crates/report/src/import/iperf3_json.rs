//! A test as iperf3 3.0 to 3.22 tells it in JSON.
//!
//! What the other end did not report stands there as 0 bytes; it is unknown here. Rates and times
//! are those that are told. A UDP entry joins both ends: bytes, time and `packets` are the sender's,
//! losses and jitter the receiver's, whose bytes are only in the sums.

use std::collections::BTreeMap;

use serde_json::Value;
use tapeline_base::WallTime;

use super::intervals::{Detail, ImportedIntervals, MAX_INTERVALS, Sample};
use super::json::{count, positive, text};
use super::kind::Kind;
use super::report::{self, MAX_STREAMS};
use super::run::{ImportedRun, converted};
use crate::document::figures::{rounded_seconds, time};
use crate::document::{
    CountedBy, DelaySummary, End, Failure, ProcessUse, Protocol, Report, SenderDetails, Stream,
    Sum, TestRole, TestShape, UdpReceiver, Workload,
};
use crate::model::{FlowDirection, WarningId};

/// A test of which some parts are known.
#[derive(Debug)]
pub(crate) struct Iperf3Test {
    report: Report,
    cookie: Option<String>,
    /// Own and remote end of each connection.
    connected: BTreeMap<u32, (String, String)>,
    reverse: bool,
    samples: Vec<Sample>,
    /// By the number of the stream.
    seen: BTreeMap<u32, Seen>,
    ended: bool,
}

/// A stream in its intervals.
#[derive(Clone, Copy, Debug)]
struct Seen {
    direction: FlowDirection,
    /// Round-trip times that were told.
    rtts: u64,
    rtt_ms: Option<f64>,
    cwnd_bytes: Option<u64>,
}

impl Default for Iperf3Test {
    fn default() -> Self {
        let mut report = report::unknown(Kind::Iperf3Json);
        report.test.protocol = Some(Protocol::Iperf3);
        report.test.workload = Some(Workload::Stream);
        Self {
            report,
            cookie: None,
            connected: BTreeMap::new(),
            reverse: false,
            samples: Vec::new(),
            seen: BTreeMap::new(),
            ended: false,
        }
    }
}

impl Iperf3Test {
    /// What both ends call the test.
    pub(crate) fn cookie(&self) -> Option<&str> {
        self.cookie.as_deref()
    }

    /// Takes `start`.
    pub(crate) fn start(&mut self, start: &Value) {
        let asked = &start["test_start"];
        let wanted = |value: &Value| count(value).filter(|number| *number > 0);
        self.cookie = text(&start["cookie"]);
        self.reverse = count(&asked["reverse"]) == Some(1);
        let report = &mut self.report;
        report.version = text(&start["version"]);
        let (client, server) = (&start["connecting_to"], &start["accepted_connection"]);
        let test = &mut report.test;
        test.role = match (client.is_object(), server.is_object()) {
            (true, _) => Some(TestRole::Client),
            (_, true) => Some(TestRole::Server),
            _ => None,
        };
        report.peer.host = text(&client["host"]);
        report.peer.address = text(&server["host"]);
        test.transport = match asked["protocol"].as_str() {
            Some("TCP") => Some("tcp"),
            Some("UDP") => Some("udp"),
            Some("SCTP") => Some("sctp"),
            _ => None,
        };
        if asked.is_object() {
            test.direction = Some(match (count(&asked["bidir"]), self.reverse) {
                (Some(1), _) => TestShape::Bidirectional,
                (_, true) => TestShape::Reverse,
                (_, false) => TestShape::Forward,
            });
        }
        let stamp = &start["timestamp"];
        let millis = count(&stamp["timemillisecs"])
            .or_else(|| count(&stamp["timesecs"])?.checked_mul(1000))
            .and_then(|millis| i64::try_from(millis).ok()?.checked_mul(1_000_000));
        test.started = millis.map(WallTime::from_nanos).map(time);
        test.requested_seconds = positive(&asked["duration"]).filter(|seconds| *seconds > 0.0);
        let length = wanted(&asked["blksize"]);
        let blocks = wanted(&asked["blocks"]).zip(length);
        test.requested_bytes = wanted(&asked["bytes"])
            .or_else(|| blocks.map(|(blocks, length)| blocks.saturating_mul(length)));
        test.omit_seconds = positive(&asked["omit"]);
        test.streams = wanted(&asked["num_streams"]).and_then(|streams| streams.try_into().ok());
        test.length_bytes = length;
        test.requested_bits_per_second =
            wanted(&asked["target_bitrate"]).or_else(|| wanted(&start["target_bitrate"]));
        test.interval_seconds = positive(&asked["interval"]).filter(|seconds| *seconds > 0.0);
        test.socket_buffer_bytes = wanted(&start["sndbuf_actual"]);
        test.tos = count(&asked["tos"]).and_then(|tos| tos.try_into().ok());
        for one in start["connected"].as_array().into_iter().flatten() {
            let end = |host: &str, port: &str| {
                let (host, port) = (one[host].as_str()?, count(&one[port])?);
                let colons = host.contains(':');
                Some(if colons {
                    format!("[{host}]:{port}")
                } else {
                    format!("{host}:{port}")
                })
            };
            let ends = end("local_host", "local_port").zip(end("remote_host", "remote_port"));
            if let Some((id, ends)) = socket(one).zip(ends) {
                self.connected.insert(id, ends);
            }
            let address = &mut self.report.peer.address;
            *address = address.take().or_else(|| text(&one["remote_host"]));
        }
    }

    /// Takes an interval of all streams.
    pub(crate) fn interval(&mut self, interval: &Value) -> Result<(), String> {
        for one in interval["streams"].as_array().into_iter().flatten() {
            let Some(sample) = self.sample(one) else {
                continue;
            };
            if self.samples.len() == MAX_INTERVALS {
                return Err(format!("more than {MAX_INTERVALS} intervals"));
            }
            self.note(sample.direction);
            let seen = self.seen.entry(sample.stream).or_insert(Seen {
                direction: sample.direction,
                rtts: 0,
                rtt_ms: None,
                cwnd_bytes: None,
            });
            if let Detail::TcpSend {
                rtt_ms: Some(rtt),
                cwnd_bytes,
                ..
            } = sample.detail
            {
                seen.rtts += 1;
                seen.rtt_ms = Some(rtt);
                seen.cwnd_bytes = cwnd_bytes;
            }
            self.samples.push(sample);
            if self.seen.len() > MAX_STREAMS {
                return Err(format!("more than {MAX_STREAMS} streams"));
            }
        }
        Ok(())
    }

    /// Before 3.13 the order of the test does not say that data goes both ways.
    fn note(&mut self, direction: FlowDirection) {
        let other = self.seen.values().any(|seen| seen.direction != direction);
        if other {
            self.report.test.direction = Some(TestShape::Bidirectional);
        }
    }

    fn sample(&self, one: &Value) -> Option<Sample> {
        let stream = socket(one)?;
        let (direction, sends) = self.way(one, stream);
        let (start, end) = (positive(&one["start"])?, positive(&one["end"])?);
        let micros = |value: &Value| positive(value).map(|micros| micros / 1e3);
        let detail = match (self.is_udp(), sends) {
            (true, true) => Detail::UdpSend {
                packets: count(&one["packets"]),
            },
            (true, false) => {
                let lost = count(&one["lost_packets"]);
                let all = count(&one["packets"]);
                Detail::UdpReceive {
                    packets: all.zip(lost).and_then(|(all, lost)| all.checked_sub(lost)),
                    lost,
                    jitter_ms: positive(&one["jitter_ms"]),
                }
            }
            (false, true) => Detail::TcpSend {
                retransmits: count(&one["retransmits"]),
                cwnd_bytes: count(&one["snd_cwnd"]),
                in_flight_bytes: None,
                rtt_ms: micros(&one["rtt"]),
                rtt_variance_ms: micros(&one["rttvar"]),
            },
            (false, false) => Detail::None,
        };
        Some(Sample {
            stream,
            direction,
            counted_by: if sends {
                CountedBy::Sender
            } else {
                CountedBy::Receiver
            },
            omitted: one["omitted"] == true,
            ended: None,
            start,
            end,
            seconds: positive(&one["seconds"]).unwrap_or(rounded_seconds(end - start)),
            bytes: count(&one["bytes"])?,
            bits_per_second: positive(&one["bits_per_second"]),
            detail,
            delays: None,
        })
    }

    /// Takes `end`.
    pub(crate) fn end(&mut self, end: &Value) -> Result<(), String> {
        let streams = end["streams"].as_array().map_or(&[][..], Vec::as_slice);
        if streams.len() > MAX_STREAMS {
            return Err(format!("more than {MAX_STREAMS} streams"));
        }
        self.ended = !streams.is_empty();
        let sends = self.is_bidirectional() || self.reverse == self.is_server();
        self.report.test.congestion_control = text(if sends {
            &end["sender_tcp_congestion"]
        } else {
            &end["receiver_tcp_congestion"]
        });
        let streams = streams.iter().filter_map(|one| self.stream(one, end));
        self.report.streams = streams.collect();
        self.report.sum = Sum::from_streams(&self.report.streams);
        self.enter_sums(end);
        self.enter_processors(&end["cpu_utilization_percent"]);
        Ok(())
    }

    fn stream(&self, one: &Value, end: &Value) -> Option<Stream> {
        let udp = &one["udp"];
        let head = if udp.is_object() { udp } else { &one["sender"] };
        let id = socket(head)?;
        let (direction, sends) = self.way(head, id);
        let mut stream = self.connection(id, direction);
        if udp.is_object() {
            self.enter_udp(&mut stream, udp, sends, end);
            return Some(stream);
        }
        stream.sender.end = told(head, sends).unwrap_or_default();
        stream.receiver.end = told(&one["receiver"], !sends).unwrap_or_default();
        let seen = self.seen.get(&id);
        if let Some(SenderDetails::Tcp {
            retransmits,
            rtt_ms,
            cwnd_bytes,
        }) = &mut stream.sender.details
        {
            *retransmits = count(&head["retransmits"]);
            *rtt_ms = seen.and_then(|seen| seen.rtt_ms);
            *cwnd_bytes = seen.and_then(|seen| seen.cwnd_bytes);
        }
        let millis = |name: &str| positive(&head[name]).map(|micros| micros / 1e3);
        stream.rtt = millis("mean_rtt")
            .filter(|mean| *mean > 0.0)
            .map(|mean| DelaySummary {
                samples: seen.map(|seen| seen.rtts),
                min_ms: millis("min_rtt"),
                mean_ms: Some(mean),
                max_ms: millis("max_rtt"),
                ..DelaySummary::default()
            });
        Some(stream)
    }

    /// Enters an entry that joins both ends.
    fn enter_udp(&self, stream: &mut Stream, udp: &Value, sends: bool, end: &Value) {
        let sent = told(udp, sends);
        stream.sender.end = sent.unwrap_or_default();
        if let Some(SenderDetails::Udp { packets, .. }) = &mut stream.sender.details {
            *packets = sent.and_then(|_| count(&udp["packets"]));
        }
        let sum = self.sum_of(end, "sum_received", stream.direction);
        let received = told(sum, !sends);
        // A program before 3.10 tells no sums of the receiver: its report is there if its processor is.
        let remote = &end["cpu_utilization_percent"]["remote_total"];
        let reported = received.is_some() || sum.is_null() && positive(remote) > Some(0.0);
        if sends && !reported {
            return;
        }
        let several = self.count_of(end, stream.direction) > 1;
        let received = received.filter(|_| !several);
        stream.receiver.end = received.unwrap_or_default();
        stream.receiver.udp = Some(UdpReceiver {
            packets: received.and_then(|_| arrived(sum)),
            lost: count(&udp["lost_packets"]),
            lost_percent: positive(&udp["lost_percent"]),
            out_of_order: count(&udp["out_of_order"]),
            jitter_ms: positive(&udp["jitter_ms"]),
            ..UdpReceiver::default()
        });
    }

    /// Takes what is told of all streams together.
    fn enter_sums(&mut self, end: &Value) {
        let mut directions = std::mem::take(&mut self.report.sum.directions);
        for one in &mut directions {
            let sends = self.sends(one.direction);
            let received = self.sum_of(end, "sum_received", one.direction);
            let sent = match self.sum_of(end, "sum_sent", one.direction) {
                // Before 3.10, over UDP.
                Value::Null => self.sum_of(end, "sum", one.direction),
                sent => sent,
            };
            if let Some(sent) = told(sent, sends) {
                one.sender.end = sent;
            }
            if let Some(its) = told(received, !sends) {
                one.receiver.end = its;
                if let Some(udp) = &mut one.receiver.udp {
                    udp.packets = arrived(received);
                    udp.lost_percent = positive(&received["lost_percent"]);
                }
            }
        }
        if let [only] = &directions[..] {
            self.report.sum.sender = only.sender.clone();
            self.report.sum.receiver = only.receiver.clone();
        }
        self.report.sum.directions = directions;
    }

    /// Enters the use of processors, where it is of one direction alone.
    fn enter_processors(&mut self, cpu: &Value) {
        let sum = &mut self.report.sum;
        let [only] = &mut sum.directions[..] else {
            return;
        };
        let use_of = |name: &str| {
            let percent = positive(&cpu[name]).filter(|percent| *percent > 0.0)?;
            let seconds = only.sender.end.seconds.or(only.receiver.end.seconds);
            Some(ProcessUse { percent, seconds })
        };
        let (own, other) = (use_of("host_total"), use_of("remote_total"));
        let server = self.report.test.role == Some(TestRole::Server);
        let sends = (only.direction == FlowDirection::Forward) != server;
        let (sender, receiver) = if sends { (own, other) } else { (other, own) };
        let mut senders = vec![&mut only.sender.end, &mut sum.sender.end];
        let mut receivers = vec![&mut only.receiver.end, &mut sum.receiver.end];
        if let [stream] = &mut self.report.streams[..] {
            senders.push(&mut stream.sender.end);
            receivers.push(&mut stream.receiver.end);
        }
        senders.into_iter().for_each(|end| end.enter(sender));
        receivers.into_iter().for_each(|end| end.enter(receiver));
    }

    /// Takes why it failed.
    pub(crate) fn error(&mut self, error: &Value) {
        let Some(text) = error.as_str() else {
            return;
        };
        // This end was told to end it; that is no failure.
        if text.starts_with("interrupt - ") {
            self.report.test.interrupted = true;
        } else {
            self.report.error = Some(Failure {
                id: WarningId::TestFailed.name().to_owned(),
                text: text.to_owned(),
            });
        }
    }

    /// The run, as far as it was told.
    pub(crate) fn finish(mut self) -> ImportedRun<'static> {
        let test = &self.report.test;
        let complete = self.ended && self.report.error.is_none() && !test.interrupted;
        self.report.test.complete = complete;
        if !self.ended {
            let told = self.seen.iter();
            let streams = told.map(|(id, seen)| self.connection(*id, seen.direction));
            self.report.streams = streams.collect();
            self.report.sum = Sum::from_streams(&self.report.streams);
        }
        let intervals = ImportedIntervals::samples(self.samples);
        converted(Kind::Iperf3Json, &self.report, intervals)
    }

    fn connection(&self, id: u32, direction: FlowDirection) -> Stream {
        let ends = self.connected.get(&id);
        Stream {
            local: ends.map(|(local, _)| local.clone()),
            remote: ends.map(|(_, remote)| remote.clone()),
            congestion_control: self.report.test.congestion_control.clone(),
            ..Stream::unknown(id, direction, self.is_udp())
        }
    }

    fn is_udp(&self) -> bool {
        self.report.test.transport == Some("udp")
    }

    fn is_server(&self) -> bool {
        self.report.test.role == Some(TestRole::Server)
    }

    fn is_bidirectional(&self) -> bool {
        self.report.test.direction == Some(TestShape::Bidirectional)
    }

    /// Whether this end sends the data of this direction.
    fn sends(&self, direction: FlowDirection) -> bool {
        (direction == FlowDirection::Forward) != self.is_server()
    }

    /// Which way the data of an entry goes, and whether this end sends it. Before 3.7 the order of the
    /// test alone tells.
    fn way(&self, entry: &Value, stream: u32) -> (FlowDirection, bool) {
        let sends = entry["sender"].as_bool();
        let direction = match sends.map(|sends| sends != self.is_server()) {
            Some(true) => FlowDirection::Forward,
            Some(false) => FlowDirection::Reverse,
            None => self.seen.get(&stream).map_or(
                if self.reverse {
                    FlowDirection::Reverse
                } else {
                    FlowDirection::Forward
                },
                |seen| seen.direction,
            ),
        };
        (direction, self.sends(direction))
    }

    /// Streams of a direction.
    fn count_of(&self, end: &Value, direction: FlowDirection) -> usize {
        let streams = end["streams"].as_array().into_iter().flatten();
        let its = streams.filter(|one| {
            let udp = &one["udp"];
            self.way(udp, 0).0 == direction
        });
        its.count()
    }

    /// What is told of all streams of a direction: that of a second one has a name of its own.
    fn sum_of<'v>(&self, end: &'v Value, name: &str, direction: FlowDirection) -> &'v Value {
        let second = direction == FlowDirection::Reverse && !self.reverse;
        if second {
            &end[format!("{name}_bidir_reverse")]
        } else {
            &end[name]
        }
    }
}

/// The number of a stream.
fn socket(entry: &Value) -> Option<u32> {
    count(&entry["socket"])?.try_into().ok()
}

/// Bytes over a time. Nothing from the other end is what it did not report.
fn told(entry: &Value, own: bool) -> Option<End> {
    let bytes = count(&entry["bytes"]).filter(|bytes| own || *bytes > 0)?;
    let span = positive(&entry["end"]).zip(positive(&entry["start"]));
    let seconds = span.map(|(end, start)| rounded_seconds(end - start));
    Some(End {
        bytes: Some(bytes),
        seconds: seconds.or_else(|| positive(&entry["seconds"])),
        bits_per_second: positive(&entry["bits_per_second"]),
        ..End::default()
    })
}

/// Datagrams that arrived, of a receiver's sum.
fn arrived(sum: &Value) -> Option<u64> {
    count(&sum["packets"])?.checked_sub(count(&sum["lost_packets"])?)
}
