//! The order of the phases, and what each leaves for the next.

use std::time::Duration;

use tapeline_report::document::Verdict;
use tapeline_report::method::rfc6349::{
    DirectionResult, IdleRoundTrip, Rfc6349Result, RoundTripSource, RunPhase, Simultaneous,
    TransferRun,
};
use tapeline_report::method::{Direction, PlannedPhase};
use tapeline_stats::rfc6349::{
    DEFAULT_TTR, PathEvidence, WindowEvidence, WindowOutcome, bandwidth_delay, connections,
    minimum_window,
};
use tapeline_stats::{Certainty, LimitedBy};

use super::bottleneck::BottleneckRate;
use super::buffers::{self, Buffers};
use super::course::Window;
use super::light_load;
use super::path::{self, PathFormat};
use super::plan::{self, Rfc6349Plan, WindowShare, ramp};
use super::transfer::{PathFigures, Transfer};
use crate::baseline::BaselineSource;
use crate::common::Common;
use crate::error::{MethodError, RunError};
use crate::mtu;
use crate::procedure::Procedure;
use crate::run::Run;

/// Round trips of the idle path.
const PROBES: u32 = 50;
/// Most connections at once.
const MOST_CONNECTIONS: u64 = 64;
/// Connections where one does not fill the path.
const SEVERAL: u32 = 4;
/// The smallest share of the product that is tried, bytes: below two segments a connection waits for
/// delayed acknowledgements (RFC 1122, 4.2.3.2), whatever the path allows.
const LEAST_WINDOW: u64 = 2 * 1460;
/// Length of a run that the RFC asks for.
const LONG_ENOUGH: Duration = Duration::from_secs(30);
/// Loss and jitter at light load from which on a path is to be repaired first.
const UNFIT_LOSS: f64 = 5.0;
const UNFIT_JITTER_MS: f64 = 150.0;

/// One direction while it is measured.
#[derive(Clone, Debug, Default)]
struct Way {
    format: PathFormat,
    bottleneck: Option<BottleneckRate>,
}

impl Procedure for Rfc6349Plan {
    const WORD: &'static str = "rfc6349";
    const STANDARD: &'static str = "RFC 6349";
    const ABOUT: &'static str = "how well TCP fills the path, and why not";

    type Result = Rfc6349Result;

    fn common(&self) -> &Common {
        &self.common
    }

    fn common_mut(&mut self) -> &mut Common {
        &mut self.common
    }

    fn phases(&self) -> Vec<PlannedPhase> {
        self.planned_phases()
    }

    fn run(&self, run: &mut Run<'_>, result: &mut Self::Result) -> Result<(), MethodError> {
        measure(self, run, result)
    }
}

