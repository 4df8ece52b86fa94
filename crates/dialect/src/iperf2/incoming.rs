//! What arrives of a UDP flow on a server: counted, and its end decided. Pure: times and
//! datagrams in.

use std::time::Duration;

use tapeline_base::{Bytes, MonoTime, Tos, WallTime};
use tapeline_engine::{ArrivedDatagram, DatagramReceiver, Followers};
use tapeline_wire::PacketFault;
use tapeline_wire::iperf2::{
    DatagramStamp, Micros, Millionths, ReportLayout, ServerReport, TransitTimes, limits,
};

use super::ended::ReportAnswer;
use super::l4s::L4sReceiver;
use super::udp_flow::{FlowReader, Meaning};

/// Time for data that the final datagram has overtaken. A client asks again after 10 ms.
const OVERTAKEN: Duration = Duration::from_millis(10);
/// Congestion experienced, of the ECN bits (RFC 3168).
pub(super) const CONGESTION: u8 = 3;

/// A datagram and when it came.
#[derive(Clone, Copy, Debug)]
pub(super) struct Content<'a> {
    pub(super) payload: &'a [u8],
    /// When the kernel received it.
    pub(super) arrival: WallTime,
    /// It was longer than the buffer.
    pub(super) truncated: bool,
    /// Its type of service, where it is known.
    pub(super) tos: Option<Tos>,
    /// It came joined with others, and shares its arrival with them.
    pub(super) joined: bool,
    pub(super) now: MonoTime,
}

/// What a datagram did to its flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Taken {
    /// The flow goes on.
    Going,
    /// The flow has ended, by the final datagram with this stamp.
    Over(DatagramStamp),
    /// It belongs to another test, which it begins.
    NewTest,
}

/// A flow that is being received.
#[derive(Debug)]
pub(super) struct Incoming {
    reader: FlowReader,
    receiver: DatagramReceiver,
    began: MonoTime,
    /// The final datagram's stamp, and until when late data counts: it has overtaken data,
    /// or data is lost, and a moment shows which.
    closing: Option<(DatagramStamp, MonoTime)>,
    /// Answers each datagram of an L4S flow.
    l4s: Option<L4sReceiver>,
}

impl Incoming {
    /// A flow that begins at `start`.
    pub(super) fn new(reader: FlowReader, receiver: DatagramReceiver, start: MonoTime) -> Self {
        Self {
            receiver,
            reader,
            began: start,
            closing: None,
            l4s: None,
        }
    }

    /// The flow is congestion-controlled: its datagrams are answered.
    pub(super) fn control_congestion(&mut self) {
        self.l4s = Some(L4sReceiver::default());
    }

    /// The acknowledgement of a datagram, at the time of day `wall`; nothing where none is wanted, or after
    /// the end.
    pub(super) fn acknowledge(
        &mut self,
        content: &Content<'_>,
        wall: impl FnOnce() -> WallTime,
    ) -> Option<[u8; limits::L4S_ACK]> {
        let receiver = self.l4s.as_mut()?;
        let is_end = DatagramStamp::read_16(content.payload, true)?.is_fin();
        if is_end || self.closing.is_some() {
            return None;
        }
        let held = u64::try_from(wall().nanos_since(content.arrival)).unwrap_or(0);
        let held = Duration::from_nanos(held);
        receiver.answer(content.payload, content.tos, held, content.now)
    }

    /// Takes a datagram from the flow's source. [`publish`](Self::publish) after a batch.
    pub(super) fn take(&mut self, content: &Content<'_>) -> Taken {
        self.take_run(content, &mut std::iter::empty())
    }

