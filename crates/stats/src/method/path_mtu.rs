//! The largest packet that a path carries unfragmented, found without ICMP: packetization layer
//! path MTU discovery (RFC 4821, RFC 8899) as one bounded search to the byte.
//!
//! The end that sends the probes owns a [`PathMtuSearch`]; the other end answers each probe with a
//! short datagram of the same number. The search reads no clock and owns no socket:
//!
//! ```text
//! loop {
//!     match search.next(now) {
//!         Send(probe) => match socket.send(datagram of probe.size - header bytes, probe.number) {
//!             sent                 => {}
//!             refused as too long  => search.refused_here(probe.number),   // EMSGSIZE
//!             failed otherwise     => search.not_sent(probe.number),
//!         },
//!         Wait(until) => receive answers until then: search.answered(number, now),
//!         Over => break search.outcome(),
//!     }
//! }
//! ```
//!
//! Sockets must send without fragmentation and without regard to what the system believes about
//! the path (`tapeline_sys::UdpSocket::set_path_mtu_probing`).
//!
//! | Step | What is sent |
//! |---|---|
//! | base | 5 packets of 1200 bytes: is anything answered, and the round trip |
//! | smaller | only if none was: 576 bytes (IPv4) and the smallest probe |
//! | upper end | the largest packet of the interface; if it passes, that is all |
//! | candidates | the MTUs of common tunnels below it, together |
//! | confirmation | the largest that passed plus 1; if it fails, that is all |
//! | bisection | two halvings at a time, down to the byte |
//! | counting | more control packets, so that their loss is a figure |
//!
//! A size is too big when 3 tries of it stay unanswered (`MAX_PROBES` of RFC 8899, 5.1.2), and the
//! size above the answer when 6 do. From the second try on, a control packet of the base size goes
//! with each. If more than 2 % of what must pass is lost, 10 tries are needed, of sizes that had
//! failed before too. Above 30 % the search ends with a lower bound.

use std::collections::BTreeMap;
use std::time::Duration;

use tapeline_base::MonoTime;

use crate::random::Random;

/// Tries before a size counts as too big: `MAX_PROBES` of RFC 8899, 5.1.2.
const TRIES: u32 = 3;
/// The same for the size above the answer: twice, because everything hangs on it.
const TRIES_TO_CONFIRM: u32 = 2 * TRIES;
/// Tries on a path that loses packets, and of two sizes that contradict each other.
const TRIES_WITH_LOSS: u32 = 10;
/// Packets of the base size at the beginning.
const BASE_TRIES: u32 = 5;
/// `BASE_PLPMTU` of RFC 8899, 5.1.2: bytes of an IP packet.
pub(crate) const BASE: u16 = 1200;
/// What every IPv4 host can receive.
pub(crate) const SMALLER_BASE: u16 = 576;
/// The datagram of a probe without padding: its header.
const SHORTEST_PAYLOAD: u16 = 32;
/// Loss above which more tries are made.
const SOME_LOSS: f64 = 0.02;
/// Loss above which silence says nothing about a size.
const TOO_MUCH_LOSS: f64 = 0.30;
/// Control packets that must be settled before the path is called too lossy.
const ENOUGH_TO_JUDGE: u32 = 40;
/// Control packets on a path with loss: its figure is then within 4 points at 5 %.
const COUNTED: u32 = 400;
/// Control packets while answers are waited for, to see whether there is loss: 5 % shows in 100.
const LOOKED_FOR: u32 = 100;
/// Counting ends so long after the beginning, whatever has been counted.
const COUNTING_ENDS: Duration = Duration::from_secs(8);
/// More probes than any search needs; bounds what is remembered.
const MOST_PROBES: usize = 8192;

/// Time between two packets; each gap is drawn from half of it to one and a half.
const SPACING: Duration = Duration::from_millis(10);
/// Shortest and longest wait for an answer, and the wait for the first.
const SHORTEST_WAIT: Duration = Duration::from_millis(200);
const LONGEST_WAIT: Duration = Duration::from_secs(2);
const FIRST_WAIT: Duration = Duration::from_secs(1);
/// Longest time between two tries of a size.
const LONGEST_GAP: Duration = Duration::from_millis(50);

/// The MTUs of common links and tunnels, bytes.
pub(crate) const CANDIDATES: [u16; 22] = [
    9000, 4352, 1500, 1492, 1480, 1472, 1460, 1454, 1450, 1442, 1440, 1436, 1428, 1420, 1412, 1400,
    1380, 1360, 1350, 1320, 1300, 1280,
];