/// The whole method.
fn measure(
    plan: &Rfc6349Plan,
    run: &mut Run<'_>,
    result: &mut Rfc6349Result,
) -> Result<(), RunError> {
    let directions = plan.common.direction.directions();
    result.run_seconds = Some(plan.run_time().as_secs_f64());
    result
        .congestion_control
        .clone_from(&plan.common.congestion);
    if plan.run_time() < LONG_ENOUGH {
        let seconds = plan.run_time().as_secs_f64();
        run.deviate(format!("runs of {seconds} s (RFC 6349: 30 s or more)"));
    }
    let mut ways = [Way::default(), Way::default()];
    for direction in directions {
        let way = &mut ways[*direction as usize];
        way.format = path_mtu(run, *direction, result)?;
        *result.direction_mut(*direction) = Some(DirectionResult {
            path_mtu_bytes: way.format.mtu,
            path_mtu_exact: way.format.exact,
            ..DirectionResult::default()
        });
    }
    let round_trip = baseline(run, result)?;
    for direction in directions {
        let way = &mut ways[*direction as usize];
        way.bottleneck = bottleneck(plan, run, *direction, &way.format)?;
        if let Some(of) = result.direction_mut(*direction) {
            enter_bottleneck(of, way, round_trip);
        }
    }
    for direction in directions {
        let rate = ways[*direction as usize].bottleneck;
        let rate = rate.map(|rate| rate.bits_per_second);
        if let Some(of) = result.direction_mut(*direction) {
            light(run, *direction, rate, of)?;
        }
    }
    for direction in directions {
        if let Some(of) = result.direction(*direction) {
            warn_of_buffers(run, *direction, of);
        }
    }
    let counted = Window {
        ramp: ramp(round_trip),
        time: plan.run_time(),
    };
    for direction in directions {
        let way = &ways[*direction as usize];
        let ideal = way.bottleneck.map(|rate| rate.ideal(&way.format).0);
        let series = Series {
            plan,
            direction: *direction,
            figures: PathFigures { round_trip, ideal },
            counted,
        };
        let Some(mut of) = result.direction_mut(*direction).take() else {
            continue;
        };
        // What was measured stays, whatever ends the series.
        let ended = series.perform(run, &mut of);
        if let Some(full) = of.full() {
            let name = full.congestion_control.clone();
            of.headline = full.headline();
            result.congestion_control = result.congestion_control.take().or(name);
        }
        let baseline_ms = result.rtt.as_ref().map(|rtt| rtt.baseline_ms);
        if of.full().is_some() {
            of.conclude(evidence(&of).finding(), *direction, baseline_ms);
        }
        *result.direction_mut(*direction) = Some(of);
        ended?;
    }
    if plan.runs_both_at_once() {
        result.simultaneous = Some(both_at_once(run, &ways, counted, round_trip)?);
    }
    if ways
        .iter()
        .zip(Direction::BOTH)
        .any(|(way, direction)| directions.contains(&direction) && way.bottleneck.is_none())
    {
        let text = "the bottleneck could not be measured, so there is no transfer time ratio";
        return Err(RunError::failed("bottleneck-unknown", text)
            .hinting("give the contracted rate: --cir RATE"));
    }
    Ok(())
}

/// Phase 1.
fn path_mtu(
    run: &mut Run<'_>,
    direction: Direction,
    result: &mut Rfc6349Result,
) -> Result<PathFormat, RunError> {
    run.begin(plan::MTU, Some(direction), mtu::planned(run.common()));
    let mut format = path::by_segments(run, direction)?;
    let found = result.mtu.get_or_insert_default();
    mtu::measure_direction(run, direction, found)?;
    if let Some(way) = found.direction_mut(direction) {
        if direction == Direction::Up {
            way.mss_bytes = way.mss_bytes.or(format.segment);
            way.tcp_path_mtu_bytes = way.tcp_path_mtu_bytes.or(format.route);
        }
        if let Some(exact) = way.mtu_bytes {
            format.mtu = Some(exact);
            format.exact = way.exact;
        }
    }
    if !format.exact {
        run.deviate("path MTU by TCP's segments, not byte by byte");
    }
    Ok(format)
}

/// Phase 2.
fn baseline(run: &mut Run<'_>, result: &mut Rfc6349Result) -> Result<Duration, RunError> {
    run.begin(plan::BASELINE, None, plan::BASELINE_TIME);
    run.pause()?;
    let baseline = run.baseline(PROBES)?;
    if !baseline.was_idle() {
        let text = format!(
            "the path was not idle: the median round trip of {:.2} ms is more than a fifth above the \
             least of {:.2} ms",
            baseline.p50_ms, baseline.min_ms
        );
        run.warn("baseline-not-idle", text);
    }
    let source = match baseline.source {
        BaselineSource::Probes => RoundTripSource::Probes,
        BaselineSource::BounceBack => RoundTripSource::BounceBack,
        BaselineSource::TcpConnect => RoundTripSource::TcpConnect,
    };
    if source == RoundTripSource::TcpConnect {
        run.deviate("round trip by TCP handshakes (RFC 6349, 3.2.1, advises against it)");
    }
    result.rtt = Some(IdleRoundTrip {
        baseline_ms: baseline.min_ms,
        p50_ms: baseline.p50_ms,
        p95_ms: baseline.p95_ms,
        probes: baseline.answered,
        source,
    });
    Ok(baseline.min())
}

