//! The arithmetic of RFC 6349, its pass criteria, and what the three metrics say of a path.
//!
//! Rates are bits per second, times seconds, as `f64`: they are products of measurements.

use crate::limit::Certainty;

/// Bytes that Ethernet adds to an IP packet on the line: header 14, check sequence 4, gap 12,
/// preamble and start 8 (RFC 6349 section 4.1.1).
pub const ETHERNET_OVERHEAD: u32 = 38;
/// Bytes that a tag of a virtual network adds.
pub const VLAN_TAG: u32 = 4;
/// Bytes that PPP adds on a serial line: header 4, check sequence 2, flags 2.
pub const PPP_OVERHEAD: u32 = 8;
/// Headers of IPv4 and TCP without options, which the RFC subtracts.
pub const RFC_HEADERS: u32 = 40;

/// Rates to either side of a ratio of 1 that count as reached.
pub const DEFAULT_TTR: f64 = 1.15;
/// Least share of the transmitted bytes that were not sent again, percent.
pub const DEFAULT_EFFICIENCY: f64 = 99.0;
/// Most that the transfer may add to the round trip, percent.
pub const DEFAULT_BUFFER_DELAY: f64 = 100.0;
/// A ratio below it says that the bottleneck is not what was said.
pub const FASTER_THAN_POSSIBLE: f64 = 0.97;
/// Loss at a tenth of the rate from which on it does not depend on load, percent.
pub const LIGHT_LOAD_LOSS: f64 = 0.02;
/// Share of the bytes sent again from which on packets were dropped, percent.
pub const RESENT: f64 = 0.05;
/// Share of a window that must have been on the way for it to count as used.
pub const WINDOW_USED: f64 = 0.9;
/// Times a window, from which on it was not held.
pub const WINDOW_EXCEEDED: f64 = 1.1;
/// Buffer delay below which nothing had been queued when packets were dropped, percent.
pub const NO_QUEUE: f64 = 20.0;

/// Bytes of the headers of a TCP segment.
#[must_use]
pub const fn tcp_headers(ipv6: bool, timestamps: bool) -> u32 {
    let plain = if ipv6 { 60 } else { RFC_HEADERS };
    if timestamps { plain + 12 } else { plain }
}

/// Bandwidth-delay product, bits (section 3.3.1).
#[must_use]
pub fn bandwidth_delay(bits_per_second: f64, round_trip: f64) -> f64 {
    bits_per_second * round_trip
}

/// The least window that fills the path, bytes; also the least send buffer (section 3.3.1).
#[must_use]
pub fn minimum_window(bandwidth_delay_bits: f64) -> u64 {
    // Whole bits first: a product of measurements has more digits than it knows.
    (bandwidth_delay_bits.round() / 8.0).ceil() as u64
}

/// The rate that a window allows (section 3.3.1).
#[must_use]
pub fn window_rate(window: u64, round_trip: f64) -> f64 {
    window as f64 * 8.0 / round_trip
}

/// Connections that together have a window of the product (section 5.1).
#[must_use]
pub fn connections(minimum_window: u64, window: u64) -> u64 {
    minimum_window.div_ceil(window.max(1)).max(1)
}

/// Where the rate of the bottleneck is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BottleneckLayer {
    /// Bytes of IP packets: a measurement over UDP, or a contract.
    Ip,
    /// Bits on an Ethernet line, with so many VLAN tags.
    Ethernet {
        /// How many tags each frame has.
        tags: u32,
    },
    /// Bits on a serial line with PPP.
    Ppp,
}

/// The greatest TCP rate that a bottleneck allows (section 4.1.1).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct IdealRate {
    /// Packets of the path's MTU per second: whole ones on a line, without rounding at IP.
    pub packets_per_second: f64,
    /// Headers of each packet, bytes.
    pub header_bytes: u32,
    /// Payload, bits per second.
    pub bits_per_second: f64,
}

