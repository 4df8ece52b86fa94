//! The highest rate whose loss stays within a goal: a search in the bookkeeping of MLRsearch
//! (RFC 9971).
//!
//! ```text
//!  next() ──► PlannedTrial ── measured ──► take(TrialResult)
//!     ▲        rise, then stages of longer and longer trials     │
//!     └──────────── bounds of each goal, by full trials ◄────────┘
//! ```
//!
//! A short trial only shows where to look. A load is a bound of a goal by full trials alone:
//! with D seconds as the goal's duration sum, x its exceed ratio, and D' = max(D, good + bad),
//! it is a lower bound if D' - good <= x D', and an upper bound if bad > x D'.

use super::rate_trial::{FaultExtent, LossGoal, PlannedTrial, TrialResult};

/// What is searched, and how.
#[derive(Clone, Debug, PartialEq)]
pub struct RateSearchPlan {
    /// At least one.
    pub goals: Vec<LossGoal>,
    /// Length of a full trial, seconds.
    pub full_seconds: f64,
    /// Length of the first trials, seconds.
    pub first_seconds: f64,
    /// (upper - lower) / upper at which a goal is reached; never less than its loss.
    pub resolution: f64,
    /// The lowest load that is tried, bits per second.
    pub lowest: u64,
    /// Where the search begins.
    pub start: u64,
    /// The highest load that is tried.
    pub highest: u64,
    /// Most trials of a goal, those of the rise among the loosest one's: a goal that no rate keeps
    /// leaves the others theirs.
    pub most_trials: usize,
    /// Most seconds of the search: of n goals, the k-th begins no trial after k/n of them, the loosest
    /// first. What one leaves is the next one's.
    pub most_seconds: f64,
}

/// How a search ended for a goal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RateOutcome {
    /// Both bounds are known.
    Found,
    /// The highest load passes.
    AtLeast,
    /// The lowest load fails.
    Nothing,
    /// A host cannot do more.
    Host,
}

/// What a goal has used up before its bounds were near enough.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UsedUp {
    /// Its trials.
    Trials,
    /// Its share of the time.
    Time,
}

/// What full trials say of a load.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LoadClass {
    /// It passes, whatever further trials show.
    Lower,
    /// It loses too much, whatever further trials show.
    Upper,
    /// Another trial is needed.
    Undecided,
}

/// What was found for a goal.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GoalResult {
    /// The goal.
    pub goal: LossGoal,
    /// How it ended; `None` when it was ended before anything was certain.
    pub outcome: Option<RateOutcome>,
    /// The highest load that passes, bits per second.
    pub lower: Option<u64>,
    /// The smallest load that loses too much.
    pub upper: Option<u64>,
    /// What arrives at the lower bound: by the median loss of its trials where half of them may
    /// exceed the goal, else by the worst.
    pub conditional: Option<f64>,
}

impl GoalResult {
    /// The relative distance of the bounds.
    #[must_use]
    pub fn width(&self) -> Option<f64> {
        let (lower, upper) = (self.lower?, self.upper?);
        Some(width(lower, upper))
    }
}

/// The search.
#[derive(Clone, Debug)]
pub struct RateSearch {
    plan: RateSearchPlan,
    /// Lengths of trials, the full one last.
    stages: Vec<f64>,
    trials: Vec<TrialResult>,
    /// For each trial the goal that it was for.
    asked_by: Vec<usize>,
    /// The next load of the rise, while it goes on.
    rise: Option<u64>,
    /// What arrived of the load that ended the rise, bits per second.
    forwarded: Option<f64>,
    goals: Vec<GoalState>,
    /// Numbers of the goals, the loosest first: where the rise has ended it is near, and few datagrams
    /// far below say nothing of it.
    order: Vec<usize>,
    /// The goal that the newest trial is for.
    asked: usize,
    highest: u64,
    /// A load that a host could not do.
    host: Option<u64>,
    /// The last trial, if it was invalid: it did not count for the goal that it was for.
    again: Option<PlannedTrial>,
    /// Invalid trials in a row, and those of them in which a host fell short by far.
    invalid: (u32, u32),
    /// Seconds since the search began.
    elapsed: f64,
    ended: bool,
}

