//! `try HOST`: the page for everybody.

use serde::Serialize;
use tapeline_stats::{
    BufferbloatGrade, Certainty, Fitness, IdleFacts, LimitedBy, LoadFacts, PathFacts,
    PathJudgement, PathUse, TryAdvice, UseCause, UseMoment,
};

use super::figure::{CsvTable, Quantity, cell};
use super::page::{MethodHead, PageStyle};
use super::pass::{Bound, Criterion};
use super::phase::Direction;
use super::result::MethodResult;
use crate::native::{digits, hanging, limit_words};

/// Columns of the label of a line, with its indent.
const LABEL: usize = 14;
/// Columns of the label of a use.
const USE: usize = 19;
/// A path MTU that lines with PPPoE have.
const PPPOE: u32 = 1492;
/// The path MTU of Ethernet, which needs no remark.
const ETHERNET: u32 = 1500;

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

    fn grade(&self) -> Option<BufferbloatGrade> {
        let increase = self.bufferbloat_grade.and(self.increase_ms)?;
        Some(BufferbloatGrade::of_increase(increase / 1e3))
    }

    fn limit(&self) -> Option<(LimitedBy, &'static str)> {
        let id = self.limited_by?;
        let limit = LimitedBy::ALL.into_iter().find(|limit| limit.id() == id)?;
        Some((limit, self.confidence?))
    }

    fn is_host_limited(&self) -> bool {
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

    fn judge(&self) -> PathJudgement {
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

    fn worse(&self, of: impl Fn(&TryDirection) -> Option<f64>) -> Option<f64> {
        let both = [&self.up, &self.down].into_iter().flatten();
        let values: Option<Vec<f64>> = both.map(of).collect();
        values?.into_iter().reduce(f64::max)
    }
}

const CRITERIA: &[Criterion] = &[
    Criterion {
        name: "down",
        unit: "Mbit/s",
        bound: Bound::AtLeast,
        default: None,
    },
    Criterion {
        name: "up",
        unit: "Mbit/s",
        bound: Bound::AtLeast,
        default: None,
    },
    Criterion {
        name: "loaded",
        unit: "ms",
        bound: Bound::AtMost,
        default: None,
    },
    Criterion {
        name: "loss",
        unit: "percent",
        bound: Bound::AtMost,
        default: None,
    },
];

impl MethodResult for TryResult {
    const CRITERIA: &'static [Criterion] = CRITERIA;

    fn page(&self, head: &MethodHead, style: &PageStyle) -> String {
        Page {
            result: self,
            head,
            style,
            text: String::new(),
        }
        .lay_out()
    }

    fn verdict(&self) -> String {
        self.judge()
            .advice
            .map(|advice| self.advice_text(advice))
            .unwrap_or_default()
    }

    fn csv(&self) -> CsvTable {
        let mut table = CsvTable::new(&[
            "direction",
            "bits_per_second",
            "idle_p50_ms",
            "loaded_p50_ms",
            "loaded_p95_ms",
            "bufferbloat_grade",
            "idle_loss_percent",
            "loaded_loss_percent",
            "jitter_ms",
            "mtu_bytes",
            "limited_by",
        ]);
        for direction in [Direction::Down, Direction::Up] {
            let Some(way) = self.direction(direction) else {
                continue;
            };
            let (datagrams, mtu) = match direction {
                Direction::Up => (&self.idle.up, self.mtu.up_bytes),
                Direction::Down => (&self.idle.down, self.mtu.down_bytes),
            };
            table.push(vec![
                direction.word().to_owned(),
                cell(way.bits_per_second),
                cell(self.idle.p50_ms),
                cell(way.loaded_p50_ms),
                cell(way.loaded_p95_ms),
                cell(way.bufferbloat_grade),
                cell(datagrams.loss_percent),
                cell(way.loss_percent),
                cell(datagrams.jitter_ms),
                cell(mtu),
                cell(way.limited_by),
            ]);
        }
        table
    }

    fn quantities(&self) -> Vec<Quantity> {
        let mut quantities = vec![Quantity::new("idle", self.idle.p50_ms, "ms")];
        for direction in [Direction::Down, Direction::Up] {
            let Some(way) = self.direction(direction) else {
                continue;
            };
            let mtu = match direction {
                Direction::Up => self.mtu.up_bytes,
                Direction::Down => self.mtu.down_bytes,
            };
            let mut add = |name: &str, value, unit| {
                quantities.push(Quantity::new(format!("{name}.{direction}"), value, unit));
            };
            add("rate", way.bits_per_second, "bits_per_second");
            add("loaded", way.loaded_p50_ms, "ms");
            add("loss", way.loss_percent, "percent");
            add("mtu", mtu.map(f64::from), "bytes");
        }
        quantities
    }

    fn criterion(&self, name: &str) -> Option<f64> {
        let megabits = |way: &Option<TryDirection>| Some(way.as_ref()?.bits_per_second? / 1e6);
        match name {
            "down" => megabits(&self.down),
            "up" => megabits(&self.up),
            "loaded" => self.worse(|way| way.loaded_p50_ms),
            "loss" => {
                let idle = [(&self.up, &self.idle.up), (&self.down, &self.idle.down)];
                let idle = idle.into_iter().filter(|(wanted, _)| wanted.is_some());
                let idle: Option<Vec<f64>> =
                    idle.map(|(_, datagrams)| datagrams.loss_percent).collect();
                let idle = idle?.into_iter().reduce(f64::max)?;
                Some(self.worse(|way| way.loss_percent)?.max(idle))
            }
            _ => None,
        }
    }

    fn host_limited(&self) -> bool {
        let ways = [&self.up, &self.down].into_iter().flatten();
        ways.into_iter().any(TryDirection::is_host_limited)
    }
}

/// Milliseconds in a line: whole from 10 on.
fn delay(millis: f64) -> String {
    if millis < 9.95 {
        format!("{millis:.1}")
    } else {
        format!("{millis:.0}")
    }
}

/// A rate to set a shaper to: 95 % of what was measured, rounded down to two digits.
fn shaped(bits_per_second: f64) -> String {
    let megabits = bits_per_second * 0.95 / 1e6;
    match megabits {
        low if low < 1.0 => format!("{:.0} kbit/s", low * 1e3),
        low if low < 3.0 => format!("{low:.1} Mbit/s"),
        low if low < 100.0 => format!("{:.0} Mbit/s", low.floor()),
        high => {
            let step = 10f64.powf(high.log10().floor() - 1.0);
            format!("{:.0} Mbit/s", (high / step).floor() * step)
        }
    }
}

impl TryResult {
    fn advice_text(&self, advice: TryAdvice) -> String {
        match advice {
            TryAdvice::HostLimited(ways) => self.host_text(ways),
            TryAdvice::IdleLoss => {
                let losses = [&self.idle.up, &self.idle.down];
                let losses = losses.into_iter().filter_map(|one| one.loss_percent);
                let worst = losses.fold(0.0, f64::max);
                format!(
                    "{} % of packets are lost even without load: a faulty line, or Wi-Fi at its \
                     limits. Try again over a cable.",
                    digits(worst)
                )
            }
            TryAdvice::Queue(ways) => self.queue_text(ways),
            TryAdvice::Mtu => self.mtu_text(),
            TryAdvice::IdleVariation => {
                "The delay varies even without load: Wi-Fi or a busy line.".to_owned()
            }
            TryAdvice::Nothing => "Nothing stands out.".to_owned(),
        }
    }

    /// `This computer (its CPU), not the network, limited the download.`
    fn host_text(&self, [up, down]: [bool; 2]) -> String {
        let direction = if down { Direction::Down } else { Direction::Up };
        let limit = self
            .direction(direction)
            .and_then(TryDirection::limit)
            .map(|(limit, _)| limit);
        let Some(limit) = limit else {
            return String::new();
        };
        let at_sender = matches!(
            limit,
            LimitedBy::SenderCpu | LimitedBy::SendBuffer | LimitedBy::Pacing
        );
        let here = match direction {
            Direction::Up => at_sender,
            Direction::Down => !at_sender,
        };
        let what = match limit {
            LimitedBy::SenderCpu | LimitedBy::ReceiverCpu => "CPU",
            LimitedBy::SendBuffer => "send buffer",
            LimitedBy::ReceiveWindow => "receive window",
            LimitedBy::ReceiveBuffer => "receive buffer",
            _ => "timing",
        };
        let host = if here { "This computer" } else { "The server" };
        let which = match (up, down) {
            (true, true) => "both transfers",
            (true, false) => "the upload",
            _ => "the download",
        };
        format!("{host} (its {what}), not the network, limited {which}.")
    }

    fn queue_text(&self, ways: [bool; 2]) -> String {
        let held = |direction| {
            let way = self.direction(direction);
            let increase = way.and_then(|way| way.increase_ms).unwrap_or(0.0);
            digits(increase / 1e3)
        };
        let rate = |direction| {
            let way = self.direction(direction);
            shaped(way.and_then(|way| way.bits_per_second).unwrap_or(0.0))
        };
        let manager = "A router with smart queue management (fq_codel, CAKE) set to about";
        match ways {
            [true, true] => format!(
                "The weak points are the queues of both directions: they hold {} s of data up and {} \
                 s down. {manager} {} upstream and {} downstream would remove them.",
                held(Direction::Up),
                held(Direction::Down),
                rate(Direction::Up),
                rate(Direction::Down)
            ),
            [true, false] => format!(
                "The weak point is the queue for outgoing traffic: it holds {} s of data. {manager} \
                 {} upstream would remove it.",
                held(Direction::Up),
                rate(Direction::Up)
            ),
            _ => format!(
                "The weak point is the queue for incoming traffic: it holds {} s of data. {manager} \
                 {} downstream would remove it.",
                held(Direction::Down),
                rate(Direction::Down)
            ),
        }
    }

    fn mtu_text(&self) -> String {
        let Some(mtu) = self.mtu.narrower() else {
            return String::new();
        };
        if self.mtu.black_hole == Some(true) {
            return format!(
                "Packets above {mtu} bytes vanish without notice. Connections that negotiate larger \
                 segments will hang: lower the MTU, or clamp the MSS. \"tapeline mtu\" says more."
            );
        }
        format!(
            "Packets of at most {mtu} bytes arrive, and IPv6 needs 1280: look for tunnels in \
             tunnels. \"tapeline mtu\" says more."
        )
    }
}

/// The page while it is laid out.
struct Page<'a> {
    result: &'a TryResult,
    head: &'a MethodHead,
    style: &'a PageStyle,
    text: String,
}