impl IdealRate {
    /// Of a bottleneck of a rate, with packets of `mtu` bytes of which `headers` are no payload.
    #[must_use]
    pub fn new(bits_per_second: f64, layer: BottleneckLayer, mtu: u32, headers: u32) -> Self {
        let on_line = |overhead: u32| bits_per_second / (f64::from(mtu + overhead) * 8.0);
        let packets_per_second = match layer {
            BottleneckLayer::Ip => on_line(0),
            BottleneckLayer::Ethernet { tags } => {
                on_line(ETHERNET_OVERHEAD + tags * VLAN_TAG).floor()
            }
            BottleneckLayer::Ppp => on_line(PPP_OVERHEAD).floor(),
        };
        Self {
            packets_per_second,
            header_bytes: headers,
            bits_per_second: packets_per_second * f64::from(mtu.saturating_sub(headers)) * 8.0,
        }
    }

    /// What a window allows of it.
    #[must_use]
    pub fn with_window(&self, window: u64, round_trip: f64) -> f64 {
        self.bits_per_second.min(window_rate(window, round_trip))
    }
}

/// The time that a transfer takes at the greatest rate, seconds (section 4.1.2).
#[must_use]
pub fn ideal_time(bytes: u64, ideal_bits_per_second: f64) -> f64 {
    bytes as f64 * 8.0 / ideal_bits_per_second
}

/// Transfer time ratio; `None` when nothing came (section 4.1).
#[must_use]
pub fn transfer_time_ratio(seconds: f64, bytes: u64, ideal_bits_per_second: f64) -> Option<f64> {
    let ideal = ideal_time(bytes, ideal_bits_per_second);
    (bytes > 0 && ideal.is_finite() && ideal > 0.0).then(|| seconds / ideal)
}

/// Percent of the transmitted bytes that were no repetition (section 4.2).
#[must_use]
pub fn efficiency_percent(transmitted: u64, retransmitted: u64) -> Option<f64> {
    let first = transmitted.saturating_sub(retransmitted);
    (transmitted > 0).then(|| first as f64 / transmitted as f64 * 100.0)
}

/// What the transfer added to the round trip, percent (section 4.3). Noise of an idle path may
/// make it negative.
#[must_use]
pub fn buffer_delay_percent(mean: f64, baseline: f64) -> Option<f64> {
    (baseline > 0.0).then(|| (mean - baseline) / baseline * 100.0)
}

/// A window that was to be held in a run, and what is known of that run; all of one connection.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct WindowEvidence {
    /// What was ordered, bytes.
    pub asked: u64,
    /// Most bytes that were seen on the way.
    pub used: Option<u64>,
    /// Payload of a segment, bytes: what is on the way is counted in these.
    pub segment: u64,
    /// Payload, bits per second.
    pub rate: f64,
    /// The greatest rate of TCP on the path, where it is known.
    pub ideal: Option<f64>,
    /// Round trip of the idle path, seconds.
    pub round_trip: f64,
    /// Nothing was lost.
    pub lossless: bool,
    /// This end's system surely keeps such a window.
    pub surely_held: bool,
}

/// What became of such a window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WindowOutcome {
    /// It was that of the run, as far as the path allowed.
    Held,
    /// Some limit was smaller.
    Clipped,
    /// More was on the way.
    Exceeded,
    /// It may have been smaller, and nothing says whether.
    Unknown,
}

impl WindowEvidence {
    /// What the window, as far as it was used, and the path allow; bits per second.
    fn allowed(&self, window: u64) -> f64 {
        let rate = window_rate(window, self.round_trip);
        self.ideal.map_or(rate, |ideal| ideal.min(rate))
    }

    /// What became of it.
    #[must_use]
    pub fn outcome(&self) -> WindowOutcome {
        let asked = self.asked as f64;
        let most = asked * WINDOW_EXCEEDED + 2.0 * self.segment as f64;
        // A rate over that of the window on an idle path needs a larger one, whatever the path allows.
        let too_fast = self.rate > window_rate(self.asked, self.round_trip) * WINDOW_EXCEEDED;
        if too_fast || self.used.is_some_and(|used| used as f64 > most) {
            return WindowOutcome::Exceeded;
        }
        match self.used {
            Some(used) if self.lossless && (used as f64) < asked * WINDOW_USED => {
                WindowOutcome::Clipped
            }
            Some(_) => WindowOutcome::Held,
            None if self.surely_held => WindowOutcome::Held,
            None if self.rate >= self.allowed(self.asked) * WINDOW_USED => WindowOutcome::Held,
            None => WindowOutcome::Unknown,
        }
    }