    /// Takes a datagram from the flow's source, and of those that came joined with it, `rest`,
    /// the ones that only count on from it.
    #[inline]
    pub(super) fn take_run<'a>(
        &mut self,
        content: &Content<'_>,
        rest: &mut (impl Iterator<Item = Content<'a>> + Clone),
    ) -> Taken {
        let Some(seen) = self.reader.read(content.payload) else {
            return Taken::Going;
        };
        let is_end = match seen.meaning {
            Meaning::Data => false,
            Meaning::End => true,
            Meaning::NewTest => return Taken::NewTest,
        };
        // Repeated final datagrams count once.
        let repeated = is_end && self.closing.is_some();
        if !repeated {
            let arrived = ArrivedDatagram {
                sequence: seen.sequence,
                sent: seen.sent,
                arrival: content.arrival,
                length: content.payload.len(),
                truncated: content.truncated,
                marked: content.tos.is_some_and(|tos| tos.ecn() == CONGESTION),
                joined: content.joined,
                frame: seen.frame,
            };
            let followers = if self.closing.is_none() && self.l4s.is_none() {
                let ahead = rest.clone().map(|content| content.payload);
                self.reader.followers(&seen, ahead)
            } else {
                Followers::default()
            };
            if let Some(last) = followers.count.checked_sub(1) {
                rest.nth(last as usize);
            }
            self.receiver.observe_run(&arrived, followers, content.now);
        }
        if is_end && !repeated {
            let stamp = DatagramStamp::read_16(content.payload, true).unwrap_or_default();
            self.closing = Some((stamp, content.now + OVERTAKEN));
        }
        match self.closing {
            Some((stamp, until)) if content.now >= until || self.receiver.missing() == 0 => {
                Taken::Over(stamp)
            }
            _ => Taken::Going,
        }
    }

    /// The final datagram's stamp when the time for late data is over.
    pub(super) fn over_at(&self, now: MonoTime) -> Option<DatagramStamp> {
        self.closing
            .filter(|(_, until)| now >= *until)
            .map(|(stamp, _)| stamp)
    }

    /// Counts a packet of the flow that is faulty below UDP.
    pub(super) fn note_fault(&mut self, fault: PacketFault) {
        let faults = self.receiver.link_faults();
        match fault {
            PacketFault::Length => faults.length += 1,
            PacketFault::Checksum => faults.checksum += 1,
            PacketFault::Unknown => faults.unknown += 1,
        }
    }

    /// Makes the counters visible to the sampler.
    pub(super) fn publish(&mut self) {
        self.receiver.publish();
    }

    /// The flow has ended: what is incomplete is lost. Publishes.
    pub(super) fn finish(&mut self) {
        self.receiver.finish();
    }

    /// Whether nothing has come behind the first datagram.
    pub(super) fn is_lone(&self) -> bool {
        self.receiver.counters().received <= 1
    }

    /// Bytes that have come.
    pub(super) fn bytes(&self) -> u64 {
        self.receiver.counters().bytes
    }

    /// When something arrived last.
    pub(super) fn last(&self) -> MonoTime {
        self.receiver.counters().last.max(self.began)
    }

    /// The newest of the sender's stamps.
    pub(super) fn newest(&self) -> WallTime {
        self.reader.newest()
    }

    /// The report to the client, of the published counters.
    pub(super) fn report(&self, enhanced: bool) -> ReportAnswer {
        let c = self.receiver.counters();
        let micros = |seconds: f64| Micros((seconds * 1e6).round() as i64);
        let span = self.last().since(self.began);
        let transit = if c.transit.count == 0 {
            TransitTimes::default()
        } else {
            TransitTimes {
                min: micros(c.transit.min),
                max: micros(c.transit.max),
                sum: micros(c.transit.mean * c.transit.count as f64),
                mean: micros(c.transit.mean),
                m2: Millionths::from_f64(c.transit.m2 * 1e12),
                last_difference: Micros(0),
                count: u32::try_from(c.transit.count).unwrap_or(u32::MAX),
                packets_per_second: if span.is_zero() {
                    0
                } else {
                    (c.total as f64 / span.as_secs_f64()) as u32
                },
            }
        };
        let report = ServerReport {
            layout: ReportLayout::Wide16,
            bytes: Bytes(c.bytes),
            duration: Micros::from_duration(span),
            lost: c.lost,
            out_of_order: c.out_of_order,
            datagrams: c.total,
            jitter: micros(c.jitter_mean_ns * 1e-9),
            transit,
            transit_valid: enhanced,
        };
        ReportAnswer {
            report,
            narrow: self.reader.is_narrow(),
        }
    }
}