impl Page<'_> {
    fn lay_out(mut self) -> String {
        self.title();
        self.loads();
        self.idle();
        self.mtu();
        self.uses();
        self.conclusion();
        self.text
    }

    fn line(&mut self, line: &str) {
        self.text.push_str(line.trim_end());
        self.text.push('\n');
    }

    /// A value behind its label, in as many lines as it needs.
    fn fact(&mut self, label: &str, value: &str) {
        let head = format!("{:<LABEL$}", format!("  {label}"));
        for line in hanging(&head, value, self.style.width) {
            self.line(&line);
        }
    }

    fn title(&mut self) {
        let peer = self.head.peer.as_ref();
        let peer = peer.map_or_else(String::new, |peer| format!(" ({peer} there)"));
        let family = self.head.family();
        let family = family.map_or_else(String::new, |family| format!(", {family}"));
        let title = format!(
            "tapeline try {}{peer}{family}, {:.1} s",
            self.head.target(),
            self.head.seconds
        );
        let paragraph = self.style.paragraph(&title);
        self.text.push_str(&paragraph);
        self.text.push('\n');
    }

    fn loads(&mut self) {
        for (label, direction) in [("download", Direction::Down), ("upload", Direction::Up)] {
            let Some(way) = self.result.direction(direction) else {
                continue;
            };
            let Some(rate) = way.bits_per_second else {
                let said = match &way.reason {
                    Some(reason) => format!("not measured: {reason}"),
                    None => self.head.missing().to_owned(),
                };
                self.fact(label, &said);
                continue;
            };
            let rate = digits(rate / 1e6);
            let latency = match (self.result.idle.p50_ms, way.loaded_p50_ms) {
                (Some(idle), Some(loaded)) => {
                    let (idle, loaded) = (delay(idle), delay(loaded));
                    format!("latency {idle} ms idle -> {loaded} ms loaded")
                }
                (None, Some(loaded)) => format!("latency {} ms loaded", delay(loaded)),
                (_, None) => format!("latency under load {}", self.head.missing()),
            };
            let grade = way
                .bufferbloat_grade
                .map_or_else(String::new, |grade| format!("bufferbloat {grade}"));
            let head = format!("{:<LABEL$}", format!("  {label}"));
            self.line(&format!("{head}{rate:>5} Mbit/s   {latency:<35}  {grade}"));
            if let Some(reason) = &way.reason {
                let reason = reason.clone();
                self.fact("", &reason);
            }
        }
    }

    fn idle(&mut self) {
        let idle = &self.result.idle;
        let wanted = [
            (self.result.up.is_some(), "up", &idle.up),
            (self.result.down.is_some(), "down", &idle.down),
        ];
        let wanted = wanted.into_iter().filter(|(wanted, ..)| *wanted);
        let ways: Vec<(&str, &TryDatagrams)> = wanted
            .map(|(_, word, datagrams)| (word, datagrams))
            .collect();
        let missing = self.head.missing();
        let lost: Vec<String> = ways
            .iter()
            .map(
                |(word, datagrams)| match (datagrams.lost, datagrams.packets) {
                    (Some(lost), Some(packets)) => format!("{lost} of {packets} {word}"),
                    _ => format!("{word} {missing}"),
                },
            )
            .collect();
        let mut loss = if ways.iter().all(|(_, datagrams)| datagrams.lost.is_none()) {
            match &idle.reason {
                Some(reason) => format!("not measured: {reason}"),
                None => missing.to_owned(),
            }
        } else {
            format!("{} idle", lost.join(", "))
        };
        let loaded = [
            ("uploading", &self.result.up),
            ("downloading", &self.result.down),
        ];
        let loaded: Vec<String> = loaded
            .into_iter()
            .filter_map(|(word, way)| {
                let percent = way
                    .as_ref()?
                    .loss_percent
                    .filter(|percent| *percent > 0.0)?;
                Some(format!("{} % while {word}", digits(percent)))
            })
            .collect();
        if !loaded.is_empty() {
            loss.push_str(&format!("; {}", loaded.join(", ")));
        }
        self.fact("packet loss", &loss);
        if ways
            .iter()
            .any(|(_, datagrams)| datagrams.jitter_ms.is_some())
        {
            let jitter: Vec<String> = ways
                .iter()
                .map(|(word, datagrams)| match datagrams.jitter_ms {
                    Some(jitter) => format!("{} ms {word}", digits(jitter)),
                    None => format!("{word} {missing}"),
                })
                .collect();
            self.fact("jitter", &jitter.join(", "));
        }
    }

    fn mtu(&mut self) {
        let mtu = &self.result.mtu;
        let missing = self.head.missing();
        let size = |bytes: u32| {
            let about = if mtu.exact { "" } else { "about " };
            format!("{about}{bytes}")
        };
        let remark = match mtu.narrower() {
            Some(PPPOE) => " (PPPoE or similar)",
            Some(bytes) if bytes < ETHERNET => " (a tunnel or similar)",
            _ => "",
        };
        let said = match (mtu.up_bytes, mtu.down_bytes) {
            (Some(up), Some(down)) if up == down => format!("{}{remark}", size(up)),
            (Some(up), Some(down)) => {
                format!("{} up, {} down{remark}", size(up), size(down))
            }
            (Some(up), None) if self.result.down.is_none() => format!("{} up{remark}", size(up)),
            (None, Some(down)) if self.result.up.is_none() => {
                format!("{} down{remark}", size(down))
            }
            (Some(up), None) => format!("{} up{remark}, down {missing}", size(up)),
            (None, Some(down)) => format!("{} down{remark}, up {missing}", size(down)),
            (None, None) => match &mtu.reason {
                Some(reason) => format!("not measured: {reason}"),
                None => missing.to_owned(),
            },
        };
        self.fact("path MTU", &said);
    }

    fn uses(&mut self) {
        let judged = self.result.judge();
        self.text.push('\n');
        for (label, one) in [
            ("web, downloads", judged.web),
            ("video calls", judged.calls),
            ("games", judged.games),
        ] {
            let said = match one {
                Some(one) => use_words(&one),
                None => self.head.missing().to_owned(),
            };
            let head = format!("{:<USE$}", format!("  {label}"));
            for line in hanging(&head, &said, self.style.width) {
                self.line(&line);
            }
        }
    }

    fn conclusion(&mut self) {
        self.text.push('\n');
        let verdict = self.result.verdict();
        if !verdict.is_empty() {
            let paragraph = self.style.paragraph(&verdict);
            self.text.push_str(&paragraph);
        }
        let limits: Vec<(Direction, String)> = [Direction::Down, Direction::Up]
            .into_iter()
            .filter_map(|direction| {
                let (limit, confidence) = self.result.direction(direction)?.limit()?;
                let words = limit_words(limit);
                Some((direction, format!("{words} ({confidence} confidence)")))
            })
            .collect();
        let said = match limits.as_slice() {
            [(_, down), (_, up)] if down == up => down.clone(),
            [] => return,
            several => {
                let each = several
                    .iter()
                    .map(|(direction, words)| format!("{direction} {words}"));
                each.collect::<Vec<String>>().join(", ")
            }
        };
        let paragraph = self.style.paragraph(&format!("limited by: {said}"));
        self.text.push_str(&paragraph);
    }
}

