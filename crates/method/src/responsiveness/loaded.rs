//! One load, in one direction or both, until its numbers are stable.

use std::num::NonZeroU32;
use std::ops::ControlFlow;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use tapeline_base::{MutexExt, Transport};
use tapeline_dialect::{ClientPlan, FlowGrowth, Limit, MethodSession, Order, SessionEvent};
use tapeline_report::method::{
    Direction, LoadedResponsiveness, ResponsivenessConfidence, ResponsivenessPoint,
    ResponsivenessProbes,
};
use tapeline_stats::{
    ProbeBudget, ResponsivenessConstants, ResponsivenessInterval, ResponsivenessSearch, SearchStage,
};
use tapeline_sys::TcpConn;

use super::fresh_probe::ProbeTarget;
use super::gauge::Gauge;
use crate::client_runs::{ClientRuns, GO_ON};
use crate::error::RunError;
use crate::run::Run;

/// Fewest pairs of probes of a result.
const LEAST_PAIRS: usize = 20;
/// Probes that are under way, at most.
const MAX_PROBES: usize = 128;
/// Longest time between two probes when the server refuses them.
const LONGEST_SPACING: Duration = Duration::from_secs(1);
/// Time between two looks at whether the load is over.
const LOOK: Duration = Duration::from_millis(50);
/// What a load may take longer than both stages.
const MARGIN: Duration = Duration::from_secs(5);
/// Time whose data may wait unsent in a sender: it waits there, where no other flow's packets wait behind it
/// (draft-09, "Client-Side Influence").
const UNSENT: Duration = Duration::from_millis(5);
/// Time for the end of the server's samples.
const FAREWELL: Duration = Duration::from_secs(2);

/// A load that is to be measured.
pub(crate) struct Load<'a> {
    pub(crate) constants: ResponsivenessConstants,
    pub(crate) directions: &'a [Direction],
    /// Both stages.
    pub(crate) time: Duration,
    pub(crate) target: &'a ProbeTarget,
    pub(crate) idle_ms: Option<f64>,
    pub(crate) idle_rpm: Option<f64>,
}

/// What the threads of a load share.
struct Shared {
    gauge: Mutex<Gauge>,
    over: AtomicBool,
    /// The first load that ended on its own.
    ended: Mutex<Option<Result<(), RunError>>>,
    /// Probes were refused, and are sent more slowly.
    slowed: AtomicBool,
    /// The server does not limit its unsent data.
    server_buffers: AtomicBool,
    budget: Mutex<ProbeBudget>,
}

impl Shared {
    fn is_over(&self) -> bool {
        self.over.load(Ordering::Relaxed)
    }

    fn end(&self) {
        self.over.store(true, Ordering::Relaxed);
    }

    /// Waits, unless it is over before.
    fn wait(&self, until: Instant) -> bool {
        while !self.is_over() {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return true;
            }
            std::thread::sleep(left.min(LOOK));
        }
        false
    }
}

/// Ends the load when dropped, whatever happens in between.
struct Ender<'a>(&'a Shared);

impl Drop for Ender<'_> {
    fn drop(&mut self) {
        self.0.end();
    }
}

