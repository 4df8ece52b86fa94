//! Shape of a TCP sender's traffic, from a client's plan or from the header that a server
//! was sent.

use std::time::Duration;

use tapeline_base::{BitRate, Bytes, Clock, MonoTime, Pace};
use tapeline_engine::{FrameClock, FrameSizes, Rest, Schedule, Timing, VariableRate};
use tapeline_report::BurstKind;
use tapeline_sys::SystemClock;
use tapeline_wire::iperf2::{IsochronousSettings, Millionths, TcpClientHeader, Workload};

use crate::plan::{ClientPlan, FrameMean, IsochronousPlan, Shape};

/// Sizes and times of a TCP sender's bursts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum TcpTraffic {
    /// Blocks, at a rate in bits per second or as fast as the connection takes them.
    Blocks { rate: Option<u64> },
    /// Blocks at a changing rate, bits per second.
    Varying { mean: u64, deviation: f64 },
    /// A pause of so many round-trip times after each block.
    Resting { factor: f64 },
    /// A frame or burst of so many bytes in each slot of a clock.
    Clocked {
        kind: Clocked,
        period: Duration,
        mean: f64,
        deviation: f64,
    },
}

/// What the slots of a clock hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Clocked {
    Frames,
    Bursts,
}

impl TcpTraffic {
    /// What the client's own sender does; `length` is that of a block.
    pub(crate) fn from_plan(plan: &ClientPlan, length: u32) -> Self {
        let rate = match plan.pace {
            Some(pace) => Some(pace.bits(u64::from(length)).0).filter(|rate| *rate > 0),
            None => None,
        };
        match &plan.shape {
            Shape::Variable { deviation } if rate.is_some() => Self::Varying {
                mean: rate.unwrap_or_default(),
                deviation: deviation.0 as f64,
            },
            Shape::Steady | Shape::Variable { .. } | Shape::Markov(_) => Self::Blocks { rate },
            Shape::NearCongestion { factor } => Self::Resting { factor: *factor },
            Shape::Burst { period, size } => Self::Clocked {
                kind: Clocked::Bursts,
                period: *period,
                mean: size.0 as f64,
                deviation: 0.0,
            },
            Shape::Isochronous(frames) => {
                let (mean, deviation) = frame_bits(frames, length);
                frames_of(frames.frames_per_second, mean, deviation)
            }
        }
    }

    /// What a client asks a server to send.
    pub(crate) fn from_header(header: &TcpClientHeader, length: u32) -> Self {
        match header.workload {
            Workload::Isochronous(Some(settings)) if settings.is_usable() => frames_of(
                settings.frames_per_second.as_f64(),
                settings.mean.as_f64(),
                settings.variance.as_f64(),
            ),
            Workload::PeriodicBurst(settings) if settings.frames_per_second > Millionths(0) => {
                // A burst of unknown size is a block.
                let mean = match settings.mean {
                    Millionths(0) => f64::from(length),
                    mean => mean.as_f64(),
                };
                Self::Clocked {
                    kind: Clocked::Bursts,
                    period: period(settings.frames_per_second.as_f64()),
                    mean,
                    deviation: 0.0,
                }
            }
            _ => Self::Blocks {
                rate: header.rate.map(|rate| rate.0).filter(|rate| *rate > 0),
            },
        }
    }

    /// The same, where a server grants no more than a rate. Of other shapes than blocks it is the
    /// kernel that keeps it.
    pub(crate) fn at_most(self, rate: Option<BitRate>) -> Self {
        match self {
            Self::Blocks { rate: own } => Self::Blocks {
                rate: own.into_iter().chain(rate.map(|rate| rate.0)).min(),
            },
            Self::Varying { .. } | Self::Resting { .. } | Self::Clocked { .. } => self,
        }
    }

    /// The same for the engine, from `start` on; blocks within `quantum` leave together.
    pub(crate) fn timing(
        self,
        start: MonoTime,
        length: u32,
        seed: u64,
        quantum: Duration,
    ) -> Timing {
        let bits = u64::from(length) * 8;
        let timing = match self {
            Self::Blocks { rate } => rate
                .and_then(|rate| Schedule::at_bit_rate(start, bits, rate))
                .map(|schedule| Timing::Paced(schedule.in_quanta(quantum))),
            Self::Varying { mean, deviation } => {
                VariableRate::new(start, bits, mean as f64, deviation, seed).map(Timing::Varying)
            }
            Self::Resting { factor } => Some(Timing::Resting(Rest::new(factor))),
            Self::Clocked {
                period,
                mean,
                deviation,
                ..
            } => Some(Timing::Clocked {
                clock: FrameClock::new(start, period),
                sizes: FrameSizes::new(mean, deviation, seed),
            }),
        };
        timing.unwrap_or(Timing::Free)
    }

