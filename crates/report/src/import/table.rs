//! A test that is told in rows: which of them are intervals and which totals, and what they come to.
//!
//! A row that begins at 0 and comes after others of its stream is a total; one that comes after a total
//! is of another test. A stream of one row that begins at 0 has a total and no interval.

use std::collections::{BTreeMap, BTreeSet};

use super::intervals::{Detail, ImportedIntervals, MAX_INTERVALS, Sample};
use super::kind::Kind;
use super::report::{self, MAX_STREAMS};
use super::run::{ImportedRun, converted};
use crate::document::{
    CountedBy, DelayClock, DelaySummary, Failure, OneWayDelay, Receiver, Report, Requests,
    Resolution, Sender, SenderDetails, Stream, Sum, TestShape, UdpReceiver, Workload,
};
use crate::model::{FlowDirection, WarningId};

/// Round-trip times that are kept of a stream.
const MAX_TRIPS: usize = 1024;

/// A test that is told in rows.
#[derive(Debug)]
pub(crate) struct Table {
    kind: Kind,
    pub(crate) report: Report,
    told: BTreeMap<Of, Told>,
    /// The directions of streams, and of all together.
    ways: BTreeSet<(Option<u32>, FlowDirection)>,
    /// Own and remote ends.
    ends: BTreeMap<(u32, FlowDirection), (String, String)>,
    samples: Vec<Sample>,
    resolution: Resolution,
    /// Rows of datagrams do not say which end counted; a receiver has jitter or losses.
    pub(crate) unsure: bool,
}

/// Whose rows they are: of a stream, or of all together, in one direction, of one end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Of {
    pub(crate) id: Option<u32>,
    pub(crate) direction: FlowDirection,
    pub(crate) sent: bool,
}

/// What was told of them.
#[derive(Debug, Default)]
struct Told {
    rows: usize,
    /// The first one that begins at 0: a total if no other comes.
    first: Option<Row>,
    last_end: f64,
    total: Option<Row>,
    cwnd_bytes: Option<u64>,
    /// Microseconds.
    trips: Vec<u32>,
    /// Only a receiver tells such.
    received: bool,
}

/// A row, with what only totals are asked for.
#[derive(Clone, Debug)]
pub(crate) struct Row {
    pub(crate) sample: Sample,
    pub(crate) out_of_order: Option<u64>,
    pub(crate) requests: Option<Requests>,
}

impl Row {
    fn of(&self, sum: bool) -> Of {
        Of {
            id: (!sum).then_some(self.sample.stream),
            direction: self.sample.direction,
            sent: self.sample.counted_by == CountedBy::Sender,
        }
    }
}

impl Table {
    pub(crate) fn new(kind: Kind) -> Self {
        Self {
            kind,
            report: report::unknown(kind),
            told: BTreeMap::new(),
            ways: BTreeSet::new(),
            ends: BTreeMap::new(),
            samples: Vec::new(),
            resolution: Resolution::default(),
            unsure: false,
        }
    }

    /// Whether nothing was told of it.
    pub(crate) fn is_empty(&self) -> bool {
        self.told.is_empty() && self.report.error.is_none()
    }

    /// Intervals so far.
    pub(crate) fn len(&self) -> usize {
        self.samples.len()
    }

    /// Takes how finely a number was told; the coarsest is kept.
    pub(crate) fn resolved(&mut self, one: Resolution) {
        let coarser = |kept: &mut Option<f64>, one: Option<f64>| {
            if one > *kept {
                *kept = one;
            }
        };
        let kept = &mut self.resolution;
        coarser(&mut kept.seconds, one.seconds);
        coarser(&mut kept.bytes, one.bytes);
        coarser(&mut kept.bits_per_second, one.bits_per_second);
        coarser(&mut kept.milliseconds, one.milliseconds);
    }

    /// Takes a failure; the first one counts.
    pub(crate) fn failed(&mut self, text: &str) {
        self.report.error.get_or_insert_with(|| Failure {
            id: WarningId::TestFailed.name().to_owned(),
            text: text.to_owned(),
        });
    }

    /// Takes the ends of a stream.
    pub(crate) fn connected(
        &mut self,
        id: u32,
        direction: FlowDirection,
        ends: (String, String),
    ) -> Result<(), String> {
        if self.ends.len() == 2 * MAX_STREAMS {
            return Err(format!("more than {MAX_STREAMS} streams"));
        }
        self.ends.insert((id, direction), ends);
        Ok(())
    }

    /// The ends of a stream, as far as they were told.
    pub(crate) fn ends(&self, id: u32, direction: FlowDirection) -> Option<&(String, String)> {
        self.ends.get(&(id, direction))
    }

    /// Whether rows of the same stream came before.
    pub(crate) fn knows(&self, row: &Row, sum: bool) -> bool {
        self.told.contains_key(&row.of(sum))
    }

