//! Round trips of the idle path.

use std::time::Duration;

use serde::Serialize;
use tapeline_base::{Clock, SplitMix64, Transport};
use tapeline_dialect::{
    ClientPlan, ClientWorkload, Limit, MethodSession, RequestResponsePlan, SocketPlan,
};
use tapeline_report::connection_hint;
use tapeline_report::method::Direction;
use tapeline_sys::{SocketOptions, SystemClock, TcpConn, reason};

use crate::client_runs::{ClientRuns, GO_ON};
use crate::common::{Common, PeerKind};
use crate::error::RunError;
use crate::phase_guard::PhaseGuard;

/// Mean time between two round trips, and how far it varies.
const SPACING: Duration = Duration::from_millis(100);
const SPREAD: Duration = Duration::from_millis(50);
/// Probes in a row at one distance.
const GROUP: u32 = 5;
/// Size of a request and of its response, bytes.
const REQUEST: u32 = 100;
/// Time for a connection.
const CONNECT: Duration = Duration::from_secs(3);
/// Connections that fail at the beginning, after which no more are tried.
const REFUSALS: u32 = 5;

/// What went there and back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum BaselineSource {
    /// Datagrams that another tapeline answers.
    Probes,
    /// Requests over a TCP connection, which iperf 2.1.8 and later answer.
    BounceBack,
    /// TCP handshakes: the answer of the other end's kernel.
    TcpConnect,
}

impl BaselineSource {
    /// As documents name it.
    #[must_use]
    pub const fn id(self) -> &'static str {
        match self {
            Self::Probes => "probes",
            Self::BounceBack => "bounce_back",
            Self::TcpConnect => "tcp_connect",
        }
    }

    /// As pages name it.
    #[must_use]
    pub const fn words(self) -> &'static str {
        match self {
            Self::Probes => "probes",
            Self::BounceBack => "requests over TCP",
            Self::TcpConnect => "TCP connects",
        }
    }
}

/// Round trips of the idle path.
#[derive(Clone, Debug, PartialEq)]
pub struct Baseline {
    /// What went there and back.
    pub source: BaselineSource,
    /// How many left.
    pub probes: u32,
    /// How many came back.
    pub answered: u32,
    /// Least round trip, milliseconds.
    pub min_ms: f64,
    /// Median.
    pub p50_ms: f64,
    /// 95th percentile.
    pub p95_ms: f64,
}

impl Baseline {
    /// Of single round trips, nanoseconds; `None` of none.
    #[must_use]
    pub fn new(source: BaselineSource, probes: u32, round_trips: &[i64]) -> Option<Self> {
        let mut sorted = round_trips.to_vec();
        sorted.sort_unstable();
        // The nearest rank, whose value was measured.
        let at = |percent: usize| {
            let rank = (sorted.len() * percent).div_ceil(100).max(1);
            Some(*sorted.get(rank - 1)? as f64 / 1e6)
        };
        Some(Self {
            source,
            probes,
            answered: u32::try_from(round_trips.len()).unwrap_or(u32::MAX),
            min_ms: at(0)?,
            p50_ms: at(50)?,
            p95_ms: at(95)?,
        })
    }

    /// Least round trip.
    #[must_use]
    pub fn min(&self) -> Duration {
        Duration::from_secs_f64((self.min_ms / 1e3).max(0.0))
    }

    /// Whether the path was idle: the median is at most a fifth above the least.
    #[must_use]
    pub fn was_idle(&self) -> bool {
        self.p50_ms <= 1.2 * self.min_ms
    }
}

/// Probes that another tapeline answers; nothing where it answers none. Their distance changes at random.
pub(crate) fn by_probes(
    session: &mut MethodSession,
    guard: &PhaseGuard<'_>,
    probes: u32,
) -> Result<Option<Baseline>, RunError> {
    let mut random = SplitMix64::new(SystemClock.now().as_nanos());
    let mut round_trips = Vec::new();
    let mut left = probes;
    while left > 0 {
        let group = left.min(GROUP);
        let extra = random.below(2 * SPREAD.as_nanos() as u64);
        let spacing = SPACING - SPREAD + Duration::from_nanos(extra);
        let row = probe(session, guard, group, spacing)?;
        if row.is_empty() && round_trips.is_empty() {
            return Ok(None);
        }
        round_trips.extend(row);
        left -= group;
        if left > 0 {
            guard.wait(spacing)?;
        }
    }
    Ok(Baseline::new(BaselineSource::Probes, probes, &round_trips))
}

/// The fastest of a few probes.
pub(crate) fn fastest(
    session: &mut MethodSession,
    guard: &PhaseGuard<'_>,
) -> Result<Option<Duration>, RunError> {
    let row = probe(session, guard, 3, Duration::from_millis(20))?;
    let least = row.into_iter().min();
    Ok(least.map(|nanos| Duration::from_nanos(u64::try_from(nanos).unwrap_or(0))))
}

