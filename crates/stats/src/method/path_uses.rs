//! What a path is good for, and where its weak point is: rules of `tapeline try`, which `tapeline explain
//! try-uses` prints.

use crate::bufferbloat::BufferbloatGrade;

/// Limits of a use: up to the first good, up to the second fair.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct UseLimits {
    /// 95th percentile of the round trip under load, milliseconds.
    pub delay_ms: (f64, f64),
    /// Loss, percent.
    pub loss_percent: (f64, f64),
    /// Jitter, milliseconds.
    pub jitter_ms: (f64, f64),
}

impl UseLimits {
    /// Video calls.
    pub const CALLS: Self = Self {
        delay_ms: (150.0, 300.0),
        loss_percent: (1.0, 3.0),
        jitter_ms: (30.0, 50.0),
    };
    /// Games.
    pub const GAMES: Self = Self {
        delay_ms: (60.0, 120.0),
        loss_percent: (0.5, 2.0),
        jitter_ms: (10.0, 30.0),
    };
    /// Web pages and downloads: median round trip under load, milliseconds; from the first rate on good, from the second on
    /// fair, bits per second.
    pub const WEB_DELAY_MS: (f64, f64) = (200.0, 500.0);
    /// See [`WEB_DELAY_MS`](Self::WEB_DELAY_MS).
    pub const WEB_RATE: (f64, f64) = (10e6, 3e6);
    /// Loss without load above which the line is at fault, percent.
    pub const IDLE_LOSS_PERCENT: f64 = 2.0;
    /// The delay varies without load if its 95th percentile is above so many minima and so many milliseconds.
    pub const IDLE_VARIATION: (f64, f64) = (3.0, 30.0);
    /// Below it the path MTU is worth a sentence, bytes.
    pub const LEAST_MTU: u32 = 1280;
}

/// How well a use does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Fitness {
    /// Without trouble.
    Good,
    /// With trouble now and then.
    Fair,
    /// With trouble.
    Poor,
}

impl Fitness {
    /// `good`, `fair` or `poor`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Good => "good",
            Self::Fair => "fair",
            Self::Poor => "poor",
        }
    }

    /// Of a value that should be low.
    fn up_to(value: f64, (good, fair): (f64, f64)) -> Self {
        match value {
            value if value <= good => Self::Good,
            value if value <= fair => Self::Fair,
            _ => Self::Poor,
        }
    }

    /// Of a value that should be high.
    fn from(value: f64, (good, fair): (f64, f64)) -> Self {
        Self::up_to(-value, (-good, -fair))
    }
}

/// What decides how well a use does.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum UseCause {
    /// The round trip is so long, milliseconds, and so much longer than without load.
    Delay(f64, f64),
    /// So many percent are lost.
    Loss(f64),
    /// Delays differ by so much from one packet to the next, milliseconds.
    Jitter(f64),
    /// It is only so fast, bits per second.
    Rate(f64),
}

/// When that is so.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UseMoment {
    /// With and without load.
    Always,
    /// While something uploads.
    Uploading,
    /// While something downloads.
    Downloading,
}

/// How well a use does, and why.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PathUse {
    /// How well.
    pub fitness: Fitness,
    /// The worst condition; nothing of a use that does well.
    pub cause: Option<(UseCause, UseMoment)>,
    /// All that counts was measured; else only what is known counts.
    pub is_complete: bool,
}

/// One direction under load.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct LoadFacts {
    /// Throughput.
    pub bits_per_second: Option<f64>,
    /// Median round trip, milliseconds.
    pub p50_ms: Option<f64>,
    /// 95th percentile.
    pub p95_ms: Option<f64>,
    /// Loss of probes, percent.
    pub loss_percent: Option<f64>,
    /// Grade of the increase.
    pub grade: Option<BufferbloatGrade>,
    /// An end host limited the throughput, with high or medium confidence.
    pub is_host_limited: bool,
}

/// One direction of the idle path, with a flow as small as a call's.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct IdleFacts {
    /// Loss, percent.
    pub loss_percent: Option<f64>,
    /// Jitter, milliseconds.
    pub jitter_ms: Option<f64>,
}