    /// Whether a row can be one of this test.
    pub(crate) fn continues(&self, row: &Row, sum: bool) -> bool {
        self.told.get(&row.of(sum)).is_none_or(|told| {
            let again = row.sample.start == 0.0 && told.rows > 0;
            told.total.is_none() && (!again || row.sample.end >= told.last_end)
        })
    }

    /// Takes a row of a stream, or of all together.
    pub(crate) fn row(&mut self, row: Row, sum: bool) -> Result<(), String> {
        let told = self.entry(row.of(sum))?;
        told.enter(&row.sample);
        // What does not count is before 0.
        if !row.sample.omitted {
            if row.sample.start == 0.0 && told.rows > 0 {
                told.total = Some(row);
                return Ok(());
            }
            told.rows += 1;
            if told.rows == 1 && row.sample.start == 0.0 {
                told.first = Some(row.clone());
            }
        }
        if sum {
            return Ok(());
        }
        if self.samples.len() == MAX_INTERVALS {
            return Err(format!("more than {MAX_INTERVALS} intervals"));
        }
        self.samples.push(row.sample);
        Ok(())
    }

    /// Takes a row that is said to be a total.
    pub(crate) fn total(&mut self, row: Row, sum: bool) -> Result<(), String> {
        let of = row.of(sum);
        self.entry(of)?.total = Some(row);
        Ok(())
    }

    fn entry(&mut self, of: Of) -> Result<&mut Told, String> {
        let way = (of.id, of.direction);
        if self.ways.len() == MAX_STREAMS && !self.ways.contains(&way) {
            return Err(format!("more than {MAX_STREAMS} streams"));
        }
        self.ways.insert(way);
        Ok(self.told.entry(of).or_default())
    }

    /// The run, as far as it was told.
    pub(crate) fn finish(mut self) -> ImportedRun<'static> {
        if self.unsure {
            self.settle();
        }
        self.settle_single_rows();
        let ways = self
            .ways
            .iter()
            .filter_map(|(id, way)| Some(((*id)?, *way)));
        let udp = self.report.test.transport == Some("udp");
        let streams = ways.map(|(id, way)| self.stream(id, way, udp));
        let streams: Vec<Stream> = streams.collect();
        let mut sum = Sum::from_streams(&streams);
        self.enter_sums(&streams, &mut sum);
        let test = &mut self.report.test;
        let has = |way| streams.iter().filter(|one| one.direction == way).count();
        let ways = [
            has(FlowDirection::Forward),
            has(FlowDirection::Reverse),
            has(FlowDirection::RoundTrip),
        ];
        test.direction = match ways {
            [0, 0, 0] => None,
            [0, _, 0] => Some(TestShape::Reverse),
            [_, 0, _] => Some(TestShape::Forward),
            _ => Some(TestShape::Bidirectional),
        };
        test.workload = (ways != [0, 0, 0]).then_some(match ways {
            [0, 0, _] => Workload::RequestResponse,
            _ => Workload::Stream,
        });
        test.streams = ways
            .into_iter()
            .max()
            .filter(|most| *most > 0)
            .map(|most| most as u32);
        test.complete = self.told.values().any(|told| told.total.is_some())
            && self.report.error.is_none()
            && !test.interrupted;
        self.report.streams = streams;
        self.report.sum = sum;
        if let Some(imported) = &mut self.report.imported {
            imported.resolution =
                Some(self.resolution).filter(|known| *known != Resolution::default());
        }
        let intervals = ImportedIntervals::samples(std::mem::take(&mut self.samples));
        converted(self.kind, &self.report, intervals)
    }

    /// Rows of datagrams without jitter and losses are a sender's.
    fn settle(&mut self) {
        let sent = |told: &Told| !told.received;
        let wrong: Vec<Of> = self
            .told
            .iter()
            .filter(|(of, told)| !of.sent && sent(told))
            .map(|(of, _)| *of)
            .collect();
        for of in &wrong {
            if let Some(mut told) = self.told.remove(of) {
                for row in [&mut told.first, &mut told.total].into_iter().flatten() {
                    row.sample.turn_to_sender();
                    row.out_of_order = None;
                }
                self.told.insert(Of { sent: true, ..*of }, told);
            }
        }
        for sample in &mut self.samples {
            let of = Of {
                id: Some(sample.stream),
                direction: sample.direction,
                sent: false,
            };
            if sample.counted_by == CountedBy::Receiver && !self.told.contains_key(&of) {
                sample.turn_to_sender();
            }
        }
    }

    /// A single row that begins at 0 is a total.
    fn settle_single_rows(&mut self) {
        let mut single = BTreeMap::new();
        for (of, told) in &mut self.told {
            if told.rows == 1 && told.total.is_none() && told.first.is_some() {
                told.total = told.first.take();
                single.insert(*of, ());
            }
        }
        self.samples.retain(|sample| {
            !single.contains_key(&Of {
                id: Some(sample.stream),
                direction: sample.direction,
                sent: sample.counted_by == CountedBy::Sender,
            })
        });
    }

    fn stream(&self, id: u32, direction: FlowDirection, udp: bool) -> Stream {
        let of = |sent| {
            let id = Some(id);
            self.told.get(&Of {
                id,
                direction,
                sent,
            })
        };
        let ends = self.ends.get(&(id, direction));
        let mut stream = Stream {
            local: ends.map(|(local, _)| local.clone()),
            remote: ends.map(|(_, remote)| remote.clone()),
            congestion_control: self.report.test.congestion_control.clone(),
            ..Stream::unknown(id, direction, udp)
        };
        if let Some(told) = of(true) {
            stream.sender = told.sender(udp);
            stream.rtt = DelaySummary::from_micros(&told.trips);
            if let Some(total) = told.total.as_ref() {
                stream.requests = total.requests;
                if direction == FlowDirection::RoundTrip {
                    stream.rtt = total.sample.delays();
                }
            }
        }
        if let Some(told) = of(false) {
            stream.receiver = told.receiver(udp);
            let total = told.total.as_ref();
            let delays = total.and_then(|total| total.sample.delays());
            stream.one_way_delay = delays.map(|delays| OneWayDelay {
                delays,
                clock_offset_ms: None,
                error_ms: None,
                error_worst_case_ms: None,
                error_single_ms: None,
                error_single_worst_case_ms: None,
                clock: DelayClock::Unknown,
            });
        }
        stream
    }

    /// Enters what was told of all streams together, and of the only one as it was told.
    fn enter_sums(&self, streams: &[Stream], sum: &mut Sum) {
        // iperf 2 adds up both.
        let joined = sum.directions.len() > 1 && self.kind != Kind::Iperf3Text;
        for one in &mut sum.directions {
            let mut its = streams
                .iter()
                .filter(|stream| stream.direction == one.direction);
            if let (Some(only), None) = (its.next(), its.next()) {
                one.sender.end = only.sender.end;
                one.receiver.end = only.receiver.end;
            }
            let told = |sent| {
                if joined {
                    return None;
                }
                let direction = one.direction;
                let its = self.told.get(&Of {
                    id: None,
                    direction,
                    sent,
                })?;
                its.total.as_ref().map(|total| total.sample.end())
            };
            let (sent, received) = (told(true), told(false));
            one.sender.end = sent.unwrap_or(one.sender.end);
            one.receiver.end = received.unwrap_or(one.receiver.end);
        }
        if let [only] = &sum.directions[..] {
            sum.sender = only.sender.clone();
            sum.receiver = only.receiver.clone();
        }
    }
}

