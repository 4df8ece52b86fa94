//! A trial: an ordinary UDP test, and what it says of the path.

use std::time::Duration;

use tapeline_base::{BitRate, Pace, Transport};
use tapeline_dialect::{ClientPlan, Iperf3Client, Limit};
use tapeline_report::Event;
use tapeline_report::document::{Report, SenderDetails};
use tapeline_report::method::{Direction, TrialDelays};
use tapeline_stats::{FaultExtent, HostFault, PlannedTrial, TrialResult};

use crate::common::PeerKind;
use crate::error::RunError;
use crate::run::Run;

/// A pause of a sender behind which its volley may be the cause of losses.
const LONG_PAUSE: Duration = Duration::from_millis(2);
/// Share of its load that a sender must keep.
const KEPT: f64 = 0.995;
/// Datagrams that it may be short of by where a test ends.
const SHORT: f64 = 2.0;
/// Mean length of the runs of losses that a volley leaves: what finds the queue full is lost in one go,
/// while a load above the rate loses one here and one there.
const VOLLEY_RUN: u64 = 3;
/// Share of its load by which a host that was only held up falls short at most.
const FAR_SHORT: f64 = 0.1;

/// Datagrams of one size in one direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Load {
    pub(crate) direction: Direction,
    /// Payload of a datagram, bytes.
    pub(crate) payload: u32,
    /// IP and UDP headers, bytes.
    pub(crate) headers: u32,
}

impl Load {
    /// Bytes of an IP packet.
    pub(crate) fn packet(self) -> u32 {
        self.payload + self.headers
    }

    /// Packets per second of a rate at the IP layer.
    pub(crate) fn packets(self, rate: f64) -> f64 {
        rate / (f64::from(self.packet()) * 8.0)
    }

    /// Payload bits per second of a rate at the IP layer.
    fn payload_rate(self, rate: u64) -> BitRate {
        let bits = u128::from(rate) * u128::from(self.payload) / u128::from(self.packet());
        BitRate(u64::try_from(bits).unwrap_or(u64::MAX).max(1))
    }

    /// Payload that a trial moves, bytes.
    pub(crate) fn bytes(self, trial: PlannedTrial) -> u64 {
        (self.payload_rate(trial.load).0 as f64 * trial.seconds / 8.0) as u64
    }

    /// Runs a trial; returns its report, and how much longer than the others the longest gap between two
    /// datagrams of this end was.
    pub(crate) fn run(
        self,
        run: &mut Run<'_>,
        trial: PlannedTrial,
    ) -> Result<(Report, Option<Duration>), RunError> {
        let rate = self.payload_rate(trial.load);
        let mut pause = None;
        let mut observe = |event: &Event| {
            if let Event::SendTiming(timing) = event {
                pause = timing.gaps.map(|gaps| gaps.max);
            }
        };
        let report = match run.common().peer {
            PeerKind::Auto => {
                let plan = ClientPlan {
                    pace: Some(Pace::Bits(rate)),
                    length: Some(self.payload),
                    limit: Limit::Time(Duration::from_secs_f64(trial.seconds)),
                    ..run.client_plan(Transport::Udp, self.direction)
                };
                run.client_test(&plan, &mut observe)?
            }
            PeerKind::Iperf3 => {
                let plan = run.iperf3_plan(Transport::Udp, self.direction);
                let parameters = tapeline_wire::iperf3::Parameters {
                    time: trial.seconds.round().max(1.0) as u32,
                    rate: rate.0,
                    length: Some(self.payload),
                    ..plan.parameters
                };
                let plan = Iperf3Client { parameters, ..plan };
                run.client_test_iperf3(&plan, &mut observe)?
            }
        };
        Ok((report, pause))
    }

    /// What a trial says.
    pub(crate) fn facts(
        self,
        (report, pause): &(Report, Option<Duration>),
        trial: PlannedTrial,
    ) -> Result<Facts, RunError> {
        let unreported = || {
            let text = "the server did not report what it received";
            RunError::failed("no-receiver-report", text)
        };
        let receiver = report.sum.receiver.udp.as_ref().ok_or_else(unreported)?;
        let (Some(received), Some(lost)) = (receiver.packets, receiver.lost) else {
            return Err(unreported());
        };
        let sent = match report.sum.sender.details {
            Some(SenderDetails::Udp {
                packets: Some(packets),
                ..
            }) => packets,
            _ => received + lost,
        };
        let stream = report.streams.first();
        let stream = stream.and_then(|stream| stream.receiver.udp.as_ref());
        let expected = self.packets(trial.load as f64) * trial.seconds;
        let short = (sent as f64 + SHORT) < KEPT * expected;
        Ok(Facts {
            sent,
            lost,
            lost_receiver: receiver.lost_receiver_host,
            lost_sender: receiver.lost_sender_host,
            short: short.then(|| sent as f64 / expected),
            loss_runs: stream.and_then(|udp| udp.loss_runs),
            pause: *pause,
        })
    }