/// What is known of a path.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct PathFacts {
    /// Least round trip of the idle path, milliseconds.
    pub idle_min_ms: Option<f64>,
    /// Median.
    pub idle_p50_ms: Option<f64>,
    /// 95th percentile.
    pub idle_p95_ms: Option<f64>,
    /// Idle, up and down; `None` of a direction that was not wanted.
    pub idle: [Option<IdleFacts>; 2],
    /// Under load, up and down; `None` of a direction that was not wanted.
    pub loaded: [Option<LoadFacts>; 2],
    /// Path MTU of the narrower direction, bytes.
    pub mtu_bytes: Option<u32>,
    /// Larger packets vanish without notice.
    pub is_black_hole: bool,
}

/// The sentence behind the uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TryAdvice {
    /// An end host limited up, down or both.
    HostLimited([bool; 2]),
    /// Packets are lost without load.
    IdleLoss,
    /// A queue grows up, down or both.
    Queue([bool; 2]),
    /// The path MTU is unusually small, or larger packets vanish.
    Mtu,
    /// The delay varies without load.
    IdleVariation,
    /// Nothing stands out.
    Nothing,
}

impl TryAdvice {
    /// Its name in documents.
    #[must_use]
    pub const fn id(self) -> &'static str {
        match self {
            Self::HostLimited(_) => "host-limited",
            Self::IdleLoss => "idle-loss",
            Self::Queue(_) => "queue",
            Self::Mtu => "mtu",
            Self::IdleVariation => "idle-variation",
            Self::Nothing => "nothing",
        }
    }
}

/// What follows from the facts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PathJudgement {
    /// Web pages and downloads.
    pub web: Option<PathUse>,
    /// Video calls.
    pub calls: Option<PathUse>,
    /// Games.
    pub games: Option<PathUse>,
    /// The sentence; nothing where too little is known for any.
    pub advice: Option<TryAdvice>,
}

impl PathJudgement {
    /// Judges a path. A use of which a round trip or a rate is not known, and that no other fact makes poor, has
    /// no verdict.
    #[must_use]
    pub fn new(facts: &PathFacts) -> Self {
        Self {
            web: web(facts),
            calls: conversation(facts, &UseLimits::CALLS),
            games: conversation(facts, &UseLimits::GAMES),
            advice: advice(facts),
        }
    }
}

const MOMENTS: [UseMoment; 2] = [UseMoment::Uploading, UseMoment::Downloading];

/// The worst condition so far.
struct Worst {
    found: PathUse,
    /// A delay or a rate is missing.
    is_open: bool,
}

impl Worst {
    const fn new() -> Self {
        Self {
            found: PathUse {
                fitness: Fitness::Good,
                cause: None,
                is_complete: true,
            },
            is_open: false,
        }
    }

    fn take(&mut self, fitness: Fitness, cause: UseCause, moment: UseMoment) {
        // Of two delays that are as bad the longer one is told.
        let is_longer = match (self.found.cause, cause) {
            (Some((UseCause::Delay(told, _), _)), UseCause::Delay(delay, _)) => delay > told,
            _ => false,
        };
        if fitness > self.found.fitness
            || (fitness == self.found.fitness && fitness > Fitness::Good && is_longer)
        {
            self.found.fitness = fitness;
            self.found.cause = Some((cause, moment));
        }
    }

    fn verdict(self) -> Option<PathUse> {
        let is_known = !self.is_open || self.found.fitness == Fitness::Poor;
        let is_complete = self.found.is_complete && !self.is_open;
        is_known.then_some(PathUse {
            is_complete,
            ..self.found
        })
    }
}