/// How far a goal has come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct GoalState {
    stage: usize,
    /// Trials that were made for it.
    trials: usize,
    outcome: Option<RateOutcome>,
}

/// Share of what arrived behind a bottleneck at which the first guesses lie, above and below.
const GUESSES: [f64; 2] = [1.02, 0.98];
/// Invalid trials in a row in which a host fell short by far, after which it is the limit.
const LIMITED_TRIALS: u32 = 2;
/// Invalid trials in a row of any kind after which a host is the limit.
const INVALID_TRIALS: u32 = 5;
/// How much wider than in the next stage the bounds may be at the end of a stage.
const STAGE_WIDTH: f64 = 4.0;
/// Widest bounds at the end of any stage, and the widest step.
const WIDEST: f64 = 0.5;
/// Loads of a stage that lose too much after which bounds of shorter trials are no longer believed.
const BELIEVED: i32 = 3;

impl RateSearch {
    /// A search that has tried nothing.
    #[must_use]
    pub fn new(plan: RateSearchPlan) -> Self {
        let mut stages = Vec::new();
        let mut seconds = plan.first_seconds;
        // One that is nearly as long as a full trial would cost as much and decide nothing.
        while seconds > 0.0 && seconds <= plan.full_seconds / 2.0 {
            stages.push(seconds);
            seconds *= 2.0;
        }
        stages.push(plan.full_seconds);
        let highest = plan.highest.max(plan.lowest);
        let loss = |goal: &usize| plan.goals[*goal].loss;
        let mut order: Vec<usize> = (0..plan.goals.len()).collect();
        order.sort_by(|one, other| loss(other).total_cmp(&loss(one)));
        Self {
            rise: Some(plan.start.clamp(plan.lowest, highest)),
            goals: vec![GoalState::default(); plan.goals.len()],
            asked: order.first().copied().unwrap_or(0),
            order,
            stages,
            trials: Vec::new(),
            asked_by: Vec::new(),
            forwarded: None,
            highest,
            host: None,
            again: None,
            invalid: (0, 0),
            elapsed: 0.0,
            ended: false,
            plan,
        }
    }

    /// All trials so far.
    #[must_use]
    pub fn trials(&self) -> &[TrialResult] {
        &self.trials
    }

    /// The goal that the newest trial was for, by its number.
    #[must_use]
    pub fn asked(&self) -> usize {
        self.asked
    }

    /// Invalid trials since the last valid one.
    #[must_use]
    pub fn invalid_in_a_row(&self) -> u32 {
        self.invalid.0
    }

    /// Why the search gave up a goal, by its number; `None` of one that is at its end, and of one that may
    /// still be tried.
    #[must_use]
    pub fn used_up(&self, goal: usize) -> Option<UsedUp> {
        let GoalState {
            trials, outcome, ..
        } = *self.goals.get(goal)?;
        let place = self.order.iter().position(|one| *one == goal)? + 1;
        let share = place as f64 / self.goals.len() as f64;
        match outcome {
            Some(_) => None,
            None if trials >= self.plan.most_trials => Some(UsedUp::Trials),
            None => (self.elapsed > self.plan.most_seconds * share).then_some(UsedUp::Time),
        }
    }

    /// Ends the search: the budget is used up, or it was interrupted.
    pub fn end(&mut self) {
        self.ended = true;
    }

    /// The next trial, so many seconds after the search began; `None` when it is over.
    pub fn next_trial(&mut self, elapsed: f64) -> Option<PlannedTrial> {
        self.elapsed = elapsed;
        if self.ended {
            return None;
        }
        if self.used_up(self.asked).is_none() {
            if let Some(again) = self.again {
                return Some(again);
            }
            if let Some(load) = self.rise {
                let seconds = self.stages[0];
                return Some(PlannedTrial { load, seconds });
            }
        }
        for place in 0..self.order.len() {
            let goal = self.order[place];
            if let Some(trial) = self.next_of_goal(goal) {
                self.asked = goal;
                return Some(trial);
            }
        }
        None
    }