/// What a search may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PathMtuLimits {
    /// IPv6 packets, whose header has 40 bytes instead of 20.
    pub is_v6: bool,
    /// The largest packet to try, bytes: the MTU of the outgoing interface, or less.
    pub largest: u16,
    /// `largest` is less than the interface carries, so passing it proves a lower bound only.
    pub is_lowered: bool,
    /// Stop at the best candidate, unconfirmed: for a first impression.
    pub is_quick: bool,
    /// The whole search ends after this time.
    pub within: Duration,
}

impl PathMtuLimits {
    /// Bytes of IP and UDP header in front of a probe's datagram: 28, or 48 with IPv6.
    #[must_use]
    pub const fn headers(is_v6: bool) -> u16 {
        if is_v6 { 48 } else { 28 }
    }

    /// A search up to `largest` bytes, the MTU of the outgoing interface.
    #[must_use]
    pub const fn new(is_v6: bool, largest: u16) -> Self {
        Self {
            is_v6,
            largest,
            is_lowered: false,
            is_quick: false,
            within: Duration::from_secs(20),
        }
    }
}

/// One packet to send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PathMtuProbe {
    /// Its number, from 0; the answer carries it.
    pub number: u32,
    /// Bytes of the whole IP packet.
    pub size: u16,
    /// Bytes of its UDP payload, at least 32.
    pub payload: u16,
}

/// What to do next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PathMtuAction {
    /// Send this now.
    Send(PathMtuProbe),
    /// Nothing to send before this time; answers may come.
    Wait(MonoTime),
    /// The search is over.
    Over,
}

/// How a search ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PathMtuEnding {
    /// With an answer.
    Found,
    /// Nothing was answered, not even the smallest packet: UDP does not pass.
    Blocked,
    /// Small packets pass, the base size (IPv4: 576 bytes) does not.
    BelowMinimum,
    /// More than 30 % of the control packets were lost.
    TooLossy,
    /// The time was over.
    OutOfTime,
}

/// What a search found.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PathMtuOutcome {
    /// How it ended.
    pub ending: PathMtuEnding,
    /// The largest packet that passed, bytes; `None` if none of at least 576 bytes did.
    pub size: Option<u16>,
    /// `size` is the answer to the byte; else the path carries at least as much.
    pub is_exact: bool,
    /// This host itself refused to send a packet, as too long for its interface: what is above
    /// `size` is then this host's limit and not the path's.
    pub refused_here: bool,
    /// Some size was lost ten times while larger ones passed; `size` is below all such losses.
    pub is_size_dependent: bool,
    /// The longest round trip of the first packets.
    pub round_trip: Option<Duration>,
    /// Packets sent.
    pub sent: u32,
    /// Packets answered.
    pub answered: u32,
    /// Packets of the base size that were sent. The answering end knows them by their size,
    /// [`PathMtuOutcome::control_size`]: how many of them it received is their loss one way.
    pub controls: u32,
    /// Those of them that were answered.
    pub controls_answered: u32,
    /// Bytes of a control packet.
    pub control_size: u16,
}

impl PathMtuOutcome {
    /// Share of the control packets that got no answer, there and back, %.
    #[must_use]
    pub fn control_loss_percent(&self) -> Option<f64> {
        let lost = f64::from(self.controls.saturating_sub(self.controls_answered));
        (self.controls > 0).then(|| 100.0 * lost / f64::from(self.controls))
    }
}

/// What became of the packets of a size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PathMtuTrial {
    /// Bytes of the packet.
    pub size: u16,
    /// Packets of this size that were sent.
    pub tries: u32,
    /// Those that were answered.
    pub answers: u32,
}

#[derive(Clone, Copy, Debug)]
struct Probe {
    size: u16,
    sent: MonoTime,
    is_answered: bool,
    /// It never left this host.
    is_void: bool,
}

#[derive(Clone, Copy, Debug, Default)]
struct Size {
    tries: u32,
    answers: u32,
    /// Tries to make at least.
    wanted: u32,
    /// This host does not send it.
    is_refused: bool,
    last: MonoTime,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    Base,
    Smaller,
    Search,
    Counting,
    Over(PathMtuEnding),
}