    /// The rate that the traffic is to keep, where it has one.
    pub(crate) fn rate(self) -> Option<BitRate> {
        match self {
            Self::Blocks { rate } => rate.map(BitRate),
            Self::Varying { mean, .. } => Some(BitRate(mean)),
            Self::Resting { .. } | Self::Clocked { .. } => None,
        }
    }

    /// Whether writes wait for something else than the connection.
    pub(crate) fn pauses(self) -> bool {
        matches!(self, Self::Resting { .. } | Self::Clocked { .. })
    }

    /// Time from one send to the next, where that is known.
    pub(crate) fn gap(self, length: u32) -> Option<Duration> {
        match self {
            Self::Blocks { rate } => Pace::Bits(tapeline_base::BitRate(rate?)).gap(length.into()),
            Self::Varying { mean, .. } => {
                Pace::Bits(tapeline_base::BitRate(mean)).gap(length.into())
            }
            Self::Resting { .. } => None,
            Self::Clocked { period, .. } => Some(period),
        }
    }

    /// Frames are counted and shown.
    pub(crate) fn has_frames(self) -> bool {
        let kind = match self {
            Self::Clocked { kind, .. } => Some(kind),
            _ => None,
        };
        kind == Some(Clocked::Frames)
    }

    /// Period that the headers of bursts carry.
    pub(crate) fn period(self) -> Option<Duration> {
        match self {
            Self::Clocked { period, .. } => Some(period),
            _ => None,
        }
    }
}

/// Mean and deviation of the frames' rate, bits per second.
fn frame_bits(frames: &IsochronousPlan, length: u32) -> (f64, f64) {
    let mean = match frames.mean {
        FrameMean::Bits(bits) => bits,
        FrameMean::Packets(packets) => packets * frames.frames_per_second * f64::from(length) * 8.0,
    };
    (mean, frames.deviation)
}

fn frames_of(frames_per_second: f64, mean: f64, deviation: f64) -> TcpTraffic {
    let bytes = |bits: f64| bits / frames_per_second / 8.0;
    TcpTraffic::Clocked {
        kind: Clocked::Frames,
        period: period(frames_per_second),
        mean: bytes(mean),
        deviation: bytes(deviation),
    }
}

fn period(per_second: f64) -> Duration {
    Duration::try_from_secs_f64(1.0 / per_second).unwrap_or(Duration::from_secs(1))
}

/// The workload as the header says it. Frames are described only where the server is to
/// produce them.
pub(crate) fn tcp_workload(plan: &ClientPlan, peer_sends: bool) -> Workload {
    match &plan.shape {
        Shape::Isochronous(frames) => {
            let (mean, deviation) = frame_bits(frames, plan.tcp_write_length());
            let settings = IsochronousSettings {
                frames_per_second: Millionths::from_f64(frames.frames_per_second),
                mean: Millionths::from_f64(mean),
                variance: Millionths::from_f64(deviation),
                burst_gap: Millionths(0),
            };
            Workload::Isochronous(peer_sends.then_some(settings))
        }
        Shape::Burst {
            period,
            size: Bytes(size),
        } => Workload::PeriodicBurst(IsochronousSettings {
            frames_per_second: Millionths::from_f64(1.0 / period.as_secs_f64()),
            mean: Millionths::from_f64(*size as f64),
            ..IsochronousSettings::default()
        }),
        Shape::Steady
        | Shape::Variable { .. }
        | Shape::Markov(_)
        | Shape::NearCongestion { .. } => Workload::Stream,
    }
}

/// What a TCP receiver makes of the bursts in its stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct BurstOrder {
    pub(crate) kind: BurstKind,
    /// The sender's stamps are to be compared with our clock.
    pub(crate) trip_times: bool,
    /// A header of the sender may stand before its first burst.
    pub(crate) preamble: bool,
    /// A row for each burst instead of each interval.
    pub(crate) by_burst: bool,
}