    /// Takes what became of the trial.
    pub fn take(&mut self, result: TrialResult) {
        self.goals[self.asked].trials += 1;
        self.asked_by.push(self.asked);
        let load = result.trial.load;
        let goal = self.plan.goals[self.asked];
        if let Some(fault) = result.fault.filter(|_| !result.counts_for(&goal)) {
            // Hosts that have done it once can do it.
            let mut valid = self.trials.iter().filter(|one| one.counts_for(&goal));
            let is_able = valid.any(|one| one.trial.load >= load);
            let (all, limited) = self.invalid;
            let is_limited = fault.extent == FaultExtent::Limited && !is_able;
            self.invalid = (all + 1, limited + u32::from(is_limited));
            self.again = Some(result.trial);
            self.trials.push(result);
            if self.invalid.0 >= INVALID_TRIALS || self.invalid.1 >= LIMITED_TRIALS {
                (self.invalid, self.again) = ((0, 0), None);
                self.host_reached(load);
            }
            return;
        }
        self.trials.push(result);
        (self.invalid, self.again) = ((0, 0), None);
        if let Some(load) = self.rise {
            let loosest = self.plan.goals.iter().map(|goal| goal.loss);
            if result.surely_exceeds(loosest.fold(0.0, f64::max)) {
                self.forwarded = Some(result.forwarded());
                self.rise = None;
            } else if load >= self.highest {
                self.rise = None;
            } else {
                self.rise = Some(load.saturating_mul(2).min(self.highest));
            }
        }
    }

    /// Trials in a row at this load were a host's: nothing above the highest load that lost no
    /// more than a goal allows is tried from here on.
    fn host_reached(&mut self, load: u64) {
        self.host = Some(load);
        self.rise = None;
        let loosest = self.plan.goals[self.order[0]];
        let below = self.trials.iter().filter(|one| one.trial.load < load);
        let good = below.filter(|one| one.counts_for(&loosest) && one.loss() <= loosest.loss);
        match good.map(|one| one.trial.load).max() {
            Some(highest) => self.highest = highest,
            None => self.ended = true,
        }
    }

    fn full_stage(&self) -> usize {
        self.stages.len() - 1
    }

    /// Relative width at which this goal is reached.
    fn resolution(&self, goal: usize) -> f64 {
        self.plan.resolution.max(self.plan.goals[goal].loss)
    }

    fn next_of_goal(&mut self, goal: usize) -> Option<PlannedTrial> {
        loop {
            let GoalState { stage, outcome, .. } = self.goals[goal];
            if outcome.is_some() || self.used_up(goal).is_some() {
                return None;
            }
            let full = stage == self.full_stage();
            let (lower, upper) = self.bounds(goal, stage);
            let left = i32::try_from(self.full_stage() - stage).unwrap_or(i32::MAX);
            let target = (self.resolution(goal) * STAGE_WIDTH.powi(left)).min(WIDEST);
            let target = target.max(self.resolution(goal));
            let at_top = lower.is_some_and(|lower| lower >= self.highest);
            let ends = match (lower, upper) {
                (Some(lower), Some(upper)) if width(lower, upper) <= target => {
                    Some(RateOutcome::Found)
                }
                (Some(_), _) if at_top && self.host.is_some() => Some(RateOutcome::Host),
                (Some(_), None) if at_top => Some(RateOutcome::AtLeast),
                (None, Some(upper)) if upper <= self.plan.lowest => Some(RateOutcome::Nothing),
                // Neighbours: there is no whole number of bits between them.
                (Some(lower), Some(upper)) if upper - lower <= 1 => Some(RateOutcome::Found),
                _ => None,
            };
            match ends {
                Some(end) if full => {
                    self.goals[goal].outcome = Some(end);
                    return None;
                }
                Some(RateOutcome::Found) => self.goals[goal].stage = stage + 1,
                Some(_) => self.goals[goal].stage = self.full_stage(),
                None => {
                    let load = self.next_load(goal, stage, (lower, upper), target);
                    let seconds = self.stages[stage];
                    return Some(PlannedTrial { load, seconds });
                }
            }
        }
    }