    /// The rate to expect, bits per second; `None` where the window of the run is not known.
    #[must_use]
    pub fn expected(&self) -> Option<f64> {
        match self.outcome() {
            WindowOutcome::Held | WindowOutcome::Clipped => {
                let used = self.used.unwrap_or(self.asked);
                Some(self.allowed(self.asked.min(used)))
            }
            WindowOutcome::Exceeded | WindowOutcome::Unknown => None,
        }
    }
}

/// One of the criteria of `--pass`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Metric {
    /// Transfer time ratio: at most.
    TransferTimeRatio,
    /// TCP efficiency: at least.
    Efficiency,
    /// Buffer delay: at most.
    BufferDelay,
}

impl Metric {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::TransferTimeRatio, Self::Efficiency, Self::BufferDelay];

    /// Its name in `--pass`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::TransferTimeRatio => "ttr",
            Self::Efficiency => "efficiency",
            Self::BufferDelay => "buffer-delay",
        }
    }

    /// The limit of `--pass default`; the RFC sets none.
    #[must_use]
    pub const fn default_limit(self) -> f64 {
        match self {
            Self::TransferTimeRatio => DEFAULT_TTR,
            Self::Efficiency => DEFAULT_EFFICIENCY,
            Self::BufferDelay => DEFAULT_BUFFER_DELAY,
        }
    }

    /// Whether a value keeps a limit.
    #[must_use]
    pub fn passes(self, value: f64, limit: f64) -> bool {
        match self {
            Self::TransferTimeRatio | Self::BufferDelay => value <= limit,
            Self::Efficiency => value >= limit,
        }
    }
}

/// What is known of one direction when its runs are over.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct PathEvidence {
    /// Transfer time ratio of the full window.
    pub ttr: Option<f64>,
    /// Buffer delay of the same run, percent.
    pub buffer_delay: Option<f64>,
    /// Bytes sent again of those transmitted, percent; 0 only when it is known that there were none.
    pub resent: Option<f64>,
    /// Loss at a tenth of the bottleneck's rate, percent.
    pub light_load_loss: Option<f64>,
    /// A processor limited the run, and how sure that is.
    pub cpu_limited: Option<Certainty>,
    /// The receiver's window was full, and how sure that is.
    pub receive_window_limited: Option<Certainty>,
    /// The send buffer was full, and how sure that is.
    pub send_buffer_limited: Option<Certainty>,
    /// The same ratio with four connections.
    pub ttr_of_four: Option<f64>,
}

/// The first explanation that holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PathFinding {
    /// No ratio: the bottleneck is not known.
    NoRatio,
    /// A processor was the limit.
    ProcessorLimited,
    /// Faster than the bottleneck allows.
    FasterThanBottleneck,
    /// One connection fills the path.
    Filled,
    /// It does, by filling a queue that is longer than the path.
    FilledByQueue,
    /// Packets are lost at any load.
    LossAtLightLoad,
    /// Packets are dropped near the full rate before anything is queued.
    Policed,
    /// Several connections fill it, one does not.
    OnlyTogether,
    /// The receiver's window.
    ReceiverWindow,
    /// The sender's buffer.
    SendBuffer,
    /// Packets are lost, and nothing above explains it.
    LossUnderLoad,
    /// Nothing was found.
    BelowUdp,
}

impl PathFinding {
    /// Its name in documents.
    #[must_use]
    pub const fn id(self) -> &'static str {
        match self {
            Self::NoRatio => "no_ratio",
            Self::ProcessorLimited => "processor_limited",
            Self::FasterThanBottleneck => "faster_than_bottleneck",
            Self::Filled => "filled",
            Self::FilledByQueue => "filled_by_queue",
            Self::LossAtLightLoad => "loss_at_light_load",
            Self::Policed => "policed",
            Self::OnlyTogether => "only_together",
            Self::ReceiverWindow => "receiver_window",
            Self::SendBuffer => "send_buffer",
            Self::LossUnderLoad => "loss_under_load",
            Self::BelowUdp => "below_udp",
        }
    }
}

