//! What a UDP sender is to do, from a client's plan or a server's order: pure.

use std::time::Duration;

use tapeline_base::{BitRate, MonoTime, Pace};
use tapeline_engine::{
    FrameClock, FrameSizes, FrameTraffic, LengthChain, LengthPace, LengthTraffic, Schedule,
    UdpTraffic, VariableRate,
};
use tapeline_wire::iperf2::{IsochronousFrame, IsochronousSettings, Millionths};

use crate::plan::{ClientPlan, FrameMean, IsochronousPlan, MarkovChain, Shape};

/// The shape of a UDP sender's traffic, before it has a start.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Traffic {
    /// Equal datagrams at a pace.
    Steady(Pace),
    /// Equal datagrams at a rate that changes; bits per second.
    Variable { mean: BitRate, deviation: BitRate },
    /// Frames or bursts.
    Frames(FramePlan),
    /// Lengths from a chain.
    Lengths { chain: MarkovChain, pace: Pace },
}

/// Frames or bursts at the ticks of a clock.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct FramePlan {
    pub(crate) period: Duration,
    /// Mean size, bytes.
    pub(crate) mean: f64,
    /// Standard deviation, bytes.
    pub(crate) deviation: f64,
    /// Between the datagrams of a frame.
    pub(crate) gap: Duration,
    /// Datagrams say to which frame they belong.
    pub(crate) marked: bool,
}

impl FramePlan {
    /// The period as datagrams carry it, in whole microseconds: the slots of both ends agree.
    pub(crate) fn period_micros(&self) -> u32 {
        u32::try_from(self.period.as_micros())
            .unwrap_or(u32::MAX)
            .max(1)
    }

    /// From a client's isochronous plan, for datagrams of `length` bytes.
    fn isochronous(plan: &IsochronousPlan, length: u32, gap: Duration) -> Self {
        let micros = (1e6 / plan.frames_per_second).round().max(1.0);
        let period = Duration::from_micros(micros as u64);
        // The rate is kept although the period is whole.
        let bytes = |bits: f64| bits * period.as_secs_f64() / 8.0;
        Self {
            period,
            mean: match plan.mean {
                FrameMean::Bits(bits) => bytes(bits),
                FrameMean::Packets(packets) => packets * f64::from(length),
            },
            deviation: bytes(plan.deviation),
            gap,
            marked: true,
        }
    }

    /// From the settings that a client sent, which are usable.
    pub(crate) fn ordered(settings: &IsochronousSettings, length: u32) -> Self {
        let plan = IsochronousPlan {
            frames_per_second: settings.frames_per_second.as_f64(),
            mean: FrameMean::Bits(settings.mean.as_f64()),
            deviation: settings.variance.as_f64(),
        };
        let gap = Duration::from_secs_f64(settings.burst_gap.as_f64());
        Self::isochronous(&plan, length, gap)
    }
}

impl Traffic {
    /// What the plan's own senders do, with datagrams of `length` bytes.
    pub(crate) fn for_client(plan: &ClientPlan, length: u32) -> Self {
        let pace = plan.udp_pace();
        let gap = gap_within_frames(plan);
        match &plan.shape {
            Shape::Steady | Shape::NearCongestion { .. } => Self::Steady(pace),
            Shape::Variable { deviation } => Self::Variable {
                mean: pace.bits(u64::from(length)),
                deviation: *deviation,
            },
            Shape::Isochronous(frames) => Self::Frames(FramePlan::isochronous(frames, length, gap)),
            Shape::Burst { period, size } => Self::Frames(FramePlan {
                period: *period,
                mean: size.0 as f64,
                deviation: 0.0,
                gap,
                marked: false,
            }),
            Shape::Markov(chain) => Self::Lengths {
                chain: chain.clone(),
                pace,
            },
        }
    }

    /// Frames whose datagrams say so.
    pub(crate) fn marked_frames(&self) -> Option<FramePlan> {
        match self {
            Self::Frames(frames) if frames.marked => Some(*frames),
            _ => None,
        }
    }

