//! The numbers, as documents have them.

use serde::Serialize;
use tapeline_base::FormatLetter;
use tapeline_stats::LimitedBy;
use tapeline_stats::rfc6349::{Metric, PathFinding};

use super::super::mtu::MtuResult;
use super::super::phase::Direction;
use crate::document::Verdict;
use crate::native::{digits, rate_words};

/// What `rfc6349` came to.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Rfc6349Result {
    /// The path MTU, as `tapeline mtu` has it; `null` when it was not measured.
    pub mtu: Option<MtuResult>,
    /// Round trips of the idle path; both directions share them.
    pub rtt: Option<IdleRoundTrip>,
    /// Congestion control of the first runs: what was asked for, or the system's.
    pub congestion_control: Option<String>,
    /// Length of each counted run.
    pub run_seconds: Option<f64>,
    /// From the client to the server; `null` when it was not measured.
    pub up: Option<DirectionResult>,
    /// From the server to the client.
    pub down: Option<DirectionResult>,
    /// Both directions at the same time; `null` when that was left out.
    pub simultaneous: Option<Simultaneous>,
}

/// Round trips of the idle path.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct IdleRoundTrip {
    /// The least, which is the baseline.
    pub baseline_ms: f64,
    /// Median.
    pub p50_ms: f64,
    /// 95th percentile.
    pub p95_ms: f64,
    /// How many were measured.
    pub probes: u32,
    /// What was answered.
    pub source: RoundTripSource,
}

/// What round trips are those of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum RoundTripSource {
    /// Probes that a tapeline server answers.
    Probes,
    /// Requests that an iperf 2 server answers.
    BounceBack,
    /// TCP handshakes.
    TcpConnect,
    /// The transfer's own segments, as the kernel of this end smoothed them.
    TcpInfo,
    /// The transfer's own segments, as the kernel of the sending server smoothed them.
    PeerTcpInfo,
}

impl RoundTripSource {
    /// In words.
    #[must_use]
    pub const fn words(self) -> &'static str {
        match self {
            Self::Probes => "probes",
            Self::BounceBack => "requests",
            Self::TcpConnect => "TCP connects",
            Self::TcpInfo | Self::PeerTcpInfo => "segments",
        }
    }
}

/// Where the rate of the bottleneck is from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum BottleneckSource {
    /// The capacity search over UDP.
    Measured,
    /// `--cir`: a contract.
    Cir,
    /// `--line-rate`: the line.
    LineRate,
    /// UDP trials at fixed rates, towards a peer that gives no feedback.
    UdpTrials,
}

/// The rate of the bottleneck.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Bottleneck {
    /// The rate.
    pub bits_per_second: f64,
    /// Where it is counted: `ip` or `line`.
    #[cfg_attr(feature = "schema", schemars(extend("enum" = ["ip", "line"])))]
    pub layer: &'static str,
    /// Where it is from.
    pub source: BottleneckSource,
}

/// The greatest rate of TCP.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Ideal {
    /// Packets of the path's MTU per second.
    pub frames_per_second: f64,
    /// Headers of each packet: IP, TCP and TCP's options.
    pub header_bytes: u32,
    /// Payload with these headers.
    pub bits_per_second: f64,
    /// The same with headers of 40 bytes, as the RFC has it.
    pub bits_per_second_rfc: f64,
}

/// A UDP flow at a tenth of the bottleneck's rate.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LightLoad {
    /// Its rate, payload.
    pub bits_per_second: Option<f64>,
    /// Datagrams sent.
    pub packets: Option<u64>,
    /// Those that did not arrive.
    pub lost: Option<u64>,
    /// RFC 3550 jitter.
    pub jitter_ms: Option<f64>,
}

/// One direction.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DirectionResult {
    /// The path's MTU.
    pub path_mtu_bytes: Option<u32>,
    /// Whether it was found byte by byte, and not taken from TCP's segments.
    pub path_mtu_exact: bool,
    /// The bottleneck; `null` when it is not known.
    pub bottleneck: Option<Bottleneck>,
    /// Bandwidth-delay product.
    pub bdp_bits: Option<f64>,
    /// The least window that fills the path.
    pub minimum_window_bytes: Option<u64>,
    /// The greatest rate of TCP.
    pub ideal: Option<Ideal>,
    /// Loss at a tenth of the bottleneck's rate.
    pub light_load_loss_percent: Option<f64>,
    /// The flow that it was measured with.
    pub light_load: Option<LightLoad>,
    /// Each run of TCP, in their order.
    pub runs: Vec<TransferRun>,
    /// The three metrics, of the first run with the system's own windows.
    pub headline: Headline,
    /// What the numbers say of the path.
    #[cfg_attr(
        feature = "schema",
        schemars(extend("enum" = [
            "no_ratio", "processor_limited", "faster_than_bottleneck", "filled", "filled_by_queue",
            "loss_at_light_load", "policed", "only_together", "receiver_window", "send_buffer",
            "loss_under_load", "below_udp", null
        ]))
    )]
    pub finding: Option<&'static str>,
    /// The same in a sentence.
    pub finding_text: Option<String>,
}

