//! The searches of `find-rate`, one after the other.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use tapeline_report::method::{
    Direction, DirectionRates, FindRateResult, PlannedPhase, RateConfidence, RateFinding,
    RateFound, RateTrial, TrialVerdict,
};
use tapeline_stats::{
    GoalResult, LossGoal, PlannedTrial, RateOutcome, RateSearch, UsedUp, layer_rate, loss_interval,
};

use super::plan::{FindRatePlan, Laboratory};
use super::trial::{ExplainedFault, Facts, Load};
use crate::common::{Common, PeerKind};
use crate::error::{MethodError, RunError};
use crate::path::PathFacts;
use crate::procedure::Procedure;
use crate::run::Run;

/// The phase of a search, of the trial at what it found, and of the loss curve.
const SEARCH: &str = "search";
const AT_RATE: &str = "at the rate";
const CURVE: &str = "loss curve";
/// Largest packet of datagrams whose size nothing else decides, bytes.
const LARGEST_PACKET: u32 = 9000;
/// Bytes around an IP packet on Ethernet, and on the line.
const ETHERNET: u64 = 18;
const LINE: u64 = 38;
/// Steps of the loss curve, and trials without loss that end it.
const CURVE_STEPS: u32 = 10;
const CURVE_END: usize = 2;

impl Procedure for FindRatePlan {
    const WORD: &'static str = "find-rate";
    const STANDARD: &'static str = "RFC 9971";
    const ABOUT: &'static str = "highest UDP rate without loss";

    type Result = FindRateResult;

    fn common(&self) -> &Common {
        &self.common
    }

    fn common_mut(&mut self) -> &mut Common {
        &mut self.common
    }

    fn phases(&self) -> Vec<PlannedPhase> {
        let mut phases = Vec::new();
        let trial = self.trial().as_secs_f64();
        for direction in self.common.direction.directions() {
            for _ in 0..self.searches() {
                let planned = |name, seconds| PlannedPhase::new(name, Some(*direction), seconds);
                phases.push(planned(SEARCH, self.search_seconds()));
                phases.push(planned(AT_RATE, trial + 1.0));
                if self.loss_curve {
                    phases.push(planned(CURVE, f64::from(CURVE_STEPS) * (trial + 2.5) / 2.0));
                }
            }
        }
        phases
    }

    fn run(&self, run: &mut Run<'_>, result: &mut FindRateResult) -> Result<(), MethodError> {
        let server = self.common.address()?;
        self.permit(server)?;
        let path = PathFacts::measure(&self.common, server);
        let searches = Searches {
            plan: self,
            path,
            server,
        };
        searches.list_deviations(run);
        run.know_round_trip(path.round_trip);
        for direction in self.common.direction.directions() {
            let rates = match direction {
                Direction::Up => result.up.insert(DirectionRates::default()),
                Direction::Down => result.down.insert(DirectionRates::default()),
            };
            if *direction == Direction::Down && is_plain(run) {
                run.skip(
                    SEARCH,
                    Some(*direction),
                    "the server cannot report what it sent",
                );
                result.down = None;
                continue;
            }
            let headers = path.headers();
            let largest = path.mtu.min(LARGEST_PACKET) - headers;
            let (payloads, small) = self.payloads(largest, headers);
            rates.skipped_frame_bytes = small;
            for payload in payloads {
                let load = Load {
                    direction: *direction,
                    payload,
                    headers,
                };
                searches.search_load(run, load, rates)?;
            }
        }
        Ok(())
    }
}

/// The other end is known, and is no tapeline: a plain iperf 2.
fn is_plain(run: &Run<'_>) -> bool {
    let peer = run.peer().and_then(|peer| peer.program);
    let plain = run.common().peer == PeerKind::Auto;
    plain && (!run.common().control || peer.is_some_and(|program| program != "tapeline"))
}

/// How a search stands.
struct Standing {
    search: RateSearch,
    goals: Vec<LossGoal>,
    /// For each trial what hosts did.
    facts: Vec<(Facts, Option<ExplainedFault>)>,
    ended_by: Option<String>,
    began: Instant,
}

/// The searches of a plan.
struct Searches<'p> {
    plan: &'p FindRatePlan,
    path: PathFacts,
    server: SocketAddr,
}

