//! The headline at the end of a test.

use std::net::IpAddr;
use std::time::Duration;

use tapeline_base::{BitRate, FormatLetter, Transport};
use tapeline_stats::Moments;

use super::text_parts::{millis, percent, rate, size};
use crate::model::{BurstKind, Connected, LossPattern, Measure, Phase, Row, Subject, UdpReceive};
use crate::render::hidden;
use crate::style::Style;

/// Which way data went, seen from here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    Sent,
    Received,
    /// What the peer says it received of what was sent.
    Delivered,
}

/// All flows that went one way.
#[derive(Clone, Debug)]
struct Tally {
    way: Way,
    transport: Transport,
    flows: usize,
    bytes: u64,
    longest: Duration,
    retransmits: u64,
    lost: u64,
    total: u64,
    pattern: Option<LossPattern>,
    jitter: Option<f64>,
    /// One-way delays by synchronised clocks, seconds.
    delay: Moments,
    /// Frames that arrived or left, and those that did not.
    frames: Option<(u64, u64)>,
}

/// Collects totals until the end of a test.
#[derive(Debug, Default)]
pub(crate) struct Summary {
    tallies: Vec<Tally>,
    peer: Option<IpAddr>,
    /// Several peers took part.
    peers_differ: bool,
    congestion: Option<String>,
    congestion_differs: bool,
}

impl Summary {
    /// Takes note of a flow's congestion control.
    pub(crate) fn uses(&mut self, congestion: &str) {
        match &self.congestion {
            Some(known) if known != congestion => self.congestion_differs = true,
            Some(_) => {}
            None => self.congestion = Some(congestion.to_owned()),
        }
    }

    /// Takes note of a flow's connection.
    pub(crate) fn connected(&mut self, line: &Connected) {
        self.meets(line.peer.ip());
        if let Some(congestion) = &line.congestion {
            self.uses(congestion);
        }
    }

    /// Takes note of a flow's peer.
    pub(crate) fn meets(&mut self, peer: IpAddr) {
        match self.peer {
            Some(known) if known != peer => self.peers_differ = true,
            _ => self.peer = Some(peer),
        }
    }

    /// Adds a row; only totals of flows count.
    pub(crate) fn add(&mut self, row: &Row) {
        let (Subject::Flow(_), Phase::Total) = (row.subject, row.phase) else {
            return;
        };
        match &row.measure {
            Measure::TcpSend(send) => {
                let tally = self.tally(Way::Sent, Transport::Tcp, row);
                tally.retransmits += send.retransmits.unwrap_or(0);
                if let Some(frames) = send.frames {
                    tally.frames(frames.sent, frames.missed);
                }
            }
            Measure::TcpReceive(receive) => {
                let tally = self.tally(Way::Received, Transport::Tcp, row);
                if let Some(bursts) = &receive.bursts {
                    // Without a common clock, the time that a burst takes to come is no delay.
                    if row.trip_times || !matches!(bursts.kind, BurstKind::Periodic { .. }) {
                        tally.delay.merge(&bursts.latency);
                    }
                    if bursts.kind == BurstKind::Frame {
                        tally.frames(bursts.latency.count, bursts.frames_lost);
                    }
                }
            }
            Measure::UdpSend(send) => {
                let tally = self.tally(Way::Sent, Transport::Udp, row);
                if let Some(frames) = send.frames {
                    tally.frames(frames.sent, frames.missed);
                }
            }
            Measure::UdpReceive(receive) => {
                let tally = self.tally(Way::Received, Transport::Udp, row);
                tally.loss(receive);
                if row.trip_times {
                    tally.delay.merge(&receive.transit);
                }
                if let Some(frames) = receive.frames {
                    tally.frames(frames.received, frames.lost);
                }
            }
            Measure::RequestResponse(_) | Measure::Both { .. } => {}
        }
    }

    /// Adds what the peer says it received.
    pub(crate) fn delivered(&mut self, row: &Row) {
        if let Measure::UdpReceive(receive) = &row.measure {
            let tally = self.tally(Way::Delivered, Transport::Udp, row);
            tally.loss(receive);
            if row.trip_times {
                tally.delay.merge(&receive.transit);
            }
        }
    }

    fn tally(&mut self, way: Way, transport: Transport, row: &Row) -> &mut Tally {
        let same = |tally: &Tally| tally.way == way && tally.transport == transport;
        let index = self.tallies.iter().position(same).unwrap_or_else(|| {
            self.tallies.push(Tally::new(way, transport));
            self.tallies.len() - 1
        });
        let tally = &mut self.tallies[index];
        tally.flows += 1;
        tally.bytes = tally.bytes.saturating_add(row.bytes);
        tally.longest = tally.longest.max(row.span.length());
        tally
    }

    /// Payload that this end sent or received.
    pub(crate) fn bytes(&self) -> u64 {
        let own = self
            .tallies
            .iter()
            .filter(|tally| tally.way != Way::Delivered);
        own.fold(0, |sum, tally| sum.saturating_add(tally.bytes))
    }

    /// The headline of each way: what it is about, its number, and phrases of detail.
    pub(crate) fn headlines(&self, style: &Style) -> Vec<(&'static str, String, Vec<String>)> {
        self.tallies
            .iter()
            .filter(|tally| !(tally.way == Way::Sent && self.is_delivered(tally)))
            .map(|tally| self.headline(tally, style))
            .collect()
    }

    /// Whether every flow of this kind is reported by the receiver's view.
    fn is_delivered(&self, sent: &Tally) -> bool {
        self.tallies.iter().any(|tally| {
            tally.way == Way::Delivered
                && tally.transport == sent.transport
                && tally.flows >= sent.flows
        })
    }

