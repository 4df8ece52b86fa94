//! Which program answers, and what measures round trips with it.

use std::time::Duration;

use tapeline_base::{Bytes, SplitMix64, Transport};
use tapeline_dialect::{ClientPlan, Interruption, Limit, MethodSession, SessionError};
use tapeline_report::method::Direction;
use tapeline_sys::{SocketOptions, TcpConn};

use crate::baseline::{Baseline, BaselineSource, small_requests};
use crate::client_runs::{ClientRuns, GO_ON};
use crate::common::{Common, PeerKind};
use crate::error::RunError;
use crate::run::Run;
use crate::session_slot::{CONNECT, NoSession};

/// Time between two round trips: 50 a second.
const SPACING: Duration = Duration::from_millis(20);
/// Time between two connects, where they stand in for probes.
const CONNECTS: Duration = Duration::from_millis(100);
/// Most connects that are under way.
const MAX_CONNECTS: usize = 64;

/// Who is at the other end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MethodPeerProgram {
    /// tapeline.
    Tapeline,
    /// iperf 2, or a tapeline that is not to show itself.
    Iperf2,
    /// iperf3.
    Iperf3,
}

/// The other end.
pub(crate) struct MethodPeer {
    pub(crate) program: MethodPeerProgram,
    /// Time that a connection took.
    pub(crate) connect_time: Duration,
    /// It answers requests on a connection; not known before it was tried.
    answers_requests: bool,
    /// Ends what waits.
    interruption: Interruption,
}

/// Round trips that were measured beside something else.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct RoundTrips {
    pub(crate) delays: Baseline,
    /// Probes without an answer, percent; `None` where the system repeats what is lost.
    pub(crate) loss_percent: Option<f64>,
}

impl MethodPeer {
    /// Connects, and looks who is there; `interruption` ends what waits, now and later.
    ///
    /// # Errors
    /// Nobody is.
    pub(crate) fn find(run: &mut Run<'_>, interruption: &Interruption) -> Result<Self, RunError> {
        let common = run.common();
        if common.peer == PeerKind::Iperf3 {
            let connect_time = connect(common)?;
            return Ok(Self {
                program: MethodPeerProgram::Iperf3,
                connect_time,
                answers_requests: false,
                interruption: interruption.clone(),
            });
        }
        if let Some(session) = run.session() {
            return Ok(Self {
                program: MethodPeerProgram::Tapeline,
                connect_time: session.connect_time(),
                answers_requests: true,
                interruption: interruption.clone(),
            });
        }
        if let Some(NoSession::Failed(
            error @ (SessionError::Interrupted
            | SessionError::Unresolvable { .. }
            | SessionError::Connect { .. }),
        )) = run.no_session()
        {
            return Err(run.session_failure(error));
        }
        // A test shows who it is, and whether it serves at all.
        let plan = ClientPlan {
            connect_timeout: CONNECT,
            ..run.client_plan(Transport::Tcp, Direction::Up)
        };
        let plan = ClientPlan {
            limit: Limit::Bytes(Bytes(1)),
            length: Some(128),
            interval: None,
            probe: false,
            peer_detect: true,
            ..plan
        };
        let report = run.client_test(&plan, &mut |_| {})?;
        let connected = report.streams.iter().find_map(|stream| stream.connect_ms);
        let program = match report.peer.program.as_deref() {
            Some("tapeline") => MethodPeerProgram::Tapeline,
            _ => MethodPeerProgram::Iperf2,
        };
        Ok(Self {
            program,
            connect_time: Duration::from_secs_f64(connected.unwrap_or(0.0).max(0.0) / 1e3),
            answers_requests: true,
            interruption: interruption.clone(),
        })
    }

    /// Measures round trips for so long, beginning after `wait`, while something else runs; by the
    /// session where there is one.
    ///
    /// # Errors
    /// Nothing answers.
    pub(crate) fn round_trips(
        &mut self,
        session: Option<&mut MethodSession>,
        common: &Common,
        runs: &ClientRuns<'_>,
        wait: Duration,
        time: Duration,
    ) -> Result<RoundTrips, RunError> {
        if self.interruption.is_raised_within(wait) {
            return Err(RunError::Interrupted);
        }
        if let Some(session) = session {
            return by_probes(session, time);
        }
        if self.answers_requests {
            match by_requests(common, runs, time) {
                Err(RunError::Failed { .. }) => self.answers_requests = false,
                other => return other,
            }
        }
        by_connects(common, time, &self.interruption)
    }
}