    /// The rate that the sender aims at in datagrams of `length` bytes, where it is steady.
    pub(crate) fn steady_rate(&self, length: u32) -> Option<BitRate> {
        match self {
            Self::Steady(pace) => Some(pace.bits(u64::from(length))).filter(|rate| rate.0 > 0),
            Self::Variable { .. } | Self::Frames(_) | Self::Lengths { .. } => None,
        }
    }

    /// The longest pause that belongs to the traffic.
    pub(crate) fn longest_gap(&self, length: u32) -> Option<Duration> {
        match self {
            Self::Steady(pace) => pace.gap(u64::from(length)),
            Self::Variable { mean, .. } => mean.gap(u64::from(length)),
            Self::Frames(frames) => Some(frames.period.max(frames.gap)),
            Self::Lengths { chain, pace } => {
                let longest = chain.lengths.iter().copied().max().unwrap_or(length);
                pace.gap(u64::from(longest))
            }
        }
    }

    /// Clock and sizes of frames, for a sender whose congestion control cuts them.
    pub(crate) fn frames(&self, start: MonoTime, seed: u64) -> Option<(FrameClock, FrameSizes)> {
        let frames = self.marked_frames()?;
        Some((
            FrameClock::new(start, frames.period),
            FrameSizes::new(frames.mean, frames.deviation, seed),
        ))
    }

    /// The engine's traffic from `start` on. `seed` decides all that is drawn.
    pub(crate) fn engine(&self, start: MonoTime, length: u32, seed: u64) -> UdpTraffic {
        let bits = u64::from(length) * 8;
        match self {
            Self::Steady(pace) => UdpTraffic::steady(schedule(*pace, start, bits)),
            Self::Variable { mean, deviation } => {
                let (mean, deviation) = (mean.0 as f64, deviation.0 as f64);
                VariableRate::new(start, bits, mean, deviation, seed)
                    .map_or(UdpTraffic::Unpaced, UdpTraffic::Variable)
            }
            Self::Frames(frames) => {
                let shortest = if frames.marked {
                    IsochronousFrame::END as u32
                } else {
                    1
                };
                UdpTraffic::Frames(FrameTraffic::new(
                    FrameClock::new(start, frames.period),
                    FrameSizes::new(frames.mean, frames.deviation, seed),
                    length,
                    shortest,
                    frames.gap,
                ))
            }
            Self::Lengths { chain, pace } => lengths(chain, *pace, start, bits, seed),
        }
    }
}

fn schedule(pace: Pace, start: MonoTime, bits: u64) -> Option<Schedule> {
    match pace {
        Pace::Bits(rate) => Schedule::at_bit_rate(start, bits, rate.0),
        Pace::Packets(rate) => Schedule::at_unit_rate(start, rate.0),
        Pace::Gap(gap) => Schedule::at_gap(start, gap),
    }
}

fn lengths(chain: &MarkovChain, pace: Pace, start: MonoTime, bits: u64, seed: u64) -> UdpTraffic {
    let Some(drawn) = LengthChain::new(&chain.lengths, &chain.transitions, seed) else {
        return UdpTraffic::steady(schedule(pace, start, bits));
    };
    let pace = match pace {
        Pace::Bits(rate) => Schedule::at_bit_rate(start, 8, rate.0).map(LengthPace::Bytes),
        Pace::Packets(_) | Pace::Gap(_) => schedule(pace, start, bits).map(LengthPace::Datagrams),
    };
    UdpTraffic::Lengths(LengthTraffic::new(
        drawn,
        pace.unwrap_or(LengthPace::Unpaced),
    ))
}

/// `--ipg` is the gap between the datagrams of a frame.
fn gap_within_frames(plan: &ClientPlan) -> Duration {
    match plan.pace {
        Some(Pace::Gap(gap)) => gap,
        Some(Pace::Bits(_) | Pace::Packets(_)) | None => Duration::ZERO,
    }
}