impl Searches<'_> {
    fn list_deviations(&self, run: &mut Run<'_>) {
        let trial = self.plan.trial().as_secs_f64();
        if self.plan.laboratory == Some(Laboratory::Rfc2544) && trial < 60.0 {
            run.deviate(format!("trials of {trial} s (RFC 2544: 60 s)"));
        }
    }

    /// Searches with datagrams of one size in one direction.
    fn search_load(
        &self,
        run: &mut Run<'_>,
        load: Load,
        rates: &mut DirectionRates,
    ) -> Result<(), RunError> {
        let plan = self.plan.search(self.server.ip());
        let planned = Duration::from_secs_f64(self.plan.search_seconds());
        run.begin(SEARCH, Some(load.direction), planned);
        let mut standing = Standing {
            goals: plan.goals.clone(),
            search: RateSearch::new(plan),
            facts: Vec::new(),
            ended_by: None,
            began: Instant::now(),
        };
        let ended = self.trials(run, load, &mut standing);
        standing.ended_by = standing.ended_by.or(match &ended {
            Ok(()) => None,
            Err(RunError::Interrupted) => Some("interrupted".to_owned()),
            Err(_) => Some("a trial failed".to_owned()),
        });
        let first = rates.searches.len();
        rates.searches.extend(standing.findings(load, self.plan));
        ended?;
        for finding in &rates.searches[first..] {
            if let Some(why) = &finding.ended_by {
                run.deviate(why.clone());
            }
        }
        self.at_rate(run, load, &mut rates.searches[first])?;
        if self.plan.loss_curve {
            self.curve(run, load, &standing.goals, &mut rates.searches[first])?;
        }
        Ok(())
    }

    fn trials(
        &self,
        run: &mut Run<'_>,
        load: Load,
        standing: &mut Standing,
    ) -> Result<(), RunError> {
        while let Some(trial) = standing.next_trial() {
            if run
                .bytes_left()
                .is_some_and(|left| load.bytes(trial) > left)
            {
                standing.end("the budget is used up");
                break;
            }
            let ran = match load.run(run, trial) {
                Ok(ran) => ran,
                Err(RunError::BudgetUsed(_)) => {
                    standing.end("the budget is used up");
                    break;
                }
                Err(error) => return Err(error),
            };
            if load.direction == Direction::Down && is_plain(run) {
                let text = "this server cannot report what it sent: only up can be searched";
                return Err(RunError::failed("no-receiver-report", text)
                    .hinting("--direction up, or tapeline as the server"));
            }
            let facts = load.facts(&ran, trial)?;
            let host = facts.host(
                trial.load,
                trial.seconds,
                load.direction,
                standing.harmless_volley(),
            );
            standing.search.take(facts.result(trial, host.as_ref()));
            standing.facts.push((facts, host));
            run.sample("Load, Mbit/s", trial.load as f64 / 1e6);
            let loss = facts.lost as f64 * 100.0 / facts.sent.max(1) as f64;
            run.sample("Lost, %", loss);
            if let Some(row) = standing.rows(load, standing.search.asked()).last() {
                run.trial(row);
            }
            let length = Duration::from_secs_f64(trial.seconds);
            let pause = self.plan.settle(length, self.path.round_trip);
            let invalid = standing.search.invalid_in_a_row();
            run.wait(pause + FindRatePlan::invalid_pause(invalid))?;
        }
        Ok(())
    }

    /// The trial with delays at what was found.
    fn at_rate(
        &self,
        run: &mut Run<'_>,
        load: Load,
        finding: &mut RateFinding,
    ) -> Result<(), RunError> {
        let Some(lower) = finding.lower_bits_per_second else {
            run.skip(AT_RATE, Some(load.direction), "no rate was found");
            return Ok(());
        };
        let trial = PlannedTrial {
            load: lower as u64,
            seconds: self.plan.trial().as_secs_f64(),
        };
        if run
            .bytes_left()
            .is_some_and(|left| load.bytes(trial) > left)
        {
            run.skip(AT_RATE, Some(load.direction), "the budget is used up");
            return Ok(());
        }
        let planned = Duration::from_secs_f64(trial.seconds + 1.0);
        run.begin(AT_RATE, Some(load.direction), planned);
        let ran = load.run(run, trial)?;
        let facts = load.facts(&ran, trial)?;
        finding.at_rate = Some(load.delays(&ran.0, &facts, trial.seconds));
        run.wait(self.plan.settle(self.plan.trial(), self.path.round_trip))
    }

    /// From the first load that lost too much downwards (RFC 2544, section 26.3).
    fn curve(
        &self,
        run: &mut Run<'_>,
        load: Load,
        goals: &[LossGoal],
        finding: &mut RateFinding,
    ) -> Result<(), RunError> {
        let Some(upper) = finding.upper_bits_per_second else {
            run.skip(CURVE, Some(load.direction), "nothing was lost");
            return Ok(());
        };
        let trial = self.plan.trial();
        run.begin(
            CURVE,
            Some(load.direction),
            (trial + Duration::from_secs(3)) * CURVE_STEPS,
        );
        let mut free = 0;
        for step in (1..=CURVE_STEPS).rev() {
            let trial = PlannedTrial {
                load: (upper * f64::from(step) / f64::from(CURVE_STEPS)) as u64,
                seconds: trial.as_secs_f64(),
            };
            if run
                .bytes_left()
                .is_some_and(|left| load.bytes(trial) > left)
            {
                run.deviate("the budget is used up");
                break;
            }
            let ran = load.run(run, trial)?;
            let facts = load.facts(&ran, trial)?;
            let host = facts.host(trial.load, trial.seconds, load.direction, 0.0);
            let row = row(load, goals[0], trial, &facts, host.as_ref());
            free = if row.lost == 0 { free + 1 } else { 0 };
            finding.loss_curve.get_or_insert_default().push(row);
            run.wait(self.plan.settle(self.plan.trial(), self.path.round_trip))?;
            if free >= CURVE_END {
                break;
            }
        }
        Ok(())
    }
}