/// Round trips of a row of probes, nanoseconds; none where the session has ended.
fn probe(
    session: &mut MethodSession,
    guard: &PhaseGuard<'_>,
    count: u32,
    spacing: Duration,
) -> Result<Vec<i64>, RunError> {
    guard.check()?;
    let row = session.probe(count, spacing);
    guard.check()?;
    let trips = row.map(|row| row.round_trips).unwrap_or_default();
    let nanos = |trip: &Duration| i64::try_from(trip.as_nanos()).unwrap_or(i64::MAX);
    Ok(trips.iter().map(nanos).collect())
}

/// A test of small requests over a TCP connection to a server of iperf 2's protocol, one each `spacing`.
pub(crate) fn small_requests(common: &Common, spacing: Duration, time: Duration) -> ClientPlan {
    ClientPlan {
        workload: ClientWorkload::RequestResponse(RequestResponsePlan {
            burst: Some((1, spacing)),
            ..RequestResponsePlan::back_to_back(REQUEST)
        }),
        limit: Limit::Time(time),
        socket: SocketPlan {
            nodelay: true,
            tos: common.tos,
            ..SocketPlan::default()
        },
        control: false,
        probe: false,
        interval: None,
        ..common.client_plan(Transport::Tcp, Direction::Up)
    }
}

/// Requests over a TCP connection to a server of iperf 2's protocol.
fn by_bounce_back(
    common: &Common,
    runs: &ClientRuns<'_>,
    probes: u32,
) -> Result<Baseline, RunError> {
    let plan = small_requests(common, SPACING, SPACING * probes);
    let report = runs.client_test(&plan, &mut |_| GO_ON)?;
    let no_answer = || RunError::failed("no-reply", "the server answers no requests");
    let delays = report
        .streams
        .first()
        .and_then(|stream| stream.rtt.as_ref());
    let delays = delays.ok_or_else(no_answer)?;
    let (Some(samples @ 1..), Some(min_ms)) = (delays.samples, delays.min_ms) else {
        return Err(no_answer());
    };
    let answered = u32::try_from(samples).unwrap_or(u32::MAX);
    let middle = delays.p50_ms.or(delays.mean_ms).unwrap_or(min_ms);
    Ok(Baseline {
        source: BaselineSource::BounceBack,
        probes: probes.max(answered),
        answered,
        min_ms,
        p50_ms: middle,
        p95_ms: delays.p95_ms.or(delays.max_ms).unwrap_or(middle),
    })
}

/// TCP handshakes with the server's port, each closed at once.
fn by_connects(common: &Common, guard: &PhaseGuard<'_>, probes: u32) -> Result<Baseline, RunError> {
    let server = common.address()?;
    let local = common.local(server)?;
    let options = SocketOptions {
        device: common.device.clone(),
        ..SocketOptions::default()
    };
    let mut random = SplitMix64::new(SystemClock.now().as_nanos());
    let mut round_trips = Vec::new();
    let (mut refusals, mut refused) = (0, None);
    for _ in 0..probes {
        match TcpConn::connect(server, local, &options, Some(CONNECT)) {
            Ok(connected) => {
                let nanos = connected.connect_time.as_nanos();
                round_trips.push(i64::try_from(nanos).unwrap_or(i64::MAX));
            }
            Err(error) => {
                refusals += 1;
                refused = Some(error);
                // Nobody is there.
                if round_trips.is_empty() && refusals == REFUSALS {
                    break;
                }
            }
        }
        let extra = random.below(2 * SPREAD.as_nanos() as u64);
        guard.wait(SPACING - SPREAD + Duration::from_nanos(extra))?;
    }
    let source = BaselineSource::TcpConnect;
    Baseline::new(source, probes, &round_trips).ok_or_else(|| {
        let why = refused.map_or_else(|| "no answer".to_owned(), |error| reason(&error.source));
        let (host, port) = (&common.host, server.port());
        let text = format!(
            "cannot connect to {host} port {port}: {}",
            why.to_lowercase()
        );
        let error = RunError::failed("connect-failed", text);
        match connection_hint(&why) {
            Some(advice) => error.hinting(advice),
            None => error,
        }
    })
}

/// Whatever the other end answers.
pub(crate) fn measure(
    common: &Common,
    runs: &ClientRuns<'_>,
    guard: &PhaseGuard<'_>,
    probes: u32,
) -> Result<Baseline, RunError> {
    if common.peer == PeerKind::Auto {
        match by_bounce_back(common, runs, probes) {
            Err(RunError::Failed { .. }) => {}
            other => return other,
        }
    }
    by_connects(common, guard, probes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_baseline_is_its_least_round_trip() {
        let of = |values: &[i64]| Baseline::new(BaselineSource::TcpConnect, 5, values);
        assert_eq!(of(&[]), None);
        let quiet = of(&[20_000_000, 21_000_000, 22_000_000]).expect("a baseline");
        assert_eq!((quiet.min_ms, quiet.p50_ms), (20.0, 21.0));
        assert_eq!((quiet.probes, quiet.answered), (5, 3));
        assert_eq!(quiet.min(), Duration::from_millis(20));
        assert!(quiet.was_idle());
        let busy = of(&[20_000_000, 30_000_000, 30_000_000]).expect("a baseline");
        assert!(!busy.was_idle());
    }
}