fn web(facts: &PathFacts) -> Option<PathUse> {
    let mut worst = Worst::new();
    let [_, down] = facts.loaded;
    match down?.bits_per_second {
        Some(rate) => {
            let fitness = Fitness::from(rate, UseLimits::WEB_RATE);
            worst.take(fitness, UseCause::Rate(rate), UseMoment::Always);
        }
        None => worst.is_open = true,
    }
    for (loaded, moment) in facts.loaded.into_iter().zip(MOMENTS) {
        let Some(loaded) = loaded else { continue };
        match loaded.p50_ms {
            Some(delay) => {
                let fitness = Fitness::up_to(delay, UseLimits::WEB_DELAY_MS);
                let more = delay - facts.idle_p50_ms.unwrap_or(0.0);
                worst.take(fitness, UseCause::Delay(delay, more), moment);
            }
            None => worst.is_open = true,
        }
    }
    worst.verdict()
}

fn conversation(facts: &PathFacts, limits: &UseLimits) -> Option<PathUse> {
    let mut worst = Worst::new();
    let mut any = false;
    for (loaded, moment) in facts.loaded.into_iter().zip(MOMENTS) {
        let Some(loaded) = loaded else { continue };
        any = true;
        match loaded.p95_ms {
            Some(delay) => {
                let fitness = Fitness::up_to(delay, limits.delay_ms);
                let more = delay - facts.idle_p95_ms.unwrap_or(0.0);
                worst.take(fitness, UseCause::Delay(delay, more), moment);
            }
            None => worst.is_open = true,
        }
        match loaded.loss_percent {
            Some(loss) => {
                let fitness = Fitness::up_to(loss, limits.loss_percent);
                worst.take(fitness, UseCause::Loss(loss), moment);
            }
            None => worst.found.is_complete = false,
        }
    }
    for idle in facts.idle.into_iter().flatten() {
        match idle.loss_percent {
            Some(loss) => {
                let fitness = Fitness::up_to(loss, limits.loss_percent);
                worst.take(fitness, UseCause::Loss(loss), UseMoment::Always);
            }
            None => worst.found.is_complete = false,
        }
        match idle.jitter_ms {
            Some(jitter) => {
                let fitness = Fitness::up_to(jitter, limits.jitter_ms);
                worst.take(fitness, UseCause::Jitter(jitter), UseMoment::Always);
            }
            None => worst.found.is_complete = false,
        }
    }
    if any { worst.verdict() } else { None }
}

fn advice(facts: &PathFacts) -> Option<TryAdvice> {
    let each =
        |of: fn(&LoadFacts) -> bool| facts.loaded.map(|loaded| loaded.is_some_and(|l| of(&l)));
    let any = |ways: [bool; 2]| ways.contains(&true);
    let hosts = each(|loaded| loaded.is_host_limited);
    if any(hosts) {
        return Some(TryAdvice::HostLimited(hosts));
    }
    let losses = facts.idle.iter().flatten();
    let mut losses = losses.filter_map(|idle| idle.loss_percent);
    if losses.any(|loss| loss > UseLimits::IDLE_LOSS_PERCENT) {
        return Some(TryAdvice::IdleLoss);
    }
    let queues = each(|loaded| {
        let grade = loaded.grade;
        grade.is_some_and(|grade| grade >= BufferbloatGrade::C)
    });
    if any(queues) {
        return Some(TryAdvice::Queue(queues));
    }
    if facts.is_black_hole
        || facts
            .mtu_bytes
            .is_some_and(|mtu| mtu < UseLimits::LEAST_MTU)
    {
        return Some(TryAdvice::Mtu);
    }
    let (times, least) = UseLimits::IDLE_VARIATION;
    let (min, p95) = facts.idle_min_ms.zip(facts.idle_p95_ms)?;
    if p95 > times * min && p95 > least {
        return Some(TryAdvice::IdleVariation);
    }
    // Nothing stands out where it could be seen.
    let graded = facts.loaded.iter().flatten().all(|l| l.p50_ms.is_some());
    graded.then_some(TryAdvice::Nothing)
}

#[cfg(test)]
mod tests {
    use super::*;