impl BurstOrder {
    /// How the bursts of such a stream are taken; `None` when there are none, or none that
    /// could be measured: what a frame's latency is only the sender's clock can show.
    pub(crate) fn from_workload(
        workload: &Workload,
        trip_times: bool,
        by_frame: bool,
    ) -> Option<Self> {
        let kind = match workload {
            Workload::Stream if trip_times => BurstKind::Write,
            Workload::Isochronous(_) if trip_times || by_frame => BurstKind::Frame,
            Workload::Stream | Workload::Isochronous(_) => return None,
            Workload::PeriodicBurst(settings) => BurstKind::Periodic {
                period: burst_period(settings).unwrap_or_default(),
            },
        };
        Some(Self {
            kind,
            trip_times,
            preamble: false,
            by_burst: matches!(kind, BurstKind::Periodic { .. }) || by_frame,
        })
    }
}

/// Whether such a stream consists of bursts that begin with a header.
pub(crate) fn is_stamped(header: &TcpClientHeader) -> bool {
    header.trip_times || header.workload != Workload::Stream
}

/// Time from one burst to the next, when a header says so.
pub(crate) fn burst_period(settings: &IsochronousSettings) -> Option<Duration> {
    let per_second = settings.frames_per_second.as_f64();
    (per_second > 0.0)
        .then(|| Duration::try_from_secs_f64(1.0 / per_second).ok())
        .flatten()
}

/// A seed for the flow `number`: the user's, or the time, which no two tests share.
pub(crate) fn seed(given: Option<u64>, number: u32) -> u64 {
    let base = given.unwrap_or_else(|| SystemClock.wall().as_nanos() as u64);
    base.wrapping_add(u64::from(number))
}

#[cfg(test)]
mod tests {

    use super::*;
    use crate::plan::client::tests::client_plan;

    #[test]
    fn a_server_produces_the_frames_that_the_client_describes() {
        let mut plan = client_plan();
        plan.shape = Shape::Isochronous(IsochronousPlan {
            frames_per_second: 60.0,
            mean: FrameMean::Bits(20e6),
            deviation: 1e6,
        });
        let own = TcpTraffic::from_plan(&plan, 131_072);
        let header = TcpClientHeader {
            workload: tcp_workload(&plan, true),
            ..TcpClientHeader::default()
        };
        assert_eq!(TcpTraffic::from_header(&header, 131_072), own);
        let TcpTraffic::Clocked { period, mean, .. } = own else {
            panic!("{own:?}");
        };
        assert_eq!(period.as_micros(), 16_666);
        assert!((mean - 41_666.666).abs() < 0.01, "{mean}");
        assert_eq!(tcp_workload(&plan, false), Workload::Isochronous(None));
    }

    #[test]
    fn a_burst_keeps_its_size_on_the_way_to_the_server() {
        let mut plan = client_plan();
        plan.shape = Shape::Burst {
            period: Duration::from_millis(500),
            size: Bytes(1 << 20),
        };
        let own = TcpTraffic::from_plan(&plan, 131_072);
        let header = TcpClientHeader {
            workload: tcp_workload(&plan, true),
            ..TcpClientHeader::default()
        };
        assert_eq!(TcpTraffic::from_header(&header, 131_072), own);
    }

    #[test]
    fn impossible_orders_become_plain_traffic() {
        for settings in [
            IsochronousSettings::default(),
            IsochronousSettings {
                frames_per_second: Millionths::from_whole(u32::MAX),
                mean: Millionths::from_whole(1),
                ..IsochronousSettings::default()
            },
        ] {
            let header = TcpClientHeader {
                workload: Workload::Isochronous(Some(settings)),
                ..TcpClientHeader::default()
            };
            let traffic = TcpTraffic::from_header(&header, 1000);
            assert_eq!(traffic, TcpTraffic::Blocks { rate: None });
        }
    }

    #[test]
    fn a_changing_rate_needs_a_mean() {
        let mut plan = client_plan();
        plan.shape = Shape::Variable {
            deviation: BitRate(10),
        };
        assert_eq!(
            TcpTraffic::from_plan(&plan, 1000),
            TcpTraffic::Blocks { rate: None }
        );
        plan.pace = Some(Pace::Bits(BitRate(100)));
        assert!(matches!(
            TcpTraffic::from_plan(&plan, 1000),
            TcpTraffic::Varying { mean: 100, .. }
        ));
    }
}