/// The search for the largest packet of one direction. See the module's head for its use.
#[derive(Clone, Debug)]
pub struct PathMtuSearch {
    limits: PathMtuLimits,
    step: Step,
    base: u16,
    probes: Vec<Probe>,
    sizes: BTreeMap<u16, Size>,
    /// What is being tried, in this order.
    open: Vec<u16>,
    candidates_tried: bool,
    /// A size that fails although larger ones pass: nothing above it counts.
    ceiling: Option<u16>,
    is_exact: bool,
    controls_due: u32,
    round_trip: Option<Duration>,
    started: Option<MonoTime>,
    gate: MonoTime,
    random: Random,
}

impl PathMtuSearch {
    /// A search; `seed` decides the gaps between packets.
    #[must_use]
    pub fn new(limits: PathMtuLimits, seed: u64) -> Self {
        let base = BASE.min(limits.largest);
        let base_size = Size {
            wanted: BASE_TRIES,
            ..Size::default()
        };
        Self {
            limits,
            step: Step::Base,
            base,
            probes: Vec::new(),
            sizes: BTreeMap::from([(base, base_size)]),
            open: vec![base],
            candidates_tried: false,
            ceiling: None,
            is_exact: false,
            controls_due: 0,
            round_trip: None,
            started: None,
            gate: MonoTime::ZERO,
            random: Random::seeded(seed),
        }
    }

    /// What to do at `now`, which never decreases. A packet to send counts as sent at `now`.
    pub fn next(&mut self, now: MonoTime) -> PathMtuAction {
        let started = *self.started.get_or_insert(now);
        loop {
            if matches!(self.step, Step::Over(_)) {
                return PathMtuAction::Over;
            }
            if now.since(started) >= self.limits.within || self.probes.len() >= MOST_PROBES {
                // Only the loss was still being counted.
                let is_settled = self.step == Step::Counting;
                self.step = Step::Over(if is_settled {
                    PathMtuEnding::Found
                } else {
                    PathMtuEnding::OutOfTime
                });
                continue;
            }
            if self.is_step_settled(now) {
                self.advance(now);
                continue;
            }
            if now < self.gate {
                return PathMtuAction::Wait(self.gate);
            }
            return match self.due(now) {
                Some(size) => PathMtuAction::Send(self.send(size, now)),
                None => PathMtuAction::Wait(self.next_event(now)),
            };
        }
    }

    /// An answer to the probe of this number came at `now`. Returns whether it is the first one to
    /// a probe that was sent.
    pub fn answered(&mut self, number: u32, now: MonoTime) -> bool {
        let Some(probe) = self.probes.get_mut(number as usize) else {
            return false;
        };
        if probe.is_answered || probe.is_void {
            return false;
        }
        probe.is_answered = true;
        let (size, took) = (probe.size, now.since(probe.sent));
        if let Some(size) = self.sizes.get_mut(&size) {
            size.answers += 1;
        }
        if matches!(self.step, Step::Base | Step::Smaller) {
            self.round_trip = Some(self.round_trip.map_or(took, |longest| longest.max(took)));
        }
        true
    }

    /// This host refused to send the probe because it is too long for the interface: an answer.
    pub fn refused_here(&mut self, number: u32) {
        if let Some(size) = self.void(number) {
            size.is_refused = true;
        }
    }

    /// The probe could not be sent for another reason; it will be sent again.
    pub fn not_sent(&mut self, number: u32) {
        let _ = self.void(number);
    }

    /// What was found; before [`PathMtuAction::Over`], what is known so far.
    #[must_use]
    pub fn outcome(&self) -> PathMtuOutcome {
        let ending = match self.step {
            Step::Over(ending) => ending,
            _ => PathMtuEnding::OutOfTime,
        };
        let (controls, controls_answered) = self.controls(MonoTime::FAR);
        PathMtuOutcome {
            ending,
            size: self.passed(),
            is_exact: self.is_exact && ending == PathMtuEnding::Found,
            refused_here: self.sizes.values().any(|size| size.is_refused),
            is_size_dependent: self.ceiling.is_some(),
            round_trip: self.round_trip,
            sent: self.sizes.values().map(|size| size.tries).sum(),
            answered: self.sizes.values().map(|size| size.answers).sum(),
            controls,
            controls_answered,
            control_size: self.base,
        }
    }

    /// The sizes that were tried, ascending.
    pub fn trials(&self) -> impl Iterator<Item = PathMtuTrial> {
        self.sizes.iter().map(|(&size, entry)| PathMtuTrial {
            size,
            tries: entry.tries,
            answers: entry.answers,
        })
    }

