//! What the rows of a run say: readings in time, and what they come to behind the ramp.

use std::collections::BTreeMap;
use std::num::NonZeroU32;
use std::time::Duration;

use tapeline_base::FlowTag;
use tapeline_dialect::Sample;
use tapeline_report::document::Verdict;
use tapeline_report::method::Direction;
use tapeline_report::method::rfc6349::{RoundTripSource, TransferPoint, TransferRun};
use tapeline_report::{Event, Measure, Phase, Row, Subject, TcpTotals};
use tapeline_stats::Moments;
use tapeline_stats::rfc6349::{buffer_delay_percent, efficiency_percent};

/// A reading so little behind the end belongs to it: rows are read a little after their boundary.
const LATE: f64 = 0.05;

/// One direction of a run in time.
#[derive(Clone, Debug, Default)]
pub(crate) struct Course {
    flows: BTreeMap<FlowTag, Vec<Reading>>,
    /// What the peer's kernel says of its senders, by their token.
    peer: BTreeMap<u32, Vec<Reading>>,
    /// Round trips of the probes beside the transfer, with the time behind the run's start.
    probes: Vec<(f64, Moments)>,
    /// Round trips that were measured otherwise, in milliseconds.
    pub(crate) connects: Vec<(f64, f64)>,
    pub(crate) verdict: Option<Verdict>,
    pub(crate) congestion: Option<String>,
    /// Payload of a full segment, bytes.
    pub(crate) segment: Option<u64>,
}

/// The end of a row.
#[derive(Clone, Copy, Debug, Default)]
struct Reading {
    /// Seconds behind the flow's start.
    at: f64,
    /// Payload since then, by this end's count.
    bytes: u64,
    /// Segments sent again since then.
    retransmits: Option<u64>,
    totals: Option<TcpTotals>,
    rtt_ms: Option<f64>,
    in_flight: Option<u64>,
    cwnd: Option<u64>,
}

/// Both ends of what is counted of a flow.
struct Counted<'a> {
    from: &'a Reading,
    to: &'a Reading,
    all: &'a [Reading],
}

/// The counted part of a run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Window {
    pub(crate) ramp: Duration,
    pub(crate) time: Duration,
}

impl Course {
    /// Takes what happened, if it is about this direction.
    pub(crate) fn observe(&mut self, event: &Event, direction: Direction) {
        let sends = direction == Direction::Up;
        match event {
            Event::Row(row) if row.phase != Phase::Total && row.measure.sends() == sends => {
                if let Subject::Flow(tag) = row.subject {
                    self.row(tag, row);
                }
            }
            Event::Probes(probes) => {
                let now = self.flows.values().filter_map(|flow| flow.last());
                let now = now.map(|reading| reading.at).fold(0.0, f64::max);
                self.probes.push((now, probes.round_trips));
            }
            Event::LimitVerdict(limit) if limit.local_sends == sends => {
                self.verdict = Some(Verdict::new(&limit.verdict));
            }
            Event::Connected(line) => {
                if sends {
                    self.congestion.clone_from(&line.congestion);
                }
                self.segment = line.segments.map(|segments| segments.payload.into());
            }
            Event::TestEnd(end) if end.sender_congestion.is_some() => {
                self.congestion.clone_from(&end.sender_congestion);
            }
            Event::PeerResults(results) if !sends => {
                let mut flows = results.flows.iter();
                self.congestion = flows.find_map(|flow| flow.limits.congestion_control.clone());
            }
            _ => {}
        }
    }

    fn row(&mut self, tag: FlowTag, row: &Row) {
        let flow = self.flows.entry(tag).or_default();
        let before = flow.last().copied().unwrap_or_default();
        let mut reading = Reading {
            at: before.at + row.span.length().as_secs_f64(),
            bytes: before.bytes + row.bytes,
            ..Reading::default()
        };
        if let Measure::TcpSend(send) = &row.measure {
            let earlier = before.retransmits.unwrap_or(0);
            reading.retransmits = send.retransmits.map(|segments| earlier + segments);
            if let Some(state) = &send.state {
                reading.totals = Some(state.totals);
                reading.rtt_ms = state.rtt_micros.map(|micros| f64::from(micros) / 1e3);
                reading.in_flight = state.in_flight_bytes();
                reading.cwnd = state.window_bytes();
            }
        }
        flow.push(reading);
    }