    /// Delays and runs of losses of a trial.
    pub(crate) fn delays(self, report: &Report, facts: &Facts, seconds: f64) -> TrialDelays {
        let stream = report.streams.first();
        let receiver = stream.and_then(|stream| stream.receiver.udp.as_ref());
        let one_way = stream.and_then(|stream| stream.one_way_delay.as_ref());
        let one_way = one_way.map(|delay| (&delay.delays, "one_way"));
        let loaded = report.latency_under_load.as_ref();
        let round_trip = loaded.map(|latency| (&latency.loaded, "round_trip"));
        let known =
            |(delays, _): &(&tapeline_report::document::DelaySummary, _)| delays.p50_ms.is_some();
        let delays = one_way.filter(known).or(round_trip.filter(known));
        let of = delays.map(|(delays, _)| delays);
        TrialDelays {
            seconds,
            sent: facts.sent,
            lost: facts.lost,
            delay_source: delays.map(|(_, source)| source),
            delay_p50_ms: of.and_then(|delays| delays.p50_ms),
            delay_p90_ms: of.and_then(|delays| delays.p90_ms),
            delay_p99_ms: of.and_then(|delays| delays.p99_ms),
            delay_max_ms: of.and_then(|delays| delays.max_ms),
            jitter_ms: receiver.and_then(|udp| udp.jitter_ms.or(udp.jitter_mean_ms)),
            loss_runs: receiver.and_then(|udp| udp.loss_runs),
            longest_loss_run: receiver.and_then(|udp| udp.longest_loss_run),
        }
    }
}

/// What a trial says.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Facts {
    pub(crate) sent: u64,
    pub(crate) lost: u64,
    /// Of `lost`, dropped by the receiver's host.
    pub(crate) lost_receiver: Option<u64>,
    /// Of `lost`, dropped by the queue of the sender's device: the first link takes no more.
    pub(crate) lost_sender: Option<u64>,
    /// The share of the load that the sender reached, if it fell short.
    pub(crate) short: Option<f64>,
    /// Runs of consecutive losses; `None` where the receiver does not know.
    pub(crate) loss_runs: Option<u64>,
    /// The sender's longest pause; `None` of another end's.
    pub(crate) pause: Option<Duration>,
}

impl Facts {
    /// Dropped by both hosts together.
    pub(crate) fn lost_host(&self) -> Option<u64> {
        match (self.lost_receiver, self.lost_sender) {
            (None, None) => None,
            (receiver, sender) => Some(receiver.unwrap_or(0) + sender.unwrap_or(0)),
        }
    }

    /// Datagrams that were due in the longest pause of a trial of this length, and left at once then.
    pub(crate) fn volley(&self, seconds: f64) -> f64 {
        let pause = self.pause.unwrap_or_default();
        self.sent as f64 * pause.as_secs_f64() / seconds
    }

    /// How a host, not the network, may have decided the trial; `None` where none did. `load` is in bits
    /// per second, and volleys up to `harmless` datagrams have passed without loss.
    pub(crate) fn host(
        &self,
        load: u64,
        seconds: f64,
        direction: Direction,
        harmless: f64,
    ) -> Option<ExplainedFault> {
        let (sender, receiver) = direction.hosts();
        if let Some(share) = self.short {
            let asked = load as f64 / 1e6;
            let reason = format!("{sender} sent {:.4} of {asked:.4} Mbit/s", asked * share);
            return Some(ExplainedFault::new(1.0 - share, None, reason));
        }
        // A volley fills a queue that the load itself does not.
        let (pause, volley) = (self.pause.unwrap_or_default(), self.volley(seconds));
        let explains = volley > harmless && self.lost as f64 <= 2.0 * volley;
        let runs = self
            .loss_runs
            .is_none_or(|runs| self.lost >= VOLLEY_RUN * runs);
        if pause >= LONG_PAUSE && self.lost > 0 && explains && runs {
            let ms = pause.as_millis();
            let reason = format!("{sender} was held up for {ms} ms, and sent a volley");
            return Some(ExplainedFault::new(0.0, Some(self.lost), reason));
        }
        let dropped = self.lost_receiver.filter(|dropped| *dropped > 0)?;
        let share = dropped as f64 / self.sent.max(1) as f64;
        let reason = format!("{receiver} dropped {dropped} of {} datagrams", self.sent);
        Some(ExplainedFault::new(share, Some(dropped), reason))
    }