/// Phase 3.
fn bottleneck(
    plan: &Rfc6349Plan,
    run: &mut Run<'_>,
    direction: Direction,
    format: &PathFormat,
) -> Result<Option<BottleneckRate>, RunError> {
    if let Some(given) = BottleneckRate::given(plan, direction) {
        run.skip(plan::BOTTLENECK, Some(direction), "the rate was given");
        return Ok(Some(given));
    }
    if run.session().is_some() {
        match BottleneckRate::by_capacity(run, direction) {
            Ok(rate) => return Ok(Some(rate)),
            Err(RunError::Failed { text, .. }) => run.fail_phase(&text)?,
            Err(other) => return Err(other),
        }
    }
    if !BottleneckRate::has_trials(run, direction) {
        let why = "this server reports nothing of what it sends; give --cir or --line-rate";
        run.skip(plan::BOTTLENECK, Some(direction), why);
        return Ok(None);
    }
    match BottleneckRate::by_trials(run, direction, format) {
        Ok(rate) => {
            run.deviate("bottleneck by UDP trials at fixed rates");
            Ok(Some(rate))
        }
        Err(RunError::Failed { text, .. }) => {
            run.fail_phase(&text)?;
            Ok(None)
        }
        Err(other) => Err(other),
    }
}

fn enter_bottleneck(of: &mut DirectionResult, way: &Way, round_trip: Duration) {
    let Some(rate) = way.bottleneck else {
        return;
    };
    let bits = bandwidth_delay(rate.bits_per_second, round_trip.as_secs_f64());
    of.bottleneck = Some(rate.record());
    of.bdp_bits = Some(bits);
    of.minimum_window_bytes = Some(minimum_window(bits));
    of.ideal = Some(rate.ideal(&way.format).1);
}

/// Phase 3a.
fn light(
    run: &mut Run<'_>,
    direction: Direction,
    rate: Option<f64>,
    of: &mut DirectionResult,
) -> Result<(), RunError> {
    let Some(rate) = rate else {
        run.skip(
            plan::LIGHT_LOAD,
            Some(direction),
            "the bottleneck is not known",
        );
        return Ok(());
    };
    run.begin(plan::LIGHT_LOAD, Some(direction), plan::LIGHT);
    run.pause()?;
    let (loss, light) = match light_load::measure(run, direction, rate) {
        Ok(measured) => measured,
        Err(RunError::Failed { text, .. }) => {
            run.fail_phase(&text)?;
            run.deviate("loss at light load is not known");
            return Ok(());
        }
        Err(other) => return Err(other),
    };
    let jitter = light.jitter_ms.filter(|jitter| *jitter > UNFIT_JITTER_MS);
    let heavy = loss.filter(|loss| *loss > UNFIT_LOSS);
    if heavy.is_some() || jitter.is_some() {
        let text = format!(
            "the path {direction} is not fit for TCP: at a tenth of its rate {:.2} % of datagrams are \
             lost, with a jitter of {:.1} ms; repair it first",
            loss.unwrap_or(0.0),
            light.jitter_ms.unwrap_or(0.0)
        );
        run.warn("path-unfit", text);
        run.deviate("measured on a path that is not fit for TCP");
    }
    of.light_load_loss_percent = loss;
    of.light_load = Some(light);
    Ok(())
}

/// Says before the runs which system's buffers are too small for TCP to fill the path.
fn warn_of_buffers(run: &mut Run<'_>, direction: Direction, of: &DirectionResult) {
    let Some(window) = of.minimum_window_bytes else {
        return;
    };
    let server = match run.session().and_then(|session| session.newest_ready()) {
        Some(ready) => Buffers {
            receive: ready.tcp_receive_buffer_bytes,
            send: ready.tcp_send_buffer_bytes,
        },
        None => Buffers::default(),
    };
    let own = Buffers::own();
    let (sender, receiver) = direction.hosts();
    let (sends, receives) = match direction {
        Direction::Up => (own, server),
        Direction::Down => (server, own),
    };
    for shortage in buffers::shortages(window, (sender, sends), (receiver, receives)) {
        run.warn("tcp-buffers-small", shortage.text(direction));
    }
}