    fn headline(&self, tally: &Tally, style: &Style) -> (&'static str, String, Vec<String>) {
        let format = style.format;
        let title = match (tally.way, tally.transport) {
            (Way::Sent, Transport::Udp) => "sent",
            _ => "goodput",
        };
        let mut details = vec![
            self.route(tally.way, style),
            format!(
                "{} in {:.2} s",
                size(tally.bytes),
                tally.longest.as_secs_f64()
            ),
        ];
        if tally.flows > 1 {
            details.push(format!("{} flows", tally.flows));
        }
        match tally.transport {
            Transport::Tcp => details.push(self.tcp()),
            Transport::Udp => details.push("UDP".to_owned()),
        }
        details.extend(self.quality(tally, format));
        details.extend(tally.timing_phrases());
        (title, rate(tally.rate(), format), details)
    }

    fn quality(&self, tally: &Tally, format: FormatLetter) -> Vec<String> {
        match (tally.way, tally.transport) {
            (Way::Sent, Transport::Tcp) => {
                let plural = if tally.retransmits == 1 { "" } else { "s" };
                vec![
                    format!("{} retransmission{plural}", tally.retransmits),
                    "as counted by the sender".to_owned(),
                ]
            }
            (Way::Sent, Transport::Udp) => vec!["received: unknown".to_owned()],
            (Way::Received, Transport::Tcp) => Vec::new(),
            _ => {
                let mut list = vec![tally.loss_phrase()];
                list.extend(tally.pattern.iter().flat_map(pattern_phrases));
                list.extend(
                    tally
                        .jitter
                        .map(|jitter| format!("jitter {} ms", millis(jitter))),
                );
                let sent = self
                    .tallies
                    .iter()
                    .find(|other| other.way == Way::Sent && other.transport == Transport::Udp);
                if let (Way::Delivered, Some(sent)) = (tally.way, sent) {
                    list.push(format!("sent at {}", rate(sent.rate(), format)));
                }
                list
            }
        }
    }

    fn tcp(&self) -> String {
        match &self.congestion {
            Some(name) if !self.congestion_differs => format!("TCP {name}"),
            _ => "TCP".to_owned(),
        }
    }

    fn route(&self, way: Way, style: &Style) -> String {
        let peer = match self.peer {
            _ if self.peers_differ => "several peers".to_owned(),
            Some(peer) if style.hide_addresses => hidden(peer),
            Some(peer) => peer.to_string(),
            None => "the peer".to_owned(),
        };
        match way {
            Way::Sent => format!("to {peer}"),
            Way::Received => format!("from {peer}"),
            Way::Delivered => format!("received by {peer}"),
        }
    }
}

/// How losses lie in a flow, as far as there is something to tell.
pub(crate) fn pattern_phrases(pattern: &LossPattern) -> Vec<String> {
    /// Shorter ones are every host's own.
    const MIN_OUTAGE: Duration = Duration::from_millis(10);
    let mut list = Vec::new();
    if pattern.runs > 0 {
        let plural = if pattern.runs == 1 { "" } else { "s" };
        list.push(format!(
            "{} run{plural} of losses, the longest of {}",
            pattern.runs, pattern.longest_run
        ));
    }
    if pattern.longest_extent > 0 {
        list.push(format!("late by up to {}", pattern.longest_extent));
    }
    let outage = pattern.outage.filter(|outage| outage.length >= MIN_OUTAGE);
    list.extend(outage.map(|outage| {
        let (length, start) = (outage.length.as_secs_f64(), outage.start.as_secs_f64());
        format!("longest outage {} ms at {start:.2} s", millis(length))
    }));
    list
}

impl Tally {
    fn new(way: Way, transport: Transport) -> Self {
        Self {
            way,
            transport,
            flows: 0,
            bytes: 0,
            longest: Duration::ZERO,
            retransmits: 0,
            lost: 0,
            total: 0,
            pattern: None,
            jitter: None,
            delay: Moments::EMPTY,
            frames: None,
        }
    }

    fn frames(&mut self, whole: u64, missing: u64) {
        let (before, missing_before) = self.frames.unwrap_or_default();
        self.frames = Some((before + whole, missing_before + missing));
    }

    /// Delays and frames, where there are some.
    fn timing_phrases(&self) -> Vec<String> {
        let mut list = Vec::new();
        if !self.delay.is_empty() {
            let [mean, min, max] = [self.delay.mean, self.delay.min, self.delay.max].map(millis);
            list.push(format!("delay {mean} ms ({min} to {max})"));
        }
        if let Some((whole, missing)) = self.frames {
            // TCP loses nothing: what does not come was not sent.
            let lack = match (self.way, self.transport) {
                (Way::Sent, _) | (_, Transport::Tcp) => "missed",
                (Way::Received | Way::Delivered, Transport::Udp) => "incomplete",
            };
            list.push(format!("{whole} frames ({missing} {lack})"));
        }
        list
    }

    fn rate(&self) -> f64 {
        BitRate::over(self.bytes, self.longest)
    }

    fn loss(&mut self, receive: &UdpReceive) {
        self.lost += receive.lost;
        self.total += receive.total;
        self.pattern = match (self.pattern, receive.pattern) {
            (Some(known), Some(new)) => Some(known.with(new)),
            (known, new) => known.or(new),
        };
        let jitter = receive.jitter_mean.or(receive.jitter);
        self.jitter = match (self.jitter, jitter) {
            (Some(known), Some(new)) => Some(known.max(new)),
            (known, new) => known.or(new),
        };
    }

    fn loss_phrase(&self) -> String {
        let share = percent(self.lost as f64 / self.total.max(1) as f64);
        format!("{} of {} datagrams lost ({share})", self.lost, self.total)
    }
}