/// The three metrics of the RFC.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Headline {
    /// Transfer time ratio.
    pub ttr: Option<f64>,
    /// TCP efficiency.
    pub efficiency_percent: Option<f64>,
    /// Buffer delay.
    pub buffer_delay_percent: Option<f64>,
}

/// Why a run was made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum RunPhase {
    /// A window that is held.
    Window,
    /// The system's own windows.
    #[default]
    Full,
    /// The same with another congestion control.
    Algorithm,
    /// Several connections.
    Connections,
    /// Both directions at once.
    Simultaneous,
}

impl RunPhase {
    /// As documents name it.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Window => "window",
            Self::Full => "full",
            Self::Algorithm => "algorithm",
            Self::Connections => "connections",
            Self::Simultaneous => "simultaneous",
        }
    }
}

/// One run of TCP, counted behind its ramp.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TransferRun {
    /// Why it was made.
    pub phase: RunPhase,
    /// Connections.
    pub connections: u32,
    /// The window as a share of the bandwidth-delay product, where it was asked for so.
    pub window_percent: Option<f64>,
    /// The window asked for, of each connection; `null` is the system's own.
    pub window_asked_bytes: Option<u64>,
    /// Most bytes on the way, of one connection.
    pub window_used_bytes: Option<u64>,
    /// The counted time.
    pub seconds: f64,
    /// Payload that the receiver took, or acknowledged, in it.
    pub bytes: u64,
    /// Its rate.
    pub bits_per_second: f64,
    /// What the window and the path allow.
    pub expected_bits_per_second: Option<f64>,
    /// Transfer time ratio towards the greatest rate.
    pub ttr: Option<f64>,
    /// The same towards the expected rate.
    pub ttr_window: Option<f64>,
    /// Payload that was sent, each time that it was.
    pub transmitted_bytes: Option<u64>,
    /// Of that, what had been sent before.
    pub retransmitted_bytes: Option<u64>,
    /// The same in segments.
    pub retransmitted_segments: Option<u64>,
    /// TCP efficiency.
    pub efficiency_percent: Option<f64>,
    /// Mean round trip.
    pub rtt_mean_ms: Option<f64>,
    /// Least.
    pub rtt_min_ms: Option<f64>,
    /// Largest.
    pub rtt_max_ms: Option<f64>,
    /// What these are round trips of.
    pub rtt_source: Option<RoundTripSource>,
    /// Buffer delay.
    pub buffer_delay_percent: Option<f64>,
    /// The same by the probes beside the transfer.
    pub buffer_delay_probe_percent: Option<f64>,
    /// Largest congestion window, of one connection.
    pub cwnd_max_bytes: Option<u64>,
    /// The sender's congestion control.
    pub congestion_control: Option<String>,
    /// What limited it; `null` when that is not known.
    pub limited_by: Option<Verdict>,
    /// Rate and round trip in time, ramp included.
    #[serde(skip)]
    pub course: Vec<TransferPoint>,
}

/// A tenth of a second of a run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TransferPoint {
    /// Its end, after the run's start.
    pub seconds: f64,
    /// Payload over its time, bits per second.
    pub bits_per_second: Option<f64>,
    /// Round trip at its end.
    pub rtt_ms: Option<f64>,
}

/// Both directions at the same time.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Simultaneous {
    /// From the client to the server.
    pub up: Option<TransferRun>,
    /// From the server to the client.
    pub down: Option<TransferRun>,
}

impl Rfc6349Result {
    /// A direction, where it was measured.
    #[must_use]
    pub fn direction(&self, direction: Direction) -> Option<&DirectionResult> {
        match direction {
            Direction::Up => self.up.as_ref(),
            Direction::Down => self.down.as_ref(),
        }
    }