impl Load<'_> {
    /// Loads and measures; what is known is entered even if something fails.
    ///
    /// # Errors
    /// A load connection breaks, there are too few answers, or the run ends.
    pub(crate) fn measure(
        &self,
        run: &mut Run<'_>,
        session: Option<&mut MethodSession>,
        found: &mut LoadedResponsiveness,
    ) -> Result<(), RunError> {
        let shared = Shared {
            gauge: Mutex::default(),
            over: AtomicBool::new(false),
            ended: Mutex::new(None),
            slowed: AtomicBool::new(false),
            server_buffers: AtomicBool::new(false),
            budget: Mutex::new(ProbeBudget::new(self.constants.share)),
        };
        let intervals = self.time.as_secs_f64() / self.constants.interval / 2.0;
        let limit = (intervals.round() as usize).max(self.constants.distance);
        let mut search = ResponsivenessSearch::new(self.constants, limit);
        let number = MethodSession::test_number();
        let runs = run.runs();
        let measured = std::thread::scope(|scope| {
            let _ender = Ender(&shared);
            for direction in self.directions {
                let plan = self.plan(run, *direction, number);
                let shared = &shared;
                scope.spawn(move || load(runs, &plan, *direction, shared));
            }
            if let Some(session) = session.filter(|_| self.directions.contains(&Direction::Down)) {
                let shared = &shared;
                scope.spawn(move || self.sample(session, number, shared));
            }
            scope.spawn(|| self.probe(&shared));
            self.follow(run, &shared, &mut search, found)
        });
        let gauge = shared.gauge.lock_unpoisoned();
        found.goodput_bits_per_second = search.goodput();
        found.idle_ms = self.idle_ms;
        found.idle_rpm = self.idle_rpm;
        found.probes = ResponsivenessProbes {
            foreign: gauge.answered,
            own: gauge.own,
            failed: gauge.failed,
            bytes: shared.budget.lock_unpoisoned().spent(),
        };
        if gauge.is_senders_count() {
            run.deviate(
                "throughput of the upload is the sender's count: the server does not report its own",
            );
        }
        if shared.slowed.load(Ordering::Relaxed) {
            run.deviate(
                "the server did not answer all new connections: probes were sent more slowly",
            );
        }
        if shared.server_buffers.load(Ordering::Relaxed) {
            run.deviate("the server does not limit its unsent data to 5 ms");
        }
        if !TcpConn::LIMITS_UNSENT && self.directions.contains(&Direction::Up) {
            run.deviate("this system does not limit its unsent data to 5 ms");
        }
        drop(gauge);
        measured?;
        found.confidence = ResponsivenessConfidence {
            goodput: Some(search.goodput_confidence().name()),
            responsiveness: Some(search.confidence().name()),
        };
        let kept = self.constants.kept;
        let samples = search.samples();
        found.tcp_f_ms = tapeline_stats::trimmed_mean(&samples.connect, kept);
        found.http_f_ms = tapeline_stats::trimmed_mean(&samples.answer, kept);
        found.self_ms = samples.own_delay(kept);
        found.self_source = found.self_ms.map(|_| "tcp_info");
        found.foreign_rpm = samples.foreign_rpm(kept);
        found.self_rpm = samples.own_rpm(kept);
        if search.pairs() < LEAST_PAIRS {
            let why = format!(
                "{} pairs of probes were answered, {LEAST_PAIRS} are needed",
                search.pairs()
            );
            found.reason = Some(why.clone());
            return Err(RunError::failed("no-reply", why));
        }
        found.enter(samples.rpm(kept));
        Ok(())
    }

    fn plan(&self, run: &Run<'_>, direction: Direction, number: NonZeroU32) -> ClientPlan {
        let plan = run.client_plan(Transport::Tcp, direction);
        ClientPlan {
            limit: Limit::Time(self.time + MARGIN),
            parallel: self.constants.most,
            growth: Some(FlowGrowth {
                initial: self.constants.initial,
                added: self.constants.added,
                every: Duration::from_secs_f64(self.constants.interval),
                unsent: UNSENT,
            }),
            probe: false,
            test_number: Some(number).filter(|_| direction == Direction::Down),
            ..plan
        }
    }

    /// Takes intervals until the search is over.
    fn follow(
        &self,
        run: &mut Run<'_>,
        shared: &Shared,
        search: &mut ResponsivenessSearch,
        found: &mut LoadedResponsiveness,
    ) -> Result<(), RunError> {
        let began = Instant::now();
        let interval = Duration::from_secs_f64(self.constants.interval);
        for number in 1_u32.. {
            let end = began + interval * number;
            loop {
                run.check()?;
                if let Some(ended) = shared.ended.lock_unpoisoned().take() {
                    ended?;
                    let why = "the load ended before its time";
                    return Err(RunError::failed("test-failed", why));
                }
                let left = end.saturating_duration_since(Instant::now());
                if left.is_zero() {
                    break;
                }
                std::thread::sleep(left.min(LOOK));
            }
            let now = began.elapsed();
            let taken = shared.gauge.lock_unpoisoned().take(now);
            found.flows = Some(taken.flows);
            let rpm = taken.samples.rpm(self.constants.kept);
            let bits_per_second = if taken.seconds > 0.0 {
                taken.bytes as f64 * 8.0 / taken.seconds
            } else {
                0.0
            };
            let point = ResponsivenessPoint {
                end: now.as_secs_f64(),
                bits_per_second,
                rpm,
                flows: taken.flows,
            };
            run.sample("Throughput, Mbit/s", bits_per_second / 1e6);
            if let Some(rpm) = rpm {
                run.sample("Round trips per minute", rpm);
            }
            run.trial(&point);
            found.intervals.push(point);
            let stage = search.add(ResponsivenessInterval {
                bytes: taken.bytes,
                seconds: taken.seconds,
                samples: taken.samples,
            });
            if stage == SearchStage::Over {
                break;
            }
        }
        Ok(())
    }

    /// Sends foreign probes, as many as there may be.
    fn probe(&self, shared: &Shared) {
        let usual = Duration::from_secs_f64(1.0 / self.constants.probes);
        let under_way = AtomicUsize::new(0);
        let cost = self.target.cost();
        std::thread::scope(|scope| {
            let mut spacing = usual;
            let mut failed = 0;
            let mut next = Instant::now();
            while shared.wait(next) {
                next += spacing;
                let (moved, failures) = {
                    let gauge = shared.gauge.lock_unpoisoned();
                    (gauge.moved(), gauge.failed)
                };
                if failures > failed {
                    failed = failures;
                    spacing = (spacing * 2).min(LONGEST_SPACING);
                    shared.slowed.store(true, Ordering::Relaxed);
                }
                let free = under_way.load(Ordering::Relaxed) < MAX_PROBES;
                if !free || !shared.budget.lock_unpoisoned().take(cost, moved) {
                    continue;
                }
                under_way.fetch_add(1, Ordering::Relaxed);
                let under_way = &under_way;
                let one = std::thread::Builder::new().spawn_scoped(scope, move || {
                    let probed = self.target.probe();
                    under_way.fetch_sub(1, Ordering::Relaxed);
                    let mut gauge = shared.gauge.lock_unpoisoned();
                    match probed {
                        Ok(probe) => gauge.probed(&probe),
                        // What the end of the load cuts off was not refused.
                        Err(_) if shared.is_over() => {}
                        Err(_) => gauge.failed += 1,
                    }
                });
                if one.is_err() {
                    under_way.fetch_sub(1, Ordering::Relaxed);
                }
            }
        });
    }

    /// Takes the smoothed round trips of the server's load connections.
    fn sample(&self, session: &mut MethodSession, number: NonZeroU32, shared: &Shared) {
        let order = Order::samples(number, self.time + MARGIN).with_unsent(UNSENT);
        // Without samples there are no pairs, and the result says so.
        let Ok(ready) = session.order(&order) else {
            return;
        };
        if ready.unsent_ms.is_none() {
            shared.server_buffers.store(true, Ordering::Relaxed);
        }
        while !shared.is_over() {
            match session.next_event(LOOK) {
                Ok(Some(SessionEvent::Sample(sample))) => {
                    if let Some(micros) = sample.round_trip_us {
                        let mut gauge = shared.gauge.lock_unpoisoned();
                        gauge.smoothed(Duration::from_micros(micros));
                    }
                }
                Ok(Some(SessionEvent::Done(_))) | Err(_) => return,
                Ok(_) => {}
            }
        }
        session.end_order("enough samples");
        let _ = session.wait_done(FAREWELL);
    }
}

/// Runs the load connections of a direction until it is over.
fn load(runs: &ClientRuns<'_>, plan: &ClientPlan, direction: Direction, shared: &Shared) {
    let ended = runs.client_test(plan, &mut |event| {
        shared.gauge.lock_unpoisoned().observe(event, direction);
        if shared.is_over() {
            ControlFlow::Break(())
        } else {
            GO_ON
        }
    });
    if !shared.is_over() {
        let ended = ended.map(drop);
        shared.ended.lock_unpoisoned().get_or_insert(ended);
    }
}