    /// As the search takes it.
    pub(crate) fn result(&self, trial: PlannedTrial, host: Option<&ExplainedFault>) -> TrialResult {
        TrialResult {
            trial,
            sent: self.sent,
            lost: self.lost,
            fault: host.map(|one| one.fault),
        }
    }
}

/// What a host did to a trial, in words too.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ExplainedFault {
    pub(crate) fault: HostFault,
    /// In words.
    pub(crate) reason: String,
}

impl ExplainedFault {
    /// A host fell short by this share of the load.
    fn new(share: f64, losses: Option<u64>, reason: String) -> Self {
        let extent = match share > FAR_SHORT {
            true => FaultExtent::Limited,
            false => FaultExtent::Disturbed,
        };
        let fault = HostFault { extent, losses };
        Self { fault, reason }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn facts(sent: u64, lost: u64, lost_receiver: Option<u64>) -> Facts {
        Facts {
            sent,
            lost,
            lost_receiver,
            lost_sender: None,
            short: None,
            loss_runs: None,
            pause: None,
        }
    }

    #[test]
    fn rates_count_headers() {
        let load = Load {
            direction: Direction::Up,
            payload: 1472,
            headers: 28,
        };
        assert_eq!(load.payload_rate(50_000_000), BitRate(49_066_666));
        assert!((load.packets(50e6) - 4166.667).abs() < 1e-3);
        let trial = PlannedTrial {
            load: 12_000,
            seconds: 10.0,
        };
        assert_eq!(load.bytes(trial), 14_720);
    }

    #[test]
    fn losses_of_a_host_are_no_losses_of_the_path() {
        let fault = |facts: Facts| facts.host(64_000_000, 1.0, Direction::Up, 0.0);
        let host = |facts: Facts| fault(facts).map(|one| (one.fault.losses, one.reason));
        assert_eq!(host(facts(1000, 0, Some(0))), None);
        assert_eq!(host(facts(1000, 5, Some(0))), None);
        assert_eq!(host(facts(1000, 5, None)), None);
        let dropped = host(facts(1000, 25, Some(5))).expect("the server's");
        let reason = "the server dropped 5 of 1000 datagrams".to_owned();
        assert_eq!(dropped, (Some(5), reason));
        // A volley of 20 ms, which are 20 datagrams, and one that is too small for so many.
        let held_up = |lost| Facts {
            pause: Some(Duration::from_millis(20)),
            ..facts(1000, lost, Some(0))
        };
        let volley = host(held_up(30)).expect("this computer's");
        let reason = "this computer was held up for 20 ms, and sent a volley".to_owned();
        assert_eq!(volley, (Some(30), reason));
        assert_eq!([0, 41].map(|lost| host(held_up(lost))), [None, None]);
        // One here and one there, and a volley that had passed without loss before.
        let strewn = |runs| Facts {
            loss_runs: Some(runs),
            ..held_up(30)
        };
        assert_eq!(host(strewn(11)), None);
        assert_eq!(host(strewn(10)), Some(volley));
        let passed = held_up(30).host(64_000_000, 1.0, Direction::Up, 20.0);
        assert_eq!(passed, None);
        let slow = Facts {
            short: Some(0.5),
            ..facts(1000, 0, Some(0))
        };
        let fell_short = slow.host(64_000_000, 1.0, Direction::Down, 0.0);
        let limited = ExplainedFault {
            fault: HostFault {
                extent: FaultExtent::Limited,
                losses: None,
            },
            reason: "the server sent 32.0000 of 64.0000 Mbit/s".to_owned(),
        };
        assert_eq!(fell_short, Some(limited));
        // It may only have been held up.
        let nearly = Facts {
            short: Some(0.99),
            ..facts(1000, 0, Some(0))
        };
        for facts in [nearly, facts(1000, 5, Some(5)), held_up(30)] {
            let extent = fault(facts).map(|one| one.fault.extent);
            assert_eq!(extent, Some(FaultExtent::Disturbed), "{facts:?}");
        }
    }
}