    /// The place of a direction.
    pub fn direction_mut(&mut self, direction: Direction) -> &mut Option<DirectionResult> {
        match direction {
            Direction::Up => &mut self.up,
            Direction::Down => &mut self.down,
        }
    }

    /// The directions that were measured.
    pub(crate) fn measured(&self) -> impl Iterator<Item = (Direction, &DirectionResult)> {
        Direction::BOTH
            .into_iter()
            .filter_map(|direction| Some((direction, self.direction(direction)?)))
    }

    /// Baseline, milliseconds.
    pub(crate) fn baseline_ms(&self) -> Option<f64> {
        self.rtt.as_ref().map(|rtt| rtt.baseline_ms)
    }

    /// A headline of both directions, the worse one; unknown when one of them is.
    pub(crate) fn worse(&self, metric: Metric) -> Option<f64> {
        let values: Option<Vec<f64>> = self
            .measured()
            .map(|(_, direction)| direction.headline.of(metric))
            .collect();
        let worse = match metric {
            Metric::Efficiency => f64::min,
            Metric::TransferTimeRatio | Metric::BufferDelay => f64::max,
        };
        values?.into_iter().reduce(worse)
    }
}

impl Headline {
    /// One of them.
    #[must_use]
    pub fn of(&self, metric: Metric) -> Option<f64> {
        match metric {
            Metric::TransferTimeRatio => self.ttr,
            Metric::Efficiency => self.efficiency_percent,
            Metric::BufferDelay => self.buffer_delay_percent,
        }
    }
}

impl DirectionResult {
    /// The run that the headline is of.
    #[must_use]
    pub fn full(&self) -> Option<&TransferRun> {
        self.runs.iter().find(|run| run.phase == RunPhase::Full)
    }

    /// The run with several connections.
    #[must_use]
    pub fn several(&self) -> Option<&TransferRun> {
        let mut runs = self.runs.iter();
        runs.find(|run| run.phase == RunPhase::Connections)
    }

    /// Enters what the numbers say.
    pub fn conclude(&mut self, finding: PathFinding, way: Direction, baseline_ms: Option<f64>) {
        self.finding = Some(finding.id());
        self.finding_text = Some(sentence(finding, way, self, baseline_ms));
    }
}

impl TransferRun {
    /// The three metrics of this run.
    #[must_use]
    pub fn headline(&self) -> Headline {
        Headline {
            ttr: self.ttr,
            efficiency_percent: self.efficiency_percent,
            buffer_delay_percent: self.buffer_delay_percent,
        }
    }

    /// Bytes sent again of those transmitted, percent.
    #[must_use]
    pub fn resent_percent(&self) -> Option<f64> {
        self.efficiency_percent.map(|percent| 100.0 - percent)
    }

    /// Whether an end host limited it, with high or medium confidence.
    #[must_use]
    pub fn host_limited(&self) -> bool {
        let Some(verdict) = &self.limited_by else {
            return false;
        };
        let host = LimitedBy::ALL.into_iter().filter(|limit| limit.is_host());
        let is_host = |limit: &str| host.clone().any(|one| one.id() == limit);
        verdict.confidence != "low" && verdict.limited_by.is_some_and(is_host)
    }
}

/// Queue of less that is added at full load and nobody notices, milliseconds.
const UNOBTRUSIVE: f64 = 30.0;

fn bits(bits_per_second: f64) -> String {
    rate_words(bits_per_second, FormatLetter::BITS)
}

/// What the transfer adds to the round trip, milliseconds.
fn queue(run: &TransferRun, baseline_ms: Option<f64>) -> Option<f64> {
    Some((run.rtt_mean_ms? - baseline_ms?).max(0.0))
}