    /// Takes what the peer's kernel said of its senders; `lead` is the time from the first sample to
    /// the run's start, seconds.
    pub(crate) fn peer_samples(&mut self, samples: &[Sample], lead: f64) {
        for sample in samples {
            let at = sample.elapsed as f64 / 1e9 - lead;
            if at < 0.0 {
                continue;
            }
            let new = sample.bytes_sent.zip(sample.bytes_retransmitted);
            let new = new.map(|(sent, again)| sent.saturating_sub(again));
            let token = sample.token.map_or(0, NonZeroU32::get);
            self.peer.entry(token).or_default().push(Reading {
                at,
                totals: Some(TcpTotals {
                    at: Duration::from_secs_f64(at),
                    sent: sample.bytes_sent,
                    retransmitted: sample.bytes_retransmitted,
                    acknowledged: sample.bytes_acked,
                }),
                rtt_ms: sample.round_trip_us.map(|micros| micros as f64 / 1e3),
                in_flight: new
                    .zip(sample.bytes_acked)
                    .map(|(new, acked)| new.saturating_sub(acked)),
                cwnd: sample.cwnd_bytes,
                ..Reading::default()
            });
        }
    }

    fn counted<'a>(
        flows: impl Iterator<Item = &'a Vec<Reading>>,
        window: Window,
    ) -> Vec<Counted<'a>> {
        let ramp = window.ramp.as_secs_f64();
        let end = ramp + window.time.as_secs_f64() + LATE;
        let of = |flow: &'_ Vec<Reading>| -> Option<(usize, usize)> {
            let from = flow.iter().position(|reading| reading.at >= ramp - LATE)?;
            let to = flow.iter().rposition(|reading| reading.at <= end)?;
            (from < to).then_some((from, to))
        };
        flows
            .filter_map(|flow| {
                let (from, to) = of(flow)?;
                Some(Counted {
                    from: &flow[from],
                    to: &flow[to],
                    all: &flow[from + 1..=to],
                })
            })
            .collect()
    }

    /// What is counted; `None` when nothing came behind the ramp.
    pub(crate) fn summary(&self, window: Window, baseline_ms: f64) -> Option<TransferRun> {
        let flows = Self::counted(self.flows.values(), window);
        let parts: Vec<(u64, f64)> = flows.iter().filter_map(Counted::amount).collect();
        let rate: f64 = parts
            .iter()
            .map(|(bytes, seconds)| *bytes as f64 * 8.0 / seconds)
            .sum();
        let bytes: u64 = parts.iter().map(|(bytes, _)| bytes).sum();
        let seconds = parts.iter().map(|(_, seconds)| seconds).sum::<f64>() / parts.len() as f64;
        if parts.is_empty() || bytes == 0 {
            return None;
        }
        let peer = Self::counted(self.peer.values(), window);
        let (flows, by) = match peer.len() {
            0 => (flows, RoundTripSource::TcpInfo),
            _ => (peer, RoundTripSource::PeerTcpInfo),
        };
        let transmitted = total(&flows, |totals| totals.sent);
        let retransmitted = total(&flows, |totals| totals.retransmitted);
        let segments: Option<Vec<u64>> = flows
            .iter()
            .map(|flow| Some(flow.to.retransmits?.saturating_sub(flow.from.retransmits?)))
            .collect();
        let readings = || flows.iter().flat_map(|flow| flow.all.iter());
        let most = |of: fn(&Reading) -> Option<u64>| readings().filter_map(of).max();
        let own: Moments = readings().filter_map(|reading| reading.rtt_ms).collect();
        let connects = || self.connects.iter().filter(|(at, _)| window.holds(*at));
        let connects: Moments = connects().map(|(_, millis)| *millis).collect();
        let (round_trips, source) = if own.count > 0 {
            (own, Some(by))
        } else if connects.count > 0 {
            (connects, Some(RoundTripSource::TcpConnect))
        } else {
            (Moments::EMPTY, None)
        };
        let known = |value: f64| (round_trips.count > 0).then_some(value);
        let rtt_mean_ms = known(round_trips.mean);
        let probes = self.probes.iter().filter(|(at, _)| window.holds(*at));
        let probes = probes.fold(Moments::EMPTY, |mut all, (_, one)| {
            all.merge(one);
            all
        });
        Some(TransferRun {
            connections: u32::try_from(parts.len()).unwrap_or(u32::MAX),
            window_used_bytes: most(|reading| reading.in_flight),
            seconds,
            bytes,
            bits_per_second: rate,
            transmitted_bytes: transmitted,
            retransmitted_bytes: retransmitted,
            retransmitted_segments: segments
                .map(|segments| segments.iter().sum())
                .or_else(|| Some(retransmitted?.div_ceil(self.segment?.max(1)))),
            efficiency_percent: transmitted
                .zip(retransmitted)
                .and_then(|(all, again)| efficiency_percent(all, again)),
            rtt_mean_ms,
            rtt_min_ms: known(round_trips.min),
            rtt_max_ms: known(round_trips.max),
            rtt_source: source,
            buffer_delay_percent: rtt_mean_ms
                .and_then(|mean| buffer_delay_percent(mean, baseline_ms)),
            buffer_delay_probe_percent: (probes.count > 0)
                .then(|| buffer_delay_percent(probes.mean * 1e3, baseline_ms))
                .flatten(),
            cwnd_max_bytes: most(|reading| reading.cwnd),
            congestion_control: self.congestion.clone(),
            limited_by: self.verdict.clone(),
            course: self.points(),
            ..TransferRun::default()
        })
    }

    /// The first flow in time.
    fn points(&self) -> Vec<TransferPoint> {
        let Some(flow) = self.flows.values().next() else {
            return Vec::new();
        };
        let mut before = Reading::default();
        let mut peer = self.peer.values().next().into_iter().flatten().peekable();
        let mut rtt = None;
        let points = flow.iter().map(|reading| {
            while let Some(sample) = peer.next_if(|sample| sample.at <= reading.at) {
                rtt = sample.rtt_ms;
            }
            let seconds = reading.at - before.at;
            let bytes = reading.bytes.saturating_sub(before.bytes);
            before = *reading;
            TransferPoint {
                seconds: reading.at,
                bits_per_second: (seconds > 0.0).then(|| bytes as f64 * 8.0 / seconds),
                rtt_ms: reading.rtt_ms.or(rtt),
            }
        });
        points.collect()
    }
}