/// Time that one connection to an iperf3 server takes.
fn connect(common: &Common) -> Result<Duration, RunError> {
    let server = common.address()?;
    let local = common.local(server)?;
    let options = socket_options(common);
    match TcpConn::connect(server, local, &options, Some(CONNECT)) {
        Ok(connected) => Ok(connected.connect_time),
        Err(error) => {
            let host = server.ip().to_string();
            Err(RunError::unconnected(&host, server.port(), &error.reason()))
        }
    }
}

fn socket_options(common: &Common) -> SocketOptions {
    SocketOptions {
        device: common.device.clone(),
        ..SocketOptions::default()
    }
}

fn no_answer() -> RunError {
    RunError::failed("no-reply", "nothing answers round trips")
}

fn by_probes(session: &mut MethodSession, time: Duration) -> Result<RoundTrips, RunError> {
    let count = (time.as_nanos() / SPACING.as_nanos()).max(1);
    let row = session
        .probe(u32::try_from(count).unwrap_or(u32::MAX), SPACING)
        .map_err(|error| RunError::failed("no-reply", error.to_string()))?;
    let nanos: Vec<i64> = row
        .round_trips
        .iter()
        .map(|trip| i64::try_from(trip.as_nanos()).unwrap_or(i64::MAX))
        .collect();
    let delays = Baseline::new(BaselineSource::Probes, row.sent, &nanos).ok_or_else(no_answer)?;
    let lost = row.sent.saturating_sub(delays.answered);
    Ok(RoundTrips {
        loss_percent: Some(100.0 * f64::from(lost) / f64::from(row.sent.max(1))),
        delays,
    })
}

fn by_requests(
    common: &Common,
    runs: &ClientRuns<'_>,
    time: Duration,
) -> Result<RoundTrips, RunError> {
    let plan = small_requests(common, SPACING, time);
    let report = runs.client_test(&plan, &mut |_| GO_ON)?;
    let rtt = report
        .streams
        .first()
        .and_then(|stream| stream.rtt.as_ref());
    let rtt = rtt.ok_or_else(no_answer)?;
    let (Some(samples @ 1..), Some(min_ms), Some(p50_ms)) = (rtt.samples, rtt.min_ms, rtt.p50_ms)
    else {
        return Err(no_answer());
    };
    let answered = u32::try_from(samples).unwrap_or(u32::MAX);
    Ok(RoundTrips {
        delays: Baseline {
            source: BaselineSource::BounceBack,
            probes: answered,
            answered,
            min_ms,
            p50_ms,
            p95_ms: rtt.p95_ms.or(rtt.max_ms).unwrap_or(p50_ms),
        },
        // TCP repeats what is lost: it is a long round trip, and no loss.
        loss_percent: None,
    })
}

/// Handshakes, several under way at once; each connection is closed when it is there.
fn by_connects(
    common: &Common,
    time: Duration,
    interruption: &Interruption,
) -> Result<RoundTrips, RunError> {
    let server = common.address()?;
    let local = common.local(server)?;
    let options = socket_options(common);
    let count = (time.as_nanos() / CONNECTS.as_nanos()).max(1) as usize;
    let mut random = SplitMix64::new(time.as_nanos() as u64);
    let nanos: Vec<i64> = std::thread::scope(|scope| {
        let mut handshakes = Vec::new();
        for _ in 0..count.min(MAX_CONNECTS) {
            let options = &options;
            let handshake = std::thread::Builder::new().spawn_scoped(scope, move || {
                let connected = TcpConn::connect(server, local, options, Some(CONNECT)).ok()?;
                i64::try_from(connected.connect_time.as_nanos()).ok()
            });
            handshakes.extend(handshake);
            let extra = random.below(CONNECTS.as_nanos() as u64);
            if interruption.is_raised_within(CONNECTS / 2 + Duration::from_nanos(extra)) {
                break;
            }
        }
        let joined = handshakes.into_iter().map(|one| one.join());
        joined.filter_map(|one| one.ok().flatten()).collect()
    });
    let probes = u32::try_from(count.min(MAX_CONNECTS)).unwrap_or(u32::MAX);
    let delays = Baseline::new(BaselineSource::TcpConnect, probes, &nanos).ok_or_else(no_answer)?;
    Ok(RoundTrips {
        delays,
        loss_percent: None,
    })
}