    fn void(&mut self, number: u32) -> Option<&mut Size> {
        let probe = self.probes.get_mut(number as usize)?;
        if probe.is_answered || probe.is_void {
            return None;
        }
        probe.is_void = true;
        let size = self.sizes.get_mut(&probe.size)?;
        size.tries = size.tries.saturating_sub(1);
        Some(size)
    }

    fn send(&mut self, size: u16, now: MonoTime) -> PathMtuProbe {
        let number = self.probes.len() as u32;
        self.probes.push(Probe {
            size,
            sent: now,
            is_answered: false,
            is_void: false,
        });
        let entry = self.sizes.entry(size).or_default();
        entry.tries += 1;
        entry.last = now;
        let gap = SPACING.mul_f64(0.5 + self.random.fraction());
        self.gate = now + gap;
        PathMtuProbe {
            number,
            size,
            payload: size.saturating_sub(PathMtuLimits::headers(self.limits.is_v6)),
        }
    }

    /// How long an answer is waited for.
    fn wait(&self) -> Duration {
        match (self.round_trip, self.step) {
            (Some(round_trip), _) => (4 * round_trip).clamp(SHORTEST_WAIT, LONGEST_WAIT),
            (None, Step::Base) => FIRST_WAIT,
            (None, _) => LONGEST_WAIT,
        }
    }

    /// Time between two tries of a size: an answer would mostly have come.
    fn gap(&self) -> Duration {
        let round_trip = self.round_trip.unwrap_or_default();
        (round_trip + round_trip / 4 + SPACING).min(LONGEST_GAP)
    }

    /// Tries before a size counts as too big.
    fn tries(&self, now: MonoTime) -> u32 {
        if self.has_loss(now) {
            TRIES_WITH_LOSS
        } else {
            TRIES
        }
    }

    fn is_over(&self, size: &Size, now: MonoTime) -> bool {
        size.tries > 0 && now >= size.last + self.wait()
    }

    /// Whether this size needs no further packet and no further waiting.
    fn is_settled(&self, size: &Size, tries: u32, now: MonoTime) -> bool {
        if size.is_refused {
            return true;
        }
        if size.answers > 0 {
            return size.wanted <= TRIES_WITH_LOSS || size.tries >= size.wanted;
        }
        size.tries >= size.wanted.max(tries) && self.is_over(size, now)
    }

    fn is_step_settled(&self, now: MonoTime) -> bool {
        match self.step {
            Step::Base => self.sizes.get(&self.base).is_none_or(|base| {
                base.is_refused
                    || base.tries >= BASE_TRIES
                        && (base.answers >= base.tries || self.is_over(base, now))
            }),
            Step::Smaller => self.open.iter().all(|size| {
                self.sizes.get(size).is_some_and(|size| {
                    size.answers > 0
                        || size.is_refused
                        || size.tries >= BASE_TRIES && self.is_over(size, now)
                })
            }),
            Step::Search => {
                let tries = self.tries(now);
                self.open.iter().all(|size| {
                    let size = self.sizes.get(size).copied().unwrap_or_default();
                    self.is_settled(&size, tries, now)
                })
            }
            Step::Counting => {
                let is_long = self
                    .started
                    .is_some_and(|start| now.since(start) >= COUNTING_ENDS);
                is_long || self.controls(now).0 >= self.controls_wanted(now)
            }
            Step::Over(_) => true,
        }
    }

    /// The size to send now.
    fn due(&mut self, now: MonoTime) -> Option<u16> {
        if self.controls_due > 0 {
            self.controls_due -= 1;
            return Some(self.base);
        }
        let is_first = matches!(self.step, Step::Base | Step::Smaller);
        let tries = if is_first {
            BASE_TRIES
        } else {
            self.tries(now)
        };
        let gap = self.gap();
        let mut best: Option<(u32, u16)> = None;
        let mut waits_only = !is_first;
        for &number in &self.open {
            let size = self.sizes.get(&number).copied().unwrap_or_default();
            let is_settled = !is_first && self.is_settled(&size, tries, now);
            let enough = is_settled || size.tries >= size.wanted.max(tries);
            waits_only &= enough;
            let is_early = !is_first && size.tries > 0 && now < size.last + gap;
            if enough || size.is_refused || is_early {
                continue;
            }
            if best.is_none_or(|(tries, _)| size.tries < tries) {
                best = Some((size.tries, number));
            }
        }
        if let Some((tries, number)) = best {
            if tries > 0 && number != self.base && !is_first {
                self.controls_due += 1;
            }
            return Some(number);
        }
        // While answers are waited for, the loss is counted: that takes no time.
        let (controls, _) = self.controls(MonoTime::FAR);
        (waits_only && controls < self.controls_wanted(now)).then_some(self.base)
    }