    /// A load that brings the bounds of a stage closer together.
    fn next_load(
        &self,
        goal: usize,
        stage: usize,
        (lower, upper): (Option<u64>, Option<u64>),
        target: f64,
    ) -> u64 {
        let (lowest, highest) = (self.plan.lowest, self.highest);
        let within = |load: &u64| {
            lower.is_none_or(|lower| *load > lower) && upper.is_none_or(|upper| *load < upper)
        };
        // What shorter trials showed, the longest of them.
        let shorter = (0..stage).rev().map(|shorter| self.bounds(goal, shorter));
        let mut shorter = shorter.filter(|(lower, upper)| lower.is_some() || upper.is_some());
        let (hint_lower, hint_upper) = shorter.next().unwrap_or_default();
        // Those far above are of another goal.
        let near = |load: &u64| lower.is_some() || hint_upper.is_none_or(|hint| *load <= hint);
        let loads = self.loads(goal, stage).into_iter();
        let mut open = loads.filter(within).filter(near);
        let is_open = |load: &u64| self.class(goal, stage, *load) == LoadClass::Undecided;
        if let Some(load) = open.find(is_open) {
            return load;
        }
        // Steps away from what longer trials did not confirm become larger and larger.
        let tried = self.tried(goal, stage);
        let step = (1.0 - target).powi(1 << tried).max(1.0 - WIDEST);
        let middle = |lower: u64, upper: u64| (lower as f64 * upper as f64).sqrt();
        // A shorter trial's bound is worth a try where it is as near as this stage's bounds have to be.
        let towards = |known: u64, hint: u64, near: f64| match near > target {
            true => middle(known, hint),
            false => hint as f64,
        };
        let load = match (lower, upper) {
            (Some(lower), Some(upper)) => {
                let mut guesses = GUESSES.into_iter().filter_map(|share| {
                    let guess = (self.forwarded? * share) as u64;
                    let between = guess > lower && guess < upper;
                    let near = width(lower, guess).min(width(guess, upper));
                    (between && near > self.resolution(goal)).then_some(guess as f64)
                });
                guesses.next().unwrap_or_else(|| middle(lower, upper))
            }
            // Another goal has tried far lower loads.
            (Some(lower), None) if hint_lower.is_some_and(|hint| hint > lower) => {
                hint_lower.unwrap_or(lower) as f64
            }
            (Some(lower), None) => match hint_upper.filter(|hint| *hint > lower) {
                Some(hint) => towards(lower, hint, width(lower, hint)),
                None => lower as f64 / step,
            },
            // Another goal has tried far higher ones.
            (None, Some(upper)) if hint_upper.is_some_and(|hint| hint < upper) => {
                hint_lower.or(hint_upper).unwrap_or(lowest) as f64
            }
            (None, Some(upper)) => {
                match hint_lower.filter(|hint| *hint < upper && tried <= BELIEVED) {
                    Some(hint) => towards(upper, hint, width(hint, upper)),
                    None => upper as f64 * step,
                }
            }
            (None, None) => hint_lower.unwrap_or(lowest) as f64,
        };
        let load = load.round() as u64;
        let load = load.clamp(lowest, highest);
        let above = lower.map_or(lowest, |lower| (lower + 1).min(highest));
        let below = upper.map_or(highest, |upper| (upper - 1).max(lowest));
        load.clamp(above.min(below), below)
    }

    /// Loads with trials that count for a goal and are at least as long as those of a stage, each once,
    /// rising.
    fn loads(&self, goal: usize, stage: usize) -> Vec<u64> {
        let trials = self.of_stage(goal, stage);
        let mut loads: Vec<u64> = trials.map(|one| one.trial.load).collect();
        loads.sort_unstable();
        loads.dedup();
        loads
    }

    /// How many loads of a stage were tried for this goal.
    fn tried(&self, goal: usize, stage: usize) -> i32 {
        let least = self.stages[stage] * 0.999;
        let counts = |one: &TrialResult| one.counts_for(&self.plan.goals[goal]);
        let own = self.trials.iter().zip(&self.asked_by);
        let own = own.filter(|(one, by)| **by == goal && counts(one) && one.trial.seconds >= least);
        let mut loads: Vec<u64> = own.map(|(one, _)| one.trial.load).collect();
        loads.sort_unstable();
        loads.dedup();
        loads.len().min(16) as i32
    }