impl PathEvidence {
    /// The first finding that holds. An unknown number proves nothing.
    #[must_use]
    pub fn finding(&self) -> PathFinding {
        let sure = |limit: Option<Certainty>| limit.is_some_and(|by| by >= Certainty::Medium);
        if sure(self.cpu_limited) {
            return PathFinding::ProcessorLimited;
        }
        let Some(ttr) = self.ttr else {
            return PathFinding::NoRatio;
        };
        if ttr < FASTER_THAN_POSSIBLE {
            return PathFinding::FasterThanBottleneck;
        }
        if ttr <= DEFAULT_TTR {
            return match self.buffer_delay {
                Some(delay) if delay > DEFAULT_BUFFER_DELAY => PathFinding::FilledByQueue,
                _ => PathFinding::Filled,
            };
        }
        let lossy = self.light_load_loss.map(|loss| loss >= LIGHT_LOAD_LOSS);
        let dropped = self.resent.is_some_and(|resent| resent > RESENT);
        if lossy == Some(true) {
            return PathFinding::LossAtLightLoad;
        }
        let queue = self.buffer_delay;
        if dropped && lossy == Some(false) && queue.is_some_and(|delay| delay < NO_QUEUE) {
            return PathFinding::Policed;
        }
        if self.ttr_of_four.is_some_and(|four| four <= DEFAULT_TTR) {
            return PathFinding::OnlyTogether;
        }
        if self.resent.is_none_or(|resent| resent == 0.0) {
            if sure(self.receive_window_limited) {
                return PathFinding::ReceiverWindow;
            }
            if sure(self.send_buffer_limited) {
                return PathFinding::SendBuffer;
            }
        }
        if dropped {
            return PathFinding::LossUnderLoad;
        }
        PathFinding::BelowUdp
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near(got: f64, expected: f64, digits: i32) {
        let scale = 10_f64.powi(digits);
        assert_eq!(
            (got * scale).round(),
            (expected * scale).round(),
            "{got} for {expected}"
        );
    }

    #[test]
    fn the_vectors_of_the_rfc_and_of_its_examples() {
        let ethernet = BottleneckLayer::Ethernet { tags: 0 };
        for (line, mtu, headers, frames, megabits) in [
            (100e6, 1500, 40, 8127.0, 94.923),
            (1e9, 1500, 40, 81_274.0, 949.280),
            (1e9, 1500, 52, 81_274.0, 941.478),
            (10e9, 1500, 40, 812_743.0, 9492.838),
            (25e9, 9000, 52, 345_762.0, 24_751.027),
        ] {
            let ideal = IdealRate::new(line, ethernet, mtu, headers);
            assert_eq!(ideal.packets_per_second, frames, "{line} {mtu}");
            near(ideal.bits_per_second / 1e6, megabits, 3);
        }
        let serial = IdealRate::new(44.21e6, BottleneckLayer::Ppp, 1500, RFC_HEADERS);
        assert_eq!(serial.packets_per_second, 3664.0);
        near(serial.bits_per_second / 1e6, 42.796, 3);
        // At the IP layer nothing is rounded.
        let ip = IdealRate::new(50e6, BottleneckLayer::Ip, 1500, 52);
        near(ip.bits_per_second / 1e6, 48.267, 3);

        let fast = IdealRate::new(100e6, ethernet, 1500, RFC_HEADERS).bits_per_second;
        near(ideal_time(100_000_000, fast), 8.428, 3);
        near(
            transfer_time_ratio(12.0, 100_000_000, fast).expect("moved"),
            1.424,
            3,
        );
        near(efficiency_percent(102_000, 2000).expect("sent"), 98.04, 2);
        near(
            buffer_delay_percent(0.032, 0.025).expect("a baseline"),
            28.0,
            6,
        );
        let product = bandwidth_delay(500e6, 0.005);
        let window = minimum_window(product);
        assert_eq!(window, 312_500);
        for (kib, expected) in [(16, 20), (32, 10), (64, 5), (128, 3)] {
            assert_eq!(connections(window, kib * 1024), expected);
            assert_eq!(connections(window, kib * 1000), expected);
        }
        assert_eq!(minimum_window(bandwidth_delay(75e6, 0.6)), 5_625_000);
        near(window_rate(31_250, 0.02) / 1e6, 12.5, 6);
        near(ip.with_window(62_500, 0.02) / 1e6, 25.0, 6);
        near(ip.with_window(125_000, 0.02) / 1e6, 48.267, 3);
    }

    #[test]
    fn a_tag_takes_its_share_and_headers_follow_the_family() {
        let tagged = BottleneckLayer::Ethernet { tags: 1 };
        let ideal = IdealRate::new(1e9, tagged, 1500, 40);
        assert_eq!(ideal.packets_per_second, 81_063.0);
        let headers = [(false, false), (false, true), (true, false), (true, true)];
        let headers = headers.map(|(ipv6, stamps)| tcp_headers(ipv6, stamps));
        assert_eq!(headers, [40, 52, 60, 72]);
    }

    #[test]
    fn a_window_is_expected_only_where_it_is_known() {
        use WindowOutcome as O;
        let held = WindowEvidence {
            asked: 31_250,
            used: Some(31_000),
            segment: 1448,
            rate: 12.3e6,
            ideal: Some(48e6),
            round_trip: 0.02,
            lossless: true,
            surely_held: false,
        };
        let of = |change: fn(&mut WindowEvidence)| {
            let mut evidence = held;
            change(&mut evidence);
            (evidence.outcome(), evidence.expected().map(f64::round))
        };
        assert_eq!(of(|_| {}), (O::Held, Some(12.4e6)));
        // The last segment of a window may be short, and counts as a full one.
        assert_eq!(of(|w| w.used = Some(33_000)), (O::Held, Some(12.5e6)));
        assert_eq!(of(|w| w.used = Some(65_535)), (O::Exceeded, None));
        assert_eq!(of(|w| w.rate = 25e6), (O::Exceeded, None));
        assert_eq!(of(|w| w.used = Some(20_000)), (O::Clipped, Some(8e6)));
        // Congestion control is another reason for a smaller one.
        let lost = of(|w| (w.used, w.lossless) = (Some(20_000), false));
        assert_eq!(lost, (O::Held, Some(8e6)));
        // Nobody saw what was on the way: the rate may say it, or this end's own means.
        assert_eq!(of(|w| w.used = None), (O::Held, Some(12.5e6)));
        assert_eq!(of(|w| (w.used, w.rate) = (None, 9e6)), (O::Unknown, None));
        let own = of(|w| (w.used, w.rate, w.surely_held) = (None, 9e6, true));
        assert_eq!(own, (O::Held, Some(12.5e6)));
        // No more than the path carries.
        let large = of(|w| (w.asked, w.used, w.rate) = (250_000, Some(250_000), 47e6));
        assert_eq!(large, (O::Held, Some(48e6)));
        let large = of(|w| (w.asked, w.used, w.rate) = (250_000, None, 47e6));
        assert_eq!(large, (O::Held, Some(48e6)));
        // Without a bottleneck the window alone counts.
        assert_eq!(of(|w| w.ideal = None), (O::Held, Some(12.4e6)));
    }

    #[test]
    fn nothing_moved_is_no_ratio() {
        assert_eq!(transfer_time_ratio(10.0, 0, 1e6), None);
        assert_eq!(transfer_time_ratio(10.0, 1, 0.0), None);
        assert_eq!(efficiency_percent(0, 0), None);
        assert_eq!(buffer_delay_percent(0.02, 0.0), None);
        assert_eq!(connections(0, 0), 1);
    }

    #[test]
    fn limits_are_kept_at_the_limit() {
        use Metric as M;
        assert!(M::TransferTimeRatio.passes(1.15, DEFAULT_TTR));
        assert!(!M::TransferTimeRatio.passes(1.151, DEFAULT_TTR));
        assert!(M::Efficiency.passes(99.0, DEFAULT_EFFICIENCY));
        assert!(!M::Efficiency.passes(98.99, DEFAULT_EFFICIENCY));
        assert!(!M::BufferDelay.passes(100.1, DEFAULT_BUFFER_DELAY));
        let defaults = M::ALL.map(|metric| (metric.name(), metric.default_limit()));
        assert_eq!(
            defaults,
            [("ttr", 1.15), ("efficiency", 99.0), ("buffer-delay", 100.0)]
        );
    }

    /// Known of a clean path.
    fn clean() -> PathEvidence {
        PathEvidence {
            ttr: Some(1.02),
            buffer_delay: Some(40.0),
            resent: Some(0.0),
            light_load_loss: Some(0.0),
            ..PathEvidence::default()
        }
    }

    fn slow() -> PathEvidence {
        PathEvidence {
            ttr: Some(1.6),
            ..clean()
        }
    }

    #[test]
    fn the_first_finding_that_holds() {
        use Certainty::{High, Low, Medium};
        use PathFinding as F;
        let unknown = PathEvidence::default();
        let cases = [
            (unknown, F::NoRatio),
            (clean(), F::Filled),
            (
                PathEvidence {
                    buffer_delay: None,
                    ..clean()
                },
                F::Filled,
            ),
            (
                PathEvidence {
                    buffer_delay: Some(100.0),
                    ..clean()
                },
                F::Filled,
            ),
            (
                PathEvidence {
                    buffer_delay: Some(2000.0),
                    ..clean()
                },
                F::FilledByQueue,
            ),
            (
                PathEvidence {
                    ttr: Some(1.15),
                    ..clean()
                },
                F::Filled,
            ),
            (
                PathEvidence {
                    ttr: Some(0.97),
                    ..clean()
                },
                F::Filled,
            ),
            (
                PathEvidence {
                    ttr: Some(0.96),
                    ..clean()
                },
                F::FasterThanBottleneck,
            ),
            // A host's limit makes any ratio void; a mere possibility does not.
            (
                PathEvidence {
                    cpu_limited: Some(High),
                    ..clean()
                },
                F::ProcessorLimited,
            ),
            (
                PathEvidence {
                    cpu_limited: Some(Medium),
                    ..slow()
                },
                F::ProcessorLimited,
            ),
            (
                PathEvidence {
                    cpu_limited: Some(Medium),
                    ..unknown
                },
                F::ProcessorLimited,
            ),
            (
                PathEvidence {
                    cpu_limited: Some(Low),
                    ..slow()
                },
                F::BelowUdp,
            ),
            (
                PathEvidence {
                    light_load_loss: Some(0.02),
                    ..slow()
                },
                F::LossAtLightLoad,
            ),
            (
                PathEvidence {
                    light_load_loss: Some(0.1),
                    resent: Some(0.1),
                    buffer_delay: Some(5.0),
                    ..slow()
                },
                F::LossAtLightLoad,
            ),
            (
                PathEvidence {
                    resent: Some(2.0),
                    buffer_delay: Some(5.0),
                    ..slow()
                },
                F::Policed,
            ),
            (
                PathEvidence {
                    resent: Some(0.05),
                    buffer_delay: Some(5.0),
                    ..slow()
                },
                F::BelowUdp,
            ),
            // Whether there is loss at light load decides, so it has to be known.
            (
                PathEvidence {
                    resent: Some(2.0),
                    buffer_delay: Some(5.0),
                    light_load_loss: None,
                    ..slow()
                },
                F::LossUnderLoad,
            ),
            (
                PathEvidence {
                    resent: Some(2.0),
                    buffer_delay: Some(60.0),
                    ..slow()
                },
                F::LossUnderLoad,
            ),
            (
                PathEvidence {
                    resent: Some(2.0),
                    buffer_delay: Some(60.0),
                    ttr_of_four: Some(1.1),
                    ..slow()
                },
                F::OnlyTogether,
            ),
            (
                PathEvidence {
                    ttr_of_four: Some(1.15),
                    ..slow()
                },
                F::OnlyTogether,
            ),
            (
                PathEvidence {
                    ttr_of_four: Some(1.3),
                    ..slow()
                },
                F::BelowUdp,
            ),
            (
                PathEvidence {
                    receive_window_limited: Some(High),
                    ..slow()
                },
                F::ReceiverWindow,
            ),
            (
                PathEvidence {
                    receive_window_limited: Some(Low),
                    ..slow()
                },
                F::BelowUdp,
            ),
            (
                PathEvidence {
                    receive_window_limited: Some(High),
                    resent: Some(1.0),
                    ..slow()
                },
                F::LossUnderLoad,
            ),
            (
                PathEvidence {
                    send_buffer_limited: Some(Medium),
                    ..slow()
                },
                F::SendBuffer,
            ),
            (slow(), F::BelowUdp),
        ];
        for (evidence, expected) in cases {
            assert_eq!(evidence.finding(), expected, "{evidence:?}");
        }
    }
}