/// A finding about one direction.
fn sentence(
    finding: PathFinding,
    way: Direction,
    direction: &DirectionResult,
    baseline_ms: Option<f64>,
) -> String {
    let run = direction.full();
    let rate = run.map_or_else(
        || "an unknown rate".to_owned(),
        |run| bits(run.bits_per_second),
    );
    let queue = run.and_then(|run| queue(run, baseline_ms));
    let window = direction.minimum_window_bytes.unwrap_or(0);
    // The kernel's buffer holds more than the window that it offers.
    let raise = |window: u64| format!("{} bytes", window.saturating_mul(2));
    let used = run.and_then(|run| run.window_used_bytes);
    let kilo = |bytes: Option<u64>| {
        bytes.map_or_else(
            || "unknown size".to_owned(),
            |bytes| format!("{} kB", digits(bytes as f64 / 1e3)),
        )
    };
    match finding {
        PathFinding::NoRatio => {
            "The bottleneck is not known, so there is no ratio. Give the contracted rate with --cir."
                .to_owned()
        }
        PathFinding::ProcessorLimited => {
            let (host, confidence) = limit(way, run);
            format!(
                "{host} (its CPU), not the network, limited the transfer ({confidence} \
                 confidence); the ratio says nothing about the path."
            )
        }
        PathFinding::FasterThanBottleneck => {
            "TCP was faster than the measured bottleneck: the bottleneck figure is wrong or the path \
             changed. Repeat, or give --cir."
                .to_owned()
        }
        PathFinding::Filled => {
            let mut text = "One TCP connection fills this path.".to_owned();
            if let Some(added) = queue {
                text.push_str(&format!(" Its queue adds {} ms at full load", digits(added)));
                text.push_str(match added < UNOBTRUSIVE {
                    true => ", which is unobtrusive.",
                    false => ".",
                });
            }
            text
        }
        PathFinding::FilledByQueue => format!(
            "TCP reaches full speed, but by filling a queue of {} ms. Calls and games will suffer \
             while a transfer runs.",
            digits(queue.unwrap_or(0.0))
        ),
        PathFinding::LossAtLightLoad => {
            let lost = digits(direction.light_load_loss_percent.unwrap_or(0.0));
            let by = run.and_then(|run| run.congestion_control.as_deref());
            let by = by.map_or_else(String::new, |name| format!(" with {name}"));
            let mut text = format!(
                "{lost} % of packets are lost even at light load: line errors or a faulty segment. \
                 One connection{by} reaches {rate}"
            );
            match direction.several() {
                Some(several) => text.push_str(&format!(
                    "; {} together reach {}.",
                    count(several.connections),
                    bits(several.bits_per_second)
                )),
                None => text.push('.'),
            }
            text
        }
        PathFinding::Policed => format!(
            "Packets are dropped near full rate before any queue builds up: typical of a policer or a \
             very short buffer. Ask whether the contract is policed at {}.",
            direction
                .bottleneck
                .as_ref()
                .map_or_else(|| "that rate".to_owned(), |one| bits(one.bits_per_second))
        ),
        PathFinding::OnlyTogether => {
            let several = direction.several().map_or(4, |run| run.connections);
            format!(
                "A single connection does not fill this path, {} do: look at window limits and at \
                 the congestion control.",
                count(several)
            )
        }
        PathFinding::ReceiverWindow => format!(
            "The receiver's window ({}) is smaller than the bandwidth-delay product; raise tcp_rmem \
             to {}.",
            kilo(used),
            raise(window)
        ),
        PathFinding::SendBuffer => format!(
            "The sender's buffer ({} in use) is smaller than the bandwidth-delay product; raise \
             tcp_wmem to {}.",
            kilo(used),
            raise(window)
        ),
        PathFinding::LossUnderLoad => {
            let resent = run.and_then(TransferRun::resent_percent).unwrap_or(0.0);
            let mut text = format!("{} % of the data was retransmitted", digits(resent));
            if let Some(added) = queue {
                text.push_str(&format!(" while a queue added {} ms", digits(added)));
            }
            text.push_str(
                ": other traffic, or a buffer too short for this congestion control. Repeat when the \
                 path is idle, or compare algorithms with -Z.",
            );
            text
        }
        PathFinding::BelowUdp => {
            "TCP stays below the UDP capacity without visible loss: look for a per-connection limit, a \
             proxy, or a shaper with a larger burst for UDP."
                .to_owned()
        }
    }
}

/// Whose processor limited a run, and how sure that is.
fn limit(way: Direction, run: Option<&TransferRun>) -> (&'static str, &'static str) {
    let verdict = run.and_then(|run| run.limited_by.as_ref());
    let sender = verdict.and_then(|verdict| verdict.limited_by) == Some(LimitedBy::SenderCpu.id());
    let own = sender == (way == Direction::Up);
    let host = if own {
        "This computer"
    } else {
        "The server's computer"
    };
    (host, verdict.map_or("low", |verdict| verdict.confidence))
}

/// Small numbers in words.
fn count(number: u32) -> String {
    match number {
        2 => "two".to_owned(),
        3 => "three".to_owned(),
        4 => "four".to_owned(),
        other => other.to_string(),
    }
}