impl Standing {
    fn next_trial(&mut self) -> Option<PlannedTrial> {
        self.search.next_trial(self.began.elapsed().as_secs_f64())
    }

    fn end(&mut self, why: &str) {
        self.search.end();
        self.ended_by = Some(why.to_owned());
    }

    /// The largest volley of a trial that lost nothing, datagrams.
    fn harmless_volley(&self) -> f64 {
        let trials = self.search.trials().iter().zip(&self.facts);
        let lossless = trials.filter(|(_, (facts, _))| facts.lost == 0);
        let volleys = lossless.map(|(result, (facts, _))| facts.volley(result.trial.seconds));
        volleys.fold(0.0, f64::max)
    }

    /// The trials as a goal sees them.
    fn rows(&self, load: Load, goal: usize) -> Vec<RateTrial> {
        let trials = self.search.trials().iter().zip(&self.facts);
        let rows = trials.map(|(result, (facts, host))| {
            row(load, self.goals[goal], result.trial, facts, host.as_ref())
        });
        rows.collect()
    }

    /// What was found for each goal.
    fn findings(&self, load: Load, plan: &FindRatePlan) -> Vec<RateFinding> {
        let results = self.search.results().into_iter().enumerate();
        let findings = results.map(|(number, result)| {
            let lower = result.lower.map(|rate| rate as f64);
            let packet = u64::from(load.packet());
            let layer = |overhead| lower.map(|rate| layer_rate(rate, packet, overhead).round());
            RateFinding {
                payload_bytes: load.payload,
                packet_bytes: load.packet(),
                frame_bytes: load.packet() + ETHERNET as u32,
                loss_goal_percent: plan.loss_percent[number],
                trial_seconds: plan.trial().as_secs_f64(),
                outcome: result.outcome.map(found),
                ended_by: self.ended_by.clone().or_else(|| self.given_up(number)),
                layer: "ip",
                lower_bits_per_second: lower,
                upper_bits_per_second: result.upper.map(|rate| rate as f64),
                conditional_bits_per_second: result.conditional.map(f64::round),
                packets_per_second: lower.map(|rate| load.packets(rate)),
                ethernet_bits_per_second: layer(ETHERNET),
                line_bits_per_second: layer(LINE),
                resolution_percent: result.width().map(|width| width * 100.0),
                confidence: self.confidence(&result, plan),
                at_rate: None,
                loss_curve: None,
                trials: self.rows(load, number),
                seconds: self.began.elapsed().as_secs_f64(),
            }
        });
        findings.collect()
    }

    /// Why the search gave up a goal, if it did.
    fn given_up(&self, goal: usize) -> Option<String> {
        let used_up = match self.search.used_up(goal)? {
            UsedUp::Trials => "the trials for this goal are used up",
            UsedUp::Time => "the time for this goal is used up",
        };
        let trials = self.search.trials().iter();
        let invalid = trials.filter(|one| !one.counts_for(&self.goals[goal]));
        Some(match invalid.count() {
            0 => used_up.to_owned(),
            invalid => format!("{used_up}, {invalid} trials did not count"),
        })
    }

    /// What is certain of the loss at the lower bound.
    fn confidence(&self, result: &GoalResult, plan: &FindRatePlan) -> Option<RateConfidence> {
        let lower = result.lower?;
        let full = plan.trial().as_secs_f64() * 0.999;
        let trials = self.search.trials().iter();
        let there = trials.filter(|one| {
            one.counts_for(&result.goal) && one.trial.load == lower && one.trial.seconds >= full
        });
        let (sent, lost) = there.fold((0, 0), |(sent, lost), one| {
            (sent + one.sent, lost + one.lost)
        });
        let (above, below) = loss_interval(lost, sent)?;
        Some(RateConfidence {
            sent,
            lost,
            lost_above_percent: above * 100.0,
            lost_below_percent: below * 100.0,
        })
    }
}

fn found(outcome: RateOutcome) -> RateFound {
    match outcome {
        RateOutcome::Found => RateFound::Found,
        RateOutcome::AtLeast => RateFound::AtLeast,
        RateOutcome::Nothing => RateFound::None,
        RateOutcome::Host => RateFound::Host,
    }
}

fn row(
    load: Load,
    goal: LossGoal,
    trial: PlannedTrial,
    facts: &Facts,
    host: Option<&ExplainedFault>,
) -> RateTrial {
    let result = facts.result(trial, host);
    let verdict = match (result.counts_for(&goal), result.loss() > goal.loss) {
        (false, _) => TrialVerdict::Host,
        (true, true) => TrialVerdict::TooMuch,
        (true, false) => TrialVerdict::Passes,
    };
    let decided = host.filter(|_| verdict == TrialVerdict::Host);
    RateTrial {
        bits_per_second: trial.load as f64,
        packets_per_second: load.packets(trial.load as f64),
        seconds: trial.seconds,
        sent: facts.sent,
        lost: facts.lost,
        lost_host: facts.lost_host(),
        verdict,
        reason: decided.map(|one| one.reason.clone()),
    }
}
