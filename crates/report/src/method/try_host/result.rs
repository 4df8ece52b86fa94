//! What `try HOST` found out, and what follows.

use serde::Serialize;
use tapeline_stats::{
    BufferbloatGrade, Certainty, IdleFacts, LimitedBy, LoadFacts, PathFacts, PathJudgement,
    PathUse, TryAdvice,
};

use crate::method::phase::Direction;
use crate::native::digits;

/// What `try HOST` found out.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TryResult {
    /// Time that a TCP connection to the server took.
    pub connect_ms: Option<f64>,
    /// The idle path, with a flow as small as a call's.
    pub idle: TryIdle,
    /// Upload; `null` when it was not wanted.
    pub up: Option<TryDirection>,
    /// Download; `null` when it was not wanted.
    pub down: Option<TryDirection>,
    /// The largest packet.
    pub mtu: TryMtu,
    /// The grade of the worse direction: `A+`, `A`, `B`, `C`, `D` or `F`.
    pub bufferbloat_grade: Option<&'static str>,
    /// What the path is good for.
    pub uses: TryUses,
    /// The advice of the page: `host-limited`, `idle-loss`, `queue`, `mtu`, `idle-variation` or
    /// `nothing`; `null` when too little is known for any.
    pub advice_id: Option<&'static str>,
}

/// The idle path.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TryIdle {
    /// What made the round trips: `probes`, `bounce_back` or `tcp_connect`.
    pub source: Option<&'static str>,
    /// Round trips that were measured.
    pub samples: Option<u64>,
    /// Least round trip.
    pub min_ms: Option<f64>,
    /// Median.
    pub p50_ms: Option<f64>,
    /// 95th percentile.
    pub p95_ms: Option<f64>,
    /// Datagrams to the server.
    pub up: TryDatagrams,
    /// Datagrams from the server.
    pub down: TryDatagrams,
    /// Why something of it was not measured.
    pub reason: Option<String>,
}

/// One direction of a flow as small as a call's.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TryDatagrams {
    /// Datagrams that were sent.
    pub packets: Option<u64>,
    /// Of them, those that did not arrive.
    pub lost: Option<u64>,
    /// The same, percent.
    pub loss_percent: Option<f64>,
    /// Jitter as RFC 3550 has it.
    pub jitter_ms: Option<f64>,
}

impl TryDatagrams {
    /// So many of so many were lost.
    #[must_use]
    pub fn new(packets: Option<u64>, lost: Option<u64>, jitter_ms: Option<f64>) -> Self {
        let of = packets.filter(|packets| *packets > 0);
        Self {
            packets,
            lost,
            loss_percent: lost
                .zip(of)
                .map(|(lost, packets)| 100.0 * lost as f64 / packets as f64),
            jitter_ms,
        }
    }
}

/// One direction under load.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TryDirection {
    /// Throughput of TCP behind the first second, payload.
    pub bits_per_second: Option<f64>,
    /// How long it was loaded.
    pub load_seconds: Option<f64>,
    /// What made the round trips: `probes`, `bounce_back` or `tcp_connect`.
    pub source: Option<&'static str>,
    /// Round trips that were measured meanwhile.
    pub samples: Option<u64>,
    /// Their median.
    pub loaded_p50_ms: Option<f64>,
    /// Their 95th percentile.
    pub loaded_p95_ms: Option<f64>,
    /// Their median less that of the idle path.
    pub increase_ms: Option<f64>,
    /// The grade of the increase: `A+`, `A`, `B`, `C`, `D` or `F`.
    pub bufferbloat_grade: Option<&'static str>,
    /// Probes that got no answer meanwhile, percent.
    pub loss_percent: Option<f64>,
    /// What limited it, as in a report of a test.
    pub limited_by: Option<&'static str>,
    /// How sure that is: `low`, `medium` or `high`.
    pub confidence: Option<&'static str>,
    /// Why something of it was not measured.
    pub reason: Option<String>,
}

impl TryDirection {
    /// The increase above the idle median, and its grade where there was enough of both.
    pub fn compare(&mut self, idle_p50_ms: Option<f64>) {
        let increase = self.loaded_p50_ms.zip(idle_p50_ms);
        self.increase_ms = increase.map(|(loaded, idle)| loaded - idle);
        let load = self.load_seconds.unwrap_or(0.0);
        // The seconds of a load are a little less than those that were asked for.
        let is_long = load >= 0.98 * BufferbloatGrade::LEAST_LOAD.as_secs_f64();
        let samples = self.samples.unwrap_or(0);
        let graded = is_long && samples >= BufferbloatGrade::LEAST_SAMPLES;
        let grade = self.increase_ms.filter(|_| graded);
        self.bufferbloat_grade =
            grade.map(|increase| BufferbloatGrade::of_increase(increase / 1e3).letter());
        if self.increase_ms.is_some() && !graded && self.reason.is_none() {
            self.reason = Some(if is_long {
                format!(
                    "no bufferbloat grade: {samples} round trips were measured, {} are needed",
                    BufferbloatGrade::LEAST_SAMPLES
                )
            } else {
                format!(
                    "no bufferbloat grade: the load lasted {} s, {} s are needed",
                    digits(load),
                    BufferbloatGrade::LEAST_LOAD.as_secs()
                )
            });
        }
    }