    /// Control packets that make the loss a figure, or show that there is none.
    fn controls_wanted(&self, now: MonoTime) -> u32 {
        if self.has_loss(now) {
            COUNTED
        } else {
            LOOKED_FOR
        }
    }

    /// When something may change without an answer.
    fn next_event(&self, now: MonoTime) -> MonoTime {
        let latest = now + LONGEST_WAIT;
        let of_size = |size: &Size| {
            let again = size.last + self.gap();
            let over = size.last + self.wait();
            if again > now { again } else { over }
        };
        let open = self.open.iter().filter_map(|size| self.sizes.get(size));
        let sizes = open.map(of_size).filter(|&time| time > now).min();
        let control = self.probes.iter().rev().find(|probe| {
            probe.size == self.base && !probe.is_answered && probe.sent + self.wait() > now
        });
        let control = control.map(|probe| probe.sent + self.wait());
        let limit = self.started.map(|start| start + self.limits.within);
        [sizes, control, limit]
            .into_iter()
            .flatten()
            .filter(|&time| time > now)
            .fold(latest, MonoTime::min)
    }

    /// Packets that may still be answered, of sizes that `counts` says.
    fn awaited(&self, now: MonoTime, counts: impl Fn(u16) -> bool) -> u32 {
        let wait = self.wait();
        let recent = self.probes.iter().rev();
        let recent = recent.take_while(|probe| now < probe.sent + wait);
        let awaited =
            recent.filter(|probe| !probe.is_answered && !probe.is_void && counts(probe.size));
        awaited.count() as u32
    }

    /// Packets of the base size that are answered or whose time is over, and the answered ones.
    fn controls(&self, now: MonoTime) -> (u32, u32) {
        let base = self.sizes.get(&self.base).copied().unwrap_or_default();
        let awaited = self.awaited(now, |size| size == self.base);
        (base.tries.saturating_sub(awaited), base.answers)
    }

    /// Whether more than 2 % of the packets that must pass are lost: those up to the largest
    /// size that has passed.
    fn has_loss(&self, now: MonoTime) -> bool {
        let Some(passed) = self.passed() else {
            return false;
        };
        let sizes = self.sizes.range(..=passed);
        let (tries, answers) = sizes.fold((0, 0), |(tries, answers), (_, size)| {
            (tries + size.tries, answers + size.answers)
        });
        let settled = tries.saturating_sub(self.awaited(now, |size| size <= passed));
        f64::from(settled.saturating_sub(answers)) > SOME_LOSS * f64::from(settled)
    }

    /// The largest size that passed, below the ceiling.
    fn passed(&self) -> Option<u16> {
        let mut sizes = self.sizes.range(self.base..).rev();
        let passed = sizes.find(|(number, size)| {
            size.answers > 0 && self.ceiling.is_none_or(|ceiling| **number < ceiling)
        });
        passed.map(|(number, _)| *number)
    }

    /// The smallest size above `passed` that failed.
    fn failed_above(&self, passed: u16) -> Option<(u16, Size)> {
        let mut above = self.sizes.range(passed.saturating_add(1)..);
        above
            .find(|(_, size)| size.answers == 0 && (size.tries >= TRIES || size.is_refused))
            .map(|(number, size)| (*number, *size))
    }

    /// All that is open is settled: what now?
    fn advance(&mut self, now: MonoTime) {
        let answers = |search: &Self, size: u16| {
            let size = search.sizes.get(&size);
            size.is_some_and(|size| size.answers > 0)
        };
        match self.step {
            Step::Base if answers(self, self.base) => self.search(now),
            Step::Base => {
                self.step = Step::Smaller;
                let smallest = SHORTEST_PAYLOAD + PathMtuLimits::headers(self.limits.is_v6);
                self.open = vec![smallest];
                if !self.limits.is_v6 && self.base > SMALLER_BASE {
                    self.open.insert(0, SMALLER_BASE);
                }
            }
            Step::Smaller if answers(self, self.base) => self.search(now),
            Step::Smaller if !self.limits.is_v6 && answers(self, SMALLER_BASE) => {
                self.base = SMALLER_BASE;
                self.search(now);
            }
            Step::Smaller => {
                let any = self.open.iter().any(|&size| answers(self, size));
                self.step = Step::Over(if any {
                    PathMtuEnding::BelowMinimum
                } else {
                    PathMtuEnding::Blocked
                });
            }
            Step::Search => self.search(now),
            Step::Counting if self.is_too_lossy(now) => {
                self.step = Step::Over(PathMtuEnding::TooLossy);
            }
            Step::Counting | Step::Over(_) => self.step = Step::Over(PathMtuEnding::Found),
        }
    }