    const IDLE: IdleFacts = IdleFacts {
        loss_percent: Some(0.0),
        jitter_ms: Some(0.4),
    };
    const LOADED: LoadFacts = LoadFacts {
        bits_per_second: Some(93.8e6),
        p50_ms: Some(34.0),
        p95_ms: Some(41.0),
        loss_percent: Some(0.0),
        grade: Some(BufferbloatGrade::A),
        is_host_limited: false,
    };
    const FACTS: PathFacts = PathFacts {
        idle_min_ms: Some(20.2),
        idle_p50_ms: Some(21.0),
        idle_p95_ms: Some(22.0),
        idle: [Some(IDLE), Some(IDLE)],
        loaded: [Some(LOADED), Some(LOADED)],
        mtu_bytes: Some(1500),
        is_black_hole: false,
    };

    /// `web calls games advice` of a path that differs from a good one.
    fn judged(change: impl Fn(&mut PathFacts)) -> String {
        let mut facts = FACTS;
        change(&mut facts);
        let judged = PathJudgement::new(&facts);
        let word = |one: Option<PathUse>| one.map_or("-", |one| one.fitness.name());
        format!(
            "{} {} {} {}",
            word(judged.web),
            word(judged.calls),
            word(judged.games),
            judged.advice.map_or("-", TryAdvice::id)
        )
    }

    fn up(facts: &mut PathFacts) -> &mut LoadFacts {
        facts.loaded[0].as_mut().expect("up")
    }

    fn down(facts: &mut PathFacts) -> &mut LoadFacts {
        facts.loaded[1].as_mut().expect("down")
    }

    fn idle(facts: &mut PathFacts, way: usize) -> &mut IdleFacts {
        facts.idle[way].as_mut().expect("idle")
    }

    #[test]
    fn each_rule_has_its_limits() {
        type Change = fn(&mut PathFacts);
        let cases: &[(&str, Change)] = &[
            ("good good good nothing", |_| {}),
            // The round trip under load: the 95th percentile of the worse direction.
            ("good good good nothing", |f| up(f).p95_ms = Some(60.0)),
            ("good good fair nothing", |f| up(f).p95_ms = Some(60.1)),
            ("good good fair nothing", |f| down(f).p95_ms = Some(120.0)),
            ("good good poor nothing", |f| down(f).p95_ms = Some(120.1)),
            ("good good poor nothing", |f| down(f).p95_ms = Some(150.0)),
            ("good fair poor nothing", |f| up(f).p95_ms = Some(150.1)),
            ("good fair poor nothing", |f| up(f).p95_ms = Some(300.0)),
            ("good poor poor nothing", |f| up(f).p95_ms = Some(300.1)),
            // Loss, idle and under load.
            ("good good good nothing", |f| {
                idle(f, 1).loss_percent = Some(0.5)
            }),
            ("good good fair nothing", |f| {
                idle(f, 1).loss_percent = Some(1.0)
            }),
            ("good fair fair nothing", |f| {
                idle(f, 0).loss_percent = Some(2.0)
            }),
            ("good fair poor idle-loss", |f| {
                idle(f, 0).loss_percent = Some(2.1)
            }),
            ("good poor poor idle-loss", |f| {
                idle(f, 1).loss_percent = Some(3.1)
            }),
            ("good poor poor nothing", |f| up(f).loss_percent = Some(3.1)),
            // Jitter.
            ("good good good nothing", |f| {
                idle(f, 0).jitter_ms = Some(10.0)
            }),
            ("good good fair nothing", |f| {
                idle(f, 0).jitter_ms = Some(30.0)
            }),
            ("good fair poor nothing", |f| {
                idle(f, 0).jitter_ms = Some(50.0)
            }),
            ("good poor poor nothing", |f| {
                idle(f, 1).jitter_ms = Some(50.1)
            }),
            // The web wants a rate down and a median both ways.
            ("good good good nothing", |f| {
                down(f).bits_per_second = Some(10e6)
            }),
            ("fair good good nothing", |f| {
                down(f).bits_per_second = Some(9.9e6)
            }),
            ("poor good good nothing", |f| {
                down(f).bits_per_second = Some(2.9e6)
            }),
            ("good good good nothing", |f| {
                up(f).bits_per_second = Some(0.1e6)
            }),
            ("good good good nothing", |f| up(f).p50_ms = Some(200.0)),
            ("fair good good nothing", |f| up(f).p50_ms = Some(200.1)),
            ("poor good good nothing", |f| down(f).p50_ms = Some(500.1)),
            // Advice, in its order.
            ("good good good queue", |f| {
                up(f).grade = Some(BufferbloatGrade::C)
            }),
            ("good good good nothing", |f| {
                up(f).grade = Some(BufferbloatGrade::B)
            }),
            ("good good good host-limited", |f| {
                down(f).is_host_limited = true;
                down(f).grade = Some(BufferbloatGrade::F);
            }),
            ("good fair poor idle-loss", |f| {
                idle(f, 0).loss_percent = Some(2.5);
                up(f).grade = Some(BufferbloatGrade::F);
            }),
            ("good good good queue", |f| {
                down(f).grade = Some(BufferbloatGrade::D);
                f.mtu_bytes = Some(1000);
            }),
            ("good good good nothing", |f| f.mtu_bytes = Some(1280)),
            ("good good good mtu", |f| f.mtu_bytes = Some(1279)),
            ("good good good mtu", |f| f.is_black_hole = true),
            ("good good good idle-variation", |f| {
                f.idle_p95_ms = Some(60.7)
            }),
            ("good good good nothing", |f| f.idle_p95_ms = Some(60.5)),
            ("good good good nothing", |f| {
                (f.idle_min_ms, f.idle_p95_ms) = (Some(1.0), Some(29.0));
            }),
            // What is not known decides nothing.
            ("- - - -", |f| {
                up(f).p95_ms.take().map_or((), |_| up(f).p50_ms = None)
            }),
            ("good poor poor nothing", |f| {
                up(f).p95_ms = None;
                down(f).loss_percent = Some(5.0);
            }),
            ("- good good nothing", |f| down(f).bits_per_second = None),
            ("good good good nothing", |f| {
                f.idle[1] = Some(IdleFacts::default())
            }),
            ("good good good -", |f| f.idle_min_ms = None),
            // A direction that was not wanted does not count.
            ("- good good nothing", |f| {
                (f.loaded[1], f.idle[1]) = (None, None)
            }),
            ("- - - nothing", |f| f.loaded = [None; 2]),
        ];
        for (number, (expected, change)) in cases.iter().enumerate() {
            assert_eq!(judged(change), *expected, "case {number}");
        }
    }