    pub(crate) fn grade(&self) -> Option<BufferbloatGrade> {
        let increase = self.bufferbloat_grade.and(self.increase_ms)?;
        Some(BufferbloatGrade::of_increase(increase / 1e3))
    }

    pub(crate) fn limit(&self) -> Option<(LimitedBy, &'static str)> {
        let id = self.limited_by?;
        let limit = LimitedBy::ALL.into_iter().find(|limit| limit.id() == id)?;
        Some((limit, self.confidence?))
    }

    pub(crate) fn is_host_limited(&self) -> bool {
        self.limit()
            .is_some_and(|(limit, confidence)| limit.is_host() && confidence != Certainty::Low.id())
    }

    fn facts(&self) -> LoadFacts {
        LoadFacts {
            bits_per_second: self.bits_per_second,
            p50_ms: self.loaded_p50_ms,
            p95_ms: self.loaded_p95_ms,
            loss_percent: self.loss_percent,
            grade: self.grade(),
            is_host_limited: self.is_host_limited(),
        }
    }
}

/// The largest IP packet that arrives unfragmented.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TryMtu {
    /// To the server, bytes.
    pub up_bytes: Option<u32>,
    /// From the server.
    pub down_bytes: Option<u32>,
    /// To the byte; else it is the largest customary size that arrives.
    pub exact: bool,
    /// Larger packets vanish without notice; `null` when that was not tried.
    pub black_hole: Option<bool>,
    /// Why something of it was not measured.
    pub reason: Option<String>,
}

impl TryMtu {
    /// The smaller of both directions, or the one that is known.
    #[must_use]
    pub fn narrower(&self) -> Option<u32> {
        match (self.up_bytes, self.down_bytes) {
            (Some(up), Some(down)) => Some(up.min(down)),
            (up, down) => up.or(down),
        }
    }
}

/// What the path is good for: `good`, `fair` or `poor`, `null` when that is not known.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TryUses {
    /// Web pages and downloads.
    pub web: Option<&'static str>,
    /// Video calls.
    pub calls: Option<&'static str>,
    /// Games.
    pub games: Option<&'static str>,
}

impl TryResult {
    /// A direction.
    #[must_use]
    pub fn direction(&self, direction: Direction) -> Option<&TryDirection> {
        match direction {
            Direction::Up => self.up.as_ref(),
            Direction::Down => self.down.as_ref(),
        }
    }

    /// Draws the conclusions: grades, uses, advice.
    pub fn conclude(&mut self) {
        let idle = self.idle.p50_ms;
        for way in [&mut self.up, &mut self.down].into_iter().flatten() {
            way.compare(idle);
        }
        let grades = [&self.up, &self.down].into_iter().flatten();
        let grades: Option<Vec<BufferbloatGrade>> = grades.map(TryDirection::grade).collect();
        let worst = grades.and_then(|grades| grades.into_iter().max());
        self.bufferbloat_grade = worst.map(BufferbloatGrade::letter);
        let judged = self.judge();
        let word = |one: Option<PathUse>| one.map(|one| one.fitness.name());
        self.uses = TryUses {
            web: word(judged.web),
            calls: word(judged.calls),
            games: word(judged.games),
        };
        self.advice_id = judged.advice.map(TryAdvice::id);
    }

    pub(crate) fn judge(&self) -> PathJudgement {
        let idle = |datagrams: &TryDatagrams| IdleFacts {
            loss_percent: datagrams.loss_percent,
            jitter_ms: datagrams.jitter_ms,
        };
        PathJudgement::new(&PathFacts {
            idle_min_ms: self.idle.min_ms,
            idle_p50_ms: self.idle.p50_ms,
            idle_p95_ms: self.idle.p95_ms,
            idle: [
                self.up.as_ref().map(|_| idle(&self.idle.up)),
                self.down.as_ref().map(|_| idle(&self.idle.down)),
            ],
            loaded: [
                self.up.as_ref().map(TryDirection::facts),
                self.down.as_ref().map(TryDirection::facts),
            ],
            mtu_bytes: self.mtu.narrower(),
            is_black_hole: self.mtu.black_hole == Some(true),
        })
    }

    pub(crate) fn worse(&self, of: impl Fn(&TryDirection) -> Option<f64>) -> Option<f64> {
        let both = [&self.up, &self.down].into_iter().flatten();
        let values: Option<Vec<f64>> = both.map(of).collect();
        values?.into_iter().reduce(f64::max)
    }
}