    /// Opens the next sizes, from all that is known about sizes so far.
    fn search(&mut self, now: MonoTime) {
        self.step = Step::Search;
        self.open.clear();
        if self.is_too_lossy(now) {
            self.step = Step::Over(PathMtuEnding::TooLossy);
            return;
        }
        if self.opens_contradiction() {
            return;
        }
        let passed = self.passed().unwrap_or(self.base);
        let Some((failed, size)) = self.failed_above(passed) else {
            if passed >= self.limits.largest {
                self.is_exact = !self.limits.is_lowered;
                self.finish(now);
            } else {
                self.open(self.limits.largest, TRIES);
            }
            return;
        };
        if !self.candidates_tried && self.base >= BASE {
            self.candidates_tried = true;
            let between = |size: &u16| *size > passed && *size < failed;
            self.open.extend(CANDIDATES.iter().copied().filter(between));
            if !self.open.is_empty() {
                return;
            }
        }
        if self.limits.is_quick {
            self.finish(now);
            return;
        }
        let confirming = if failed == passed + 1 {
            TRIES_TO_CONFIRM
        } else {
            TRIES
        };
        let required = self.tries(now).max(size.wanted).max(confirming);
        if !size.is_refused && size.tries < required {
            // More loss was seen since it failed, or it has become the size that decides.
            self.open(failed, required);
        } else if failed == passed + 1 {
            self.is_exact = true;
            self.finish(now);
        } else if CANDIDATES.contains(&passed) || passed == self.base {
            self.open(passed + 1, TRIES_TO_CONFIRM);
        } else {
            self.open_quarters(passed, failed);
        }
    }

    fn is_too_lossy(&self, now: MonoTime) -> bool {
        let (controls, answered) = self.controls(now);
        let lost = f64::from(controls.saturating_sub(answered));
        controls >= ENOUGH_TO_JUDGE && lost > TOO_MUCH_LOSS * f64::from(controls)
    }

    /// Three sizes between the two, or all of them if there are fewer.
    fn open_quarters(&mut self, passed: u16, failed: u16) {
        let width = u32::from(failed - passed);
        for quarter in 1..4 {
            let size = passed + (width * quarter / 4) as u16;
            if size > passed && size < failed && !self.open.contains(&size) {
                self.open.push(size);
            }
        }
    }

    /// A size failed and a larger one passed: both are tried ten times. If that changes nothing,
    /// sizes above the failing one do not count. Returns whether something was opened.
    fn opens_contradiction(&mut self) -> bool {
        loop {
            let passed = self.passed().unwrap_or(self.base);
            let mut below = self.sizes.range(self.base..passed);
            let failing = below.find(|(_, size)| size.answers == 0 && size.tries >= TRIES);
            let Some((&failing, size)) = failing else {
                return false;
            };
            // Ten more than the three that it failed.
            let wanted = TRIES + TRIES_WITH_LOSS;
            if size.tries < wanted && !size.is_refused {
                self.open(failing, wanted);
                self.open(passed, wanted);
                return true;
            }
            self.ceiling = Some(failing);
        }
    }

    fn open(&mut self, number: u16, wanted: u32) {
        let size = self.sizes.entry(number).or_default();
        size.wanted = size.wanted.max(wanted);
        self.open.push(number);
    }

    fn finish(&mut self, now: MonoTime) {
        // A path that carries all that the interface sends is not searched for anything.
        let was_searched = self.passed() < Some(self.limits.largest);
        let is_to_count = self.has_loss(now) || was_searched;
        self.step = if is_to_count && !self.limits.is_quick {
            Step::Counting
        } else {
            Step::Over(PathMtuEnding::Found)
        };
    }
}

#[cfg(test)]
mod tests;