/// The runs of one direction.
struct Series<'a> {
    plan: &'a Rfc6349Plan,
    direction: Direction,
    figures: PathFigures,
    counted: Window,
}

impl Series<'_> {
    /// Phases 4 to 6.
    fn perform(&self, run: &mut Run<'_>, of: &mut DirectionResult) -> Result<(), RunError> {
        self.windows(run, of)?;
        run.begin(plan::FULL, Some(self.direction), self.planned(1));
        let full = Transfer::new(RunPhase::Full, self.direction, self.counted);
        self.transfer(run, &full, of)?;
        self.algorithms(run, of)?;
        self.connections(run, of)
    }

    fn planned(&self, runs: u32) -> Duration {
        (self.counted.ramp + self.counted.time) * runs
    }

    /// Phase 4.
    fn windows(&self, run: &mut Run<'_>, of: &mut DirectionResult) -> Result<(), RunError> {
        let asked = &self.plan.windows;
        let windows: Vec<(u64, Option<f64>)> = asked
            .iter()
            .filter_map(|share| match share {
                WindowShare::Bytes(bytes) => Some((*bytes, None)),
                WindowShare::Percent(percent) => {
                    let least = of.minimum_window_bytes? as f64;
                    let bytes = (least * percent / 100.0) as u64;
                    (bytes >= LEAST_WINDOW).then_some((bytes, Some(*percent)))
                }
            })
            .collect();
        if windows.len() < asked.len() && of.minimum_window_bytes.is_some() {
            run.deviate(format!(
                "{}: no run with windows below two segments",
                self.direction
            ));
        }
        if windows.is_empty() {
            if !asked.is_empty() {
                let why = match of.minimum_window_bytes {
                    Some(_) => "they would be smaller than two segments",
                    None => "the bottleneck is not known",
                };
                run.skip(plan::WINDOWS, Some(self.direction), why);
            }
            return Ok(());
        }
        let planned = self.planned(windows.len() as u32);
        run.begin(plan::WINDOWS, Some(self.direction), planned);
        for (bytes, percent) in windows {
            let transfer = Transfer {
                window: Some(bytes),
                window_percent: percent,
                ..Transfer::new(RunPhase::Window, self.direction, self.counted)
            };
            self.transfer(run, &transfer, of)?;
        }
        Ok(())
    }

    /// Phase 5a.
    fn algorithms(&self, run: &mut Run<'_>, of: &mut DirectionResult) -> Result<(), RunError> {
        let names = &self.plan.algorithms;
        if names.is_empty() {
            return Ok(());
        }
        run.begin(
            plan::ALGORITHMS,
            Some(self.direction),
            self.planned(names.len() as u32),
        );
        for name in names {
            let transfer = Transfer {
                congestion: Some(name.clone()),
                ..Transfer::new(RunPhase::Algorithm, self.direction, self.counted)
            };
            self.transfer(run, &transfer, of)?;
        }
        Ok(())
    }

    /// Phase 6.
    fn connections(&self, run: &mut Run<'_>, of: &mut DirectionResult) -> Result<(), RunError> {
        let single = Transfer::new(RunPhase::Connections, self.direction, self.counted);
        let slow = of
            .full()
            .is_some_and(|full| full.ttr.is_none_or(|ttr| ttr > DEFAULT_TTR));
        let transfer = match (self.plan.common.window, of.minimum_window_bytes) {
            (Some(window), Some(least)) => Transfer {
                connections: connections(least, window).min(MOST_CONNECTIONS) as u32,
                window: Some(window),
                ..single
            },
            _ if slow => Transfer {
                connections: SEVERAL,
                ..single
            },
            _ => return Ok(()),
        };
        run.begin(plan::CONNECTIONS, Some(self.direction), self.planned(1));
        self.transfer(run, &transfer, of)
    }

    /// Runs one, behind a pause, and enters it.
    fn transfer(
        &self,
        run: &mut Run<'_>,
        transfer: &Transfer,
        of: &mut DirectionResult,
    ) -> Result<(), RunError> {
        run.pause()?;
        let done = transfer.perform(run, &[self.figures])?;
        let Some(done) = done.into_iter().next().flatten() else {
            return Err(nothing_came());
        };
        if let Some(evidence) = done.window {
            self.warn_of_window(run, &evidence);
        }
        run.trial(&done.run);
        of.runs.push(done.run);
        Ok(())
    }

    /// Says where the window of a run was not the one that was asked for.
    fn warn_of_window(&self, run: &mut Run<'_>, evidence: &WindowEvidence) {
        let asked = evidence.asked;
        let (sender, receiver) = self.direction.hosts();
        let raise =
            format!("raise net.ipv4.tcp_wmem of {sender} and net.ipv4.tcp_rmem of {receiver}");
        match (evidence.outcome(), evidence.used) {
            (WindowOutcome::Clipped, Some(used)) => run.warn(
                "window-clipped",
                format!(
                    "a window of {asked} bytes was requested, {used} were on the way at most: {raise}"
                ),
            ),
            (WindowOutcome::Exceeded, _) => run.warn(
                "window-not-held",
                format!(
                    "a window of {asked} bytes was requested, and more was on the way: the rate to \
                     expect is not known"
                ),
            ),
            (WindowOutcome::Unknown, _) => run.warn(
                "window-clipped",
                format!(
                    "a window of {asked} bytes was requested, and it is not known whether there was \
                     such a large one: {raise}"
                ),
            ),
            _ => {}
        }
    }
}

