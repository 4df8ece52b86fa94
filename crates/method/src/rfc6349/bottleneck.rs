//! The rate of the bottleneck: given, found by the capacity search or by UDP trials; and what follows from it.

use std::time::{Duration, Instant};

use tapeline_report::method::Direction;
use tapeline_report::method::rfc6349::{Bottleneck, BottleneckSource, Ideal};
use tapeline_stats::RateSearch;
use tapeline_stats::rfc6349::{BottleneckLayer, IdealRate, RFC_HEADERS};

use super::path::PathFormat;
use super::plan::{self, Rfc6349Plan};
use crate::capacity::measure_capacity;
use crate::common::PeerKind;
use crate::error::RunError;
use crate::find_rate::{FindRatePlan, Load};
use crate::run::Run;

/// Headers of a segment where the system does not say: IPv4 with time stamps, as Linux sends.
const USUAL_HEADERS: u32 = 52;
/// MTU where nothing says it.
const USUAL_MTU: u32 = 1500;

/// Length of a UDP trial, and how exact their search is, percent.
const TRIAL: Duration = Duration::from_secs(3);
const RESOLUTION: f64 = 1.0;
/// Headers of IPv4 and UDP, and of IPv6 and UDP.
const UDP_HEADERS: u32 = 28;
const UDP_HEADERS_V6: u32 = 48;

/// The rate of a bottleneck.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct BottleneckRate {
    pub(crate) bits_per_second: f64,
    pub(crate) layer: BottleneckLayer,
    pub(crate) source: BottleneckSource,
}

impl BottleneckRate {
    /// As it was given.
    pub(crate) fn given(plan: &Rfc6349Plan, direction: Direction) -> Option<Self> {
        let given = plan.bottleneck?;
        Some(Self {
            bits_per_second: given.rate(direction),
            layer: given.layer(),
            source: given.source(),
        })
    }

    /// Measured at the IP layer.
    const fn measured(bits_per_second: f64, source: BottleneckSource) -> Self {
        Self {
            bits_per_second,
            layer: BottleneckLayer::Ip,
            source,
        }
    }

    /// By the capacity search, which needs the other end's reports.
    ///
    /// # Errors
    /// Why there is none.
    pub(crate) fn by_capacity(run: &mut Run<'_>, direction: Direction) -> Result<Self, RunError> {
        let found = measure_capacity(run, direction, plan::BOTTLENECK_TIME)?;
        let rate = found.capacity.map(|capacity| capacity.bits_per_second);
        rate.filter(|rate| *rate > 0.0)
            .map(|rate| Self::measured(rate, BottleneckSource::Measured))
            .ok_or_else(|| RunError::failed("no-reply", "no UDP arrived"))
    }

    /// By ordinary UDP tests at fixed rates, for peers that report what they received.
    ///
    /// # Errors
    /// Why there is none.
    pub(crate) fn by_trials(
        run: &mut Run<'_>,
        direction: Direction,
        format: &PathFormat,
    ) -> Result<Self, RunError> {
        let mut common = run.common().clone();
        common.time = Some(TRIAL);
        let address = common.address()?.ip();
        let plan = FindRatePlan {
            resolution_percent: RESOLUTION,
            ..FindRatePlan::new(common)
        };
        run.begin(
            plan::BOTTLENECK,
            Some(direction),
            Duration::from_secs_f64(plan.search_seconds()),
        );
        let headers = if address.is_ipv6() {
            UDP_HEADERS_V6
        } else {
            UDP_HEADERS
        };
        let load = Load {
            direction,
            payload: format.mtu.unwrap_or(USUAL_MTU).min(9000) - headers,
            headers,
        };
        let mut search = RateSearch::new(plan.search(address));
        let began = Instant::now();
        while let Some(trial) = search.next_trial(began.elapsed().as_secs_f64()) {
            let report = load.run(run, trial)?;
            let facts = load.facts(&report, trial)?;
            let host = facts.host(trial.load, trial.seconds, direction, 0.0);
            search.take(facts.result(trial, host.as_ref()));
            run.wait(plan.settle(Duration::from_secs_f64(trial.seconds), Duration::ZERO))?;
        }
        let lower = search.results().first().and_then(|found| found.lower);
        lower
            .map(|rate| Self::measured(rate as f64, BottleneckSource::UdpTrials))
            .ok_or_else(|| RunError::failed("no-reply", "no rate passes without loss"))
    }

    /// Whether trials tell: plain iperf 2 does not say what it sent.
    pub(crate) fn has_trials(run: &Run<'_>, direction: Direction) -> bool {
        direction == Direction::Up || run.common().peer == PeerKind::Iperf3
    }

    /// As documents have it.
    pub(crate) fn record(self) -> Bottleneck {
        Bottleneck {
            bits_per_second: self.bits_per_second,
            layer: match self.layer {
                BottleneckLayer::Ip => "ip",
                BottleneckLayer::Ethernet { .. } | BottleneckLayer::Ppp => "line",
            },
            source: self.source,
        }
    }

    /// The greatest rate of TCP on the path.
    pub(crate) fn ideal(self, format: &PathFormat) -> (IdealRate, Ideal) {
        let mtu = format.mtu.unwrap_or(USUAL_MTU);
        let headers = format.headers.unwrap_or(USUAL_HEADERS);
        let of = |headers| IdealRate::new(self.bits_per_second, self.layer, mtu, headers);
        let ideal = of(headers);
        let record = Ideal {
            frames_per_second: ideal.packets_per_second,
            header_bytes: headers,
            bits_per_second: ideal.bits_per_second,
            bits_per_second_rfc: of(RFC_HEADERS).bits_per_second,
        };
        (ideal, record)
    }
}