impl Told {
    fn enter(&mut self, sample: &Sample) {
        self.last_end = sample.end;
        match sample.detail {
            Detail::TcpSend {
                cwnd_bytes, rtt_ms, ..
            } => {
                self.cwnd_bytes = cwnd_bytes.or(self.cwnd_bytes);
                if let Some(rtt) = rtt_ms.filter(|_| self.trips.len() < MAX_TRIPS) {
                    self.trips.push((rtt * 1e3).round() as u32);
                }
            }
            Detail::UdpReceive {
                lost, jitter_ms, ..
            } => {
                self.received |= jitter_ms > Some(0.0) || lost > Some(0);
            }
            Detail::None | Detail::UdpSend { .. } => {}
        }
    }

    fn sender(&self, udp: bool) -> Sender {
        let mut sender = Sender::unknown(udp);
        let Some(total) = &self.total else {
            return sender;
        };
        sender.end = total.sample.end();
        match (&total.sample.detail, &mut sender.details) {
            (
                Detail::TcpSend {
                    retransmits: told, ..
                },
                Some(SenderDetails::Tcp {
                    retransmits,
                    rtt_ms,
                    cwnd_bytes,
                }),
            ) => {
                *retransmits = *told;
                *rtt_ms = self.trips.last().map(|micros| f64::from(*micros) / 1e3);
                *cwnd_bytes = self.cwnd_bytes;
            }
            (Detail::UdpSend { packets: told }, Some(SenderDetails::Udp { packets, .. })) => {
                *packets = *told;
            }
            _ => {}
        }
        sender
    }

    fn receiver(&self, udp: bool) -> Receiver {
        let mut receiver = Receiver::unknown(udp);
        let Some(total) = &self.total else {
            return receiver;
        };
        receiver.end = total.sample.end();
        if let (
            Detail::UdpReceive {
                packets,
                lost,
                jitter_ms,
            },
            Some(udp),
        ) = (&total.sample.detail, &mut receiver.udp)
        {
            let all = packets
                .zip(*lost)
                .map(|(packets, lost)| packets.saturating_add(lost));
            *udp = UdpReceiver {
                packets: *packets,
                lost: *lost,
                lost_percent: all
                    .filter(|all| *all > 0)
                    .zip(*lost)
                    .map(|(all, lost)| 100.0 * lost as f64 / all as f64),
                out_of_order: total.out_of_order,
                jitter_ms: *jitter_ms,
                ..UdpReceiver::default()
            };
        }
        receiver
    }
}