impl Window {
    fn holds(self, at: f64) -> bool {
        let ramp = self.ramp.as_secs_f64();
        (ramp..ramp + self.time.as_secs_f64()).contains(&at)
    }
}

impl Counted<'_> {
    /// Bytes that the receiver took, and over which time: what it acknowledged where this end
    /// sends.
    fn amount(&self) -> Option<(u64, f64)> {
        let kernel = || {
            let (from, to) = (self.from.totals?, self.to.totals?);
            let bytes = to.acknowledged?.checked_sub(from.acknowledged?)?;
            Some((bytes, (to.at.saturating_sub(from.at)).as_secs_f64()))
        };
        let counted = || {
            let bytes = self.to.bytes.saturating_sub(self.from.bytes);
            (bytes, self.to.at - self.from.at)
        };
        let (bytes, seconds) = kernel().unwrap_or_else(counted);
        (seconds > 0.0).then_some((bytes, seconds))
    }
}

/// The sum of a counter's growth; unknown when one flow's is.
fn total(flows: &[Counted<'_>], of: fn(&TcpTotals) -> Option<u64>) -> Option<u64> {
    let grown = flows.iter().map(|flow| {
        let (from, to) = (flow.from.totals.as_ref()?, flow.to.totals.as_ref()?);
        Some(of(to)?.saturating_sub(of(from)?))
    });
    let grown: Option<Vec<u64>> = grown.collect();
    grown.map(|grown| grown.iter().sum())
}

#[cfg(test)]
mod tests {
    use super::*;
    use tapeline_base::{FlowId, Placement, WallTime};
    use tapeline_report::{Span, TcpReceive, TcpSend, TcpState};

    const TAG: FlowTag = FlowTag {
        id: FlowId(1),
        reversed: false,
    };
    const WINDOW: Window = Window {
        ramp: Duration::from_secs(2),
        time: Duration::from_secs(3),
    };

    fn row(tenth: u64, bytes: u64, measure: Measure) -> Event {
        Event::Row(Row {
            subject: Subject::Flow(TAG),
            phase: Phase::Interval,
            span: Span {
                start: Duration::from_millis(tenth * 100),
                end: Duration::from_millis(tenth * 100 + 100),
            },
            ended: WallTime::default(),
            bytes,
            endpoints: None,
            trip_times: false,
            placement: Placement::default(),
            measure,
        })
    }

    /// A sender with 1000 bytes of a tenth written, 900 acknowledged; twice as many in the ramp.
    fn sent(tenth: u64) -> Event {
        let passed = tenth + 1;
        let early = passed.min(20);
        let state = TcpState {
            mss: Some(100),
            rtt_micros: Some(if tenth < 20 { 90_000 } else { 24_000 }),
            in_flight_packets: Some(5 + u32::from(tenth == 30)),
            cwnd_packets: Some(10),
            totals: TcpTotals {
                // The kernel is asked a millisecond after the boundary.
                at: Duration::from_millis(passed * 100 + 1),
                sent: Some(1000 * (passed + early)),
                retransmitted: Some(10 * passed + 500 * early),
                acknowledged: Some(900 * (passed + early)),
            },
            ..TcpState::default()
        };
        let send = TcpSend {
            retransmits: Some(1),
            state: Some(state),
            ..TcpSend::default()
        };
        row(tenth, 1000, Measure::TcpSend(send))
    }

    #[test]
    fn only_what_is_behind_the_ramp_counts() {
        let mut course = Course::default();
        for tenth in 0..52 {
            course.observe(&sent(tenth), Direction::Up);
        }
        let run = course.summary(WINDOW, 20.0).expect("a run");
        // 30 tenths of 900 acknowledged bytes.
        assert_eq!((run.bytes, run.connections), (27_000, 1));
        assert!((run.seconds - 3.0).abs() < 1e-9, "{}", run.seconds);
        assert!((run.bits_per_second - 72_000.0).abs() < 1e-6);
        assert_eq!(run.transmitted_bytes, Some(30_000));
        assert_eq!(run.retransmitted_bytes, Some(300));
        assert_eq!(run.retransmitted_segments, Some(30));
        assert_eq!(run.efficiency_percent, Some(99.0));
        assert_eq!(run.rtt_mean_ms, Some(24.0));
        let delay = run.buffer_delay_percent.expect("a delay");
        assert!((delay - 20.0).abs() < 1e-9);
        assert_eq!(run.window_used_bytes, Some(600));
        assert_eq!(run.cwnd_max_bytes, Some(1000));
        assert_eq!(run.course.len(), 52);
        // Nothing of it is about the other direction.
        assert!(course.summary(WINDOW, 20.0).is_some());
        let mut other = Course::default();
        other.observe(&sent(0), Direction::Down);
        assert!(other.summary(WINDOW, 20.0).is_none());
    }

    #[test]
    fn a_receiver_knows_nothing_of_the_sender() {
        let mut course = Course::default();
        for tenth in 0..50 {
            let received = Measure::TcpReceive(TcpReceive::default());
            course.observe(&row(tenth, 1000, received), Direction::Down);
        }
        let run = course.summary(WINDOW, 20.0).expect("a run");
        assert_eq!((run.bytes, run.efficiency_percent), (30_000, None));
        assert_eq!((run.rtt_mean_ms, run.buffer_delay_percent), (None, None));
        course.connects = vec![(1.0, 90.0), (2.5, 22.0), (4.5, 26.0), (5.5, 90.0)];
        let run = course.summary(WINDOW, 20.0).expect("a run");
        assert_eq!(run.rtt_mean_ms, Some(24.0));
        assert_eq!(run.rtt_source, Some(RoundTripSource::TcpConnect));
    }

    #[test]
    fn a_run_that_ended_in_its_ramp_is_none() {
        let mut course = Course::default();
        for tenth in 0..15 {
            course.observe(&sent(tenth), Direction::Up);
        }
        assert!(course.summary(WINDOW, 20.0).is_none());
    }
}