    #[test]
    fn the_worst_condition_is_told() {
        let mut facts = FACTS;
        up(&mut facts).p95_ms = Some(402.0);
        down(&mut facts).p95_ms = Some(350.0);
        let calls = PathJudgement::new(&facts).calls.expect("a verdict");
        let cause = Some((UseCause::Delay(402.0, 380.0), UseMoment::Uploading));
        assert_eq!((calls.fitness, calls.cause), (Fitness::Poor, cause));
        // The longer delay, wherever it is.
        down(&mut facts).p95_ms = Some(500.0);
        let calls = PathJudgement::new(&facts).calls.expect("a verdict");
        let cause = Some((UseCause::Delay(500.0, 478.0), UseMoment::Downloading));
        assert_eq!(calls.cause, cause);
        assert!(calls.is_complete);
        idle(&mut facts, 1).loss_percent = None;
        let calls = PathJudgement::new(&facts).calls.expect("a verdict");
        assert!(!calls.is_complete);
        let mut facts = FACTS;
        up(&mut facts).loss_percent = None;
        let games = PathJudgement::new(&facts).games.expect("a verdict");
        assert_eq!((games.fitness, games.is_complete), (Fitness::Good, false));
        let good = PathJudgement::new(&FACTS).games.expect("a verdict");
        assert_eq!((good.fitness, good.cause), (Fitness::Good, None));
    }

    #[test]
    fn queues_and_hosts_are_told_by_direction() {
        let mut facts = FACTS;
        up(&mut facts).grade = Some(BufferbloatGrade::D);
        assert_eq!(
            PathJudgement::new(&facts).advice,
            Some(TryAdvice::Queue([true, false]))
        );
        down(&mut facts).is_host_limited = true;
        assert_eq!(
            PathJudgement::new(&facts).advice,
            Some(TryAdvice::HostLimited([false, true]))
        );
    }
}