/// `poor while something uploads: answers take 0.4 s longer`.
fn use_words(one: &PathUse) -> String {
    let fitness = one.fitness.name();
    let Some((cause, moment)) = one.cause else {
        let known = if one.is_complete {
            ""
        } else {
            ", by what this peer reports"
        };
        return format!("{fitness}{known}");
    };
    let why = match cause {
        UseCause::Delay(_, more) if one.fitness == Fitness::Good || more < 1.0 => String::new(),
        UseCause::Delay(_, more) if more >= 100.0 => {
            format!(": answers take {:.1} s longer", more / 1e3)
        }
        UseCause::Delay(_, more) => format!(": answers take {more:.0} ms longer"),
        UseCause::Loss(percent) => format!(": {} % of packets are lost", digits(percent)),
        UseCause::Jitter(millis) => format!(": delays vary by {} ms", digits(millis)),
        UseCause::Rate(rate) => format!(": {} Mbit/s down", digits(rate / 1e6)),
    };
    let when = match moment {
        UseMoment::Always => "",
        UseMoment::Uploading => " while something uploads",
        UseMoment::Downloading => " while something downloads",
    };
    format!("{fitness}{when}{why}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn direction(rate: f64, p50: f64, p95: f64) -> TryDirection {
        TryDirection {
            bits_per_second: Some(rate),
            load_seconds: Some(6.0),
            source: Some("probes"),
            samples: Some(290),
            loaded_p50_ms: Some(p50),
            loaded_p95_ms: Some(p95),
            loss_percent: Some(0.0),
            limited_by: Some("network"),
            confidence: Some("high"),
            ..TryDirection::default()
        }
    }

    /// The path of the specification's page.
    fn example() -> TryResult {
        let mut result = TryResult {
            connect_ms: Some(20.4),
            idle: TryIdle {
                source: Some("probes"),
                samples: Some(125),
                min_ms: Some(20.2),
                p50_ms: Some(21.0),
                p95_ms: Some(22.0),
                up: TryDatagrams::new(Some(250), Some(0), Some(0.4)),
                down: TryDatagrams::new(Some(250), Some(0), Some(0.3)),
                reason: None,
            },
            up: Some(TryDirection {
                loss_percent: Some(1.2),
                ..direction(9.6e6, 402.0, 430.0)
            }),
            down: Some(direction(93.8e6, 34.0, 36.0)),
            mtu: TryMtu {
                up_bytes: Some(1492),
                down_bytes: Some(1492),
                exact: true,
                ..TryMtu::default()
            },
            ..TryResult::default()
        };
        result.conclude();
        result
    }

    fn head() -> MethodHead {
        MethodHead {
            method: "try",
            host: "192.0.2.10".into(),
            address: Some([192, 0, 2, 10].into()),
            peer: Some("tapeline 0.2.0".into()),
            seconds: 18.6,
            ..MethodHead::default()
        }
    }

    fn page(result: &TryResult) -> String {
        let page = result.page(&head(), &PageStyle::default());
        assert!(page.lines().all(|line| line.len() <= 80), "{page}");
        assert!(page.is_ascii(), "{page}");
        page
    }

    #[test]
    fn the_page_is_that_of_the_specification() {
        let result = example();
        assert_eq!(result.bufferbloat_grade, Some("D"));
        assert_eq!(result.advice_id, Some("queue"));
        let words = [result.uses.web, result.uses.calls, result.uses.games];
        assert_eq!(words, [Some("fair"), Some("poor"), Some("poor")]);
        let expected = "\
tapeline try 192.0.2.10 (tapeline 0.2.0 there), IPv4, 18.6 s

  download     93.8 Mbit/s   latency 21 ms idle -> 34 ms loaded   bufferbloat A
  upload       9.60 Mbit/s   latency 21 ms idle -> 402 ms loaded  bufferbloat D
  packet loss 0 of 250 up, 0 of 250 down idle; 1.20 % while uploading
  jitter      0.400 ms up, 0.300 ms down
  path MTU    1492 (PPPoE or similar)

  web, downloads   fair while something uploads: answers take 0.4 s longer
  video calls      poor while something uploads: answers take 0.4 s longer
  games            poor while something uploads: answers take 0.4 s longer

The weak point is the queue for outgoing traffic: it holds 0.381 s of data. A
router with smart queue management (fq_codel, CAKE) set to about 9 Mbit/s
upstream would remove it.
limited by: network (high confidence)
";
        assert_eq!(page(&result), expected);
        assert!(result.verdict().starts_with("The weak point is"));
    }

    #[test]
    fn what_a_peer_cannot_tell_is_not_claimed() {
        let mut result = TryResult {
            idle: TryIdle {
                min_ms: Some(20.2),
                p50_ms: Some(20.4),
                p95_ms: Some(21.0),
                samples: Some(20),
                source: Some("bounce_back"),
                up: TryDatagrams::new(Some(250), Some(1), Some(0.2)),
                ..TryIdle::default()
            },
            up: Some(direction(9.6e6, 30.0, 40.0)),
            down: Some(TryDirection {
                loaded_p50_ms: None,
                loaded_p95_ms: None,
                loss_percent: None,
                samples: None,
                limited_by: None,
                confidence: None,
                ..direction(93.8e6, 0.0, 0.0)
            }),
            mtu: TryMtu {
                up_bytes: Some(1500),
                exact: true,
                ..TryMtu::default()
            },
            ..TryResult::default()
        };
        result.conclude();
        assert_eq!(result.bufferbloat_grade, None);
        assert_eq!(result.uses.calls, None);
        assert_eq!(result.advice_id, Some("nothing").filter(|_| false));
        let page = page(&result);
        for said in [
            "latency under load not known with this peer",
            "1 of 250 up, down not known with this peer idle",
            "0.200 ms up, down not known with this peer",
            "1500 up, down not known with this peer",
            "video calls      not known with this peer",
            "limited by: up network (high confidence)",
        ] {
            assert!(page.contains(said), "{said}\n{page}");
        }
    }

    #[test]
    fn a_part_that_fails_has_its_line() {
        let mut result = example();
        result.down = Some(TryDirection {
            reason: Some("connection reset by peer".into()),
            ..TryDirection::default()
        });
        result.idle = TryIdle {
            p50_ms: Some(21.0),
            reason: Some("UDP is blocked".into()),
            ..TryIdle::default()
        };
        result.mtu = TryMtu {
            reason: Some("UDP is blocked".into()),
            ..TryMtu::default()
        };
        result.conclude();
        let page = page(&result);
        for said in [
            "download    not measured: connection reset by peer",
            "packet loss not measured: UDP is blocked",
            "path MTU    not measured: UDP is blocked",
        ] {
            assert!(page.contains(said), "{said}\n{page}");
        }
        assert_eq!(result.uses.web, None);
    }

    #[test]
    fn a_short_load_has_no_grade_and_says_so() {
        let mut short = TryDirection {
            load_seconds: Some(3.0),
            ..direction(9.6e6, 30.0, 40.0)
        };
        short.compare(Some(20.0));
        assert_eq!(
            (short.increase_ms, short.bufferbloat_grade),
            (Some(10.0), None)
        );
        let reason = short.reason.expect("a reason");
        assert!(reason.contains("lasted 3.00 s, 5 s are needed"), "{reason}");
    }

    #[test]
    fn advice_is_in_words() {
        let mut result = example();
        let up = result.up.as_mut().expect("up");
        up.limited_by = Some("sender_cpu");
        result.conclude();
        assert_eq!(
            result.verdict(),
            "This computer (its CPU), not the network, limited the upload."
        );
        assert!(result.host_limited());
        let down = result.down.as_mut().expect("down");
        (down.limited_by, down.confidence) = (Some("sender_cpu"), Some("medium"));
        let verdict = result.verdict();
        assert!(verdict.starts_with("The server (its CPU)"), "{verdict}");
        for (rate, expected) in [
            (0.5e6, "475 kbit/s"),
            (1e6, "950 kbit/s"),
            (2e6, "1.9 Mbit/s"),
            (9.6e6, "9 Mbit/s"),
            (48.2e6, "45 Mbit/s"),
            (938e6, "890 Mbit/s"),
        ] {
            assert_eq!(shaped(rate), expected, "{rate}");
        }
    }

    #[test]
    fn criteria_take_the_worse_direction() {
        let result = example();
        assert_eq!(result.criterion("down"), Some(93.8));
        assert_eq!(result.criterion("up"), Some(9.6));
        assert_eq!(result.criterion("loaded"), Some(402.0));
        assert_eq!(result.criterion("loss"), Some(1.2));
        assert_eq!(result.csv().rows.len(), 2);
        let names: Vec<String> = result
            .quantities()
            .into_iter()
            .map(|one| one.name)
            .collect();
        assert_eq!(names.len(), 9, "{names:?}");
    }
}