/// A client's frames as its header describes them, where the server is to produce them.
pub(crate) fn ordered_frames(plan: &ClientPlan, length: u32) -> Option<IsochronousSettings> {
    let Shape::Isochronous(frames) = &plan.shape else {
        return None;
    };
    let fps = frames.frames_per_second;
    let mean = match frames.mean {
        FrameMean::Bits(bits) => bits,
        FrameMean::Packets(packets) => packets * f64::from(length) * 8.0 * fps,
    };
    Some(IsochronousSettings {
        frames_per_second: Millionths::from_f64(fps),
        mean: Millionths::from_f64(mean),
        variance: Millionths::from_f64(frames.deviation),
        burst_gap: Millionths::from_f64(gap_within_frames(plan).as_secs_f64()),
    })
}

#[cfg(test)]
mod tests {
    use tapeline_base::{Bytes, PacketRate};

    use super::*;
    use crate::plan::client::tests::client_plan;

    fn isochronous(mean: FrameMean, deviation: f64) -> ClientPlan {
        ClientPlan {
            shape: Shape::Isochronous(IsochronousPlan {
                frames_per_second: 60.0,
                mean,
                deviation,
            }),
            ..client_plan()
        }
    }

    #[test]
    fn frames_keep_the_rate_although_their_period_is_whole() {
        let plan = isochronous(FrameMean::Bits(100e6), 10e6);
        let frames = Traffic::for_client(&plan, 1470)
            .marked_frames()
            .expect("frames");
        assert_eq!(frames.period_micros(), 16_667);
        let rate = frames.mean * 8.0 / frames.period.as_secs_f64();
        assert!((rate - 100e6).abs() < 1.0, "{rate}");
        let packets = Traffic::for_client(&isochronous(FrameMean::Packets(25.0), 0.0), 1470);
        assert_eq!(packets.marked_frames().expect("frames").mean, 36_750.0);
    }

    #[test]
    fn an_order_for_frames_comes_out_as_the_plan_was() {
        for mean in [FrameMean::Bits(50_000.0), FrameMean::Packets(25.0)] {
            let plan = isochronous(mean, 5_000.0);
            let order = ordered_frames(&plan, 500).expect("settings");
            assert!(order.is_usable());
            let ordered = FramePlan::ordered(&order, 500);
            let own = Traffic::for_client(&plan, 500)
                .marked_frames()
                .expect("frames");
            assert_eq!(ordered.period, own.period);
            assert!((ordered.mean / own.mean - 1.0).abs() < 1e-4, "{ordered:?}");
            assert!(
                (ordered.deviation - own.deviation).abs() < 1.0,
                "{ordered:?}"
            );
        }
    }

    #[test]
    fn a_gap_is_a_pace_and_stands_within_frames() {
        let gap = Duration::from_millis(10);
        let mut plan = client_plan();
        plan.pace = Some(Pace::Gap(gap));
        assert_eq!(
            Traffic::for_client(&plan, 100),
            Traffic::Steady(Pace::Gap(gap))
        );
        plan.shape = Shape::Burst {
            period: Duration::from_secs(1),
            size: Bytes(1 << 20),
        };
        let Traffic::Frames(bursts) = Traffic::for_client(&plan, 100) else {
            panic!("no bursts");
        };
        assert_eq!((bursts.gap, bursts.marked), (gap, false));
        assert_eq!(bursts.mean, 1_048_576.0);
    }

    #[test]
    fn a_variable_packet_rate_counts_in_bits() {
        let mut plan = client_plan();
        plan.pace = Some(Pace::Packets(PacketRate(1000)));
        let deviation = BitRate(80_000);
        plan.shape = Shape::Variable { deviation };
        let mean = BitRate(800_000);
        assert_eq!(
            Traffic::for_client(&plan, 100),
            Traffic::Variable { mean, deviation }
        );
    }
}