    fn of_stage(&self, goal: usize, stage: usize) -> impl Iterator<Item = &TrialResult> {
        let least = self.stages[stage] * 0.999;
        let goal = self.plan.goals[goal];
        let valid = self.trials.iter().filter(move |one| one.counts_for(&goal));
        valid.filter(move |one| one.trial.seconds >= least)
    }

    /// What the trials of a stage say of a load. Before the last stage the newest one decides.
    fn class(&self, goal: usize, stage: usize, load: u64) -> LoadClass {
        let trials = self.of_stage(goal, stage);
        let trials = trials.filter(|one| one.trial.load == load);
        let goal = &self.plan.goals[goal];
        if stage < self.full_stage() {
            return match trials
                .last()
                .is_some_and(|one| one.surely_exceeds(goal.loss))
            {
                true => LoadClass::Upper,
                false => LoadClass::Lower,
            };
        }
        let (mut good, mut bad) = (0.0, 0.0);
        for one in trials {
            if one.loss() > goal.loss {
                bad += one.trial.seconds;
            } else {
                good += one.trial.seconds;
            }
        }
        classify(goal, good, bad)
    }

    /// The bounds of a stage: the smallest upper bound, and the largest lower one below it. Where a
    /// lower load loses more than a higher one, the smallest upper bound wins.
    fn bounds(&self, goal: usize, stage: usize) -> (Option<u64>, Option<u64>) {
        let loads = self.loads(goal, stage);
        let class = |load: &u64| self.class(goal, stage, *load);
        let upper = loads
            .iter()
            .copied()
            .find(|load| class(load) == LoadClass::Upper);
        let below = loads.iter().rev().copied();
        let mut below = below.filter(|load| upper.is_none_or(|upper| *load < upper));
        let lower = below.find(|load| class(load) == LoadClass::Lower);
        (lower, upper)
    }

    /// What full trials say of a load for a goal, by its number; `None` without one.
    #[must_use]
    pub fn class_of(&self, goal: usize, load: u64) -> Option<LoadClass> {
        let full = self.full_stage();
        let tried = self.of_stage(goal, full).any(|one| one.trial.load == load);
        tried.then(|| self.class(goal, full, load))
    }

    /// What was found, in the order of the goals.
    #[must_use]
    pub fn results(&self) -> Vec<GoalResult> {
        let numbers = 0..self.goals.len();
        numbers.map(|goal| self.result(goal)).collect()
    }

    fn result(&self, number: usize) -> GoalResult {
        let goal = self.plan.goals[number];
        let (lower, upper) = self.bounds(number, self.full_stage());
        let outcome = self.goals[number].outcome.or(match (lower, upper) {
            (_, None) if self.host.is_some() => Some(RateOutcome::Host),
            // Wider than asked for, but bounds.
            (Some(_), Some(_)) => Some(RateOutcome::Found),
            (Some(_), None) => Some(RateOutcome::AtLeast),
            (None, _) => None,
        });
        let conditional = lower.map(|lower| {
            let trials = self.of_stage(number, self.full_stage());
            let same = trials.filter(|one| one.trial.load == lower);
            let mut losses: Vec<f64> = same.map(TrialResult::loss).collect();
            losses.sort_unstable_by(f64::total_cmp);
            let worst = losses.len().saturating_sub(1);
            let place = if goal.exceed >= 0.5 { worst / 2 } else { worst };
            lower as f64 * (1.0 - losses.get(place).copied().unwrap_or(0.0))
        });
        GoalResult {
            goal,
            outcome,
            lower,
            upper,
            conditional,
        }
    }
}

/// What so many seconds of good and bad full trials say.
fn classify(goal: &LossGoal, good: f64, bad: f64) -> LoadClass {
    // Sums of trial lengths are not exact.
    const EXACT: f64 = 1e-9;
    let sum = goal.duration_sum.max(good + bad);
    let spare = goal.exceed * sum + EXACT;
    if sum - good <= spare {
        LoadClass::Lower
    } else if bad > spare {
        LoadClass::Upper
    } else {
        LoadClass::Undecided
    }
}

fn width(lower: u64, upper: u64) -> f64 {
    upper.saturating_sub(lower) as f64 / upper.max(1) as f64
}

#[cfg(test)]
mod tests;