/// Phase 7.
fn both_at_once(
    run: &mut Run<'_>,
    ways: &[Way; 2],
    counted: Window,
    round_trip: Duration,
) -> Result<Simultaneous, RunError> {
    run.begin(plan::SIMULTANEOUS, None, counted.ramp + counted.time);
    run.pause()?;
    let transfer = Transfer {
        directions: Direction::BOTH.to_vec(),
        ..Transfer::new(RunPhase::Simultaneous, Direction::Up, counted)
    };
    let ideals = Direction::BOTH.map(|direction| {
        let way = &ways[direction as usize];
        let ideal = way.bottleneck.map(|rate| rate.ideal(&way.format).0);
        PathFigures { round_trip, ideal }
    });
    let done = transfer.perform(run, &ideals)?;
    let mut done = done.into_iter().map(|done| Some(done?.run));
    let both = Simultaneous {
        up: done.next().flatten(),
        down: done.next().flatten(),
    };
    for done in [&both.up, &both.down].into_iter().flatten() {
        run.trial(done);
    }
    Ok(both)
}

fn nothing_came() -> RunError {
    RunError::failed("test-failed", "no data came behind the ramp of the run")
}

/// What is known of a direction.
fn evidence(of: &DirectionResult) -> PathEvidence {
    let full = of.full();
    let verdict = full.and_then(|run| run.limited_by.as_ref());
    let limited = |limits: &[LimitedBy]| {
        let verdict = verdict?;
        let by = verdict.limited_by?;
        limits
            .iter()
            .any(|limit| limit.id() == by)
            .then(|| certainty(verdict))
    };
    PathEvidence {
        ttr: of.headline.ttr,
        buffer_delay: of.headline.buffer_delay_percent,
        resent: full.and_then(TransferRun::resent_percent),
        light_load_loss: of.light_load_loss_percent,
        cpu_limited: limited(&[LimitedBy::SenderCpu, LimitedBy::ReceiverCpu]),
        receive_window_limited: limited(&[LimitedBy::ReceiveWindow]),
        send_buffer_limited: limited(&[LimitedBy::SendBuffer]),
        ttr_of_four: of.several().and_then(|run| run.ttr),
    }
}

fn certainty(verdict: &Verdict) -> Certainty {
    let all = [Certainty::High, Certainty::Medium];
    let known = all.into_iter().find(|one| one.id() == verdict.confidence);
    known.unwrap_or(Certainty::Low)
}
