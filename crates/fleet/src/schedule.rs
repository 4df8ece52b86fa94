//! Schedules: meshes that go on. Their tests are spread over the time between two rounds.

use std::collections::{BTreeMap, BTreeSet};
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use tapeline_base::{SplitMix64, fnv1a};
use tapeline_mesh::{Host, MeshPlan, Mode, Pattern, PatternError, Via};
use tapeline_remote::{Class, GivenOption};
use thiserror::Error;

use crate::clock::UnixTime;
use crate::job::JobSpec;
use crate::names::{HostName, JobId, ScheduleName};

/// What a test takes beside its own length, seconds.
const OVERHEAD: f64 = 1.5;
/// A host is busy for this part of the time at most.
const MOST_DUTY: f64 = 0.7;
/// A slot that began longer ago is not made up for: its job may have been there, and have left.
const LOOK_BACK: i64 = 1800;
/// The range of `every`, seconds.
const EVERY: std::ops::RangeInclusive<i64> = 60..=366 * 86_400;

/// A schedule as it is written down.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ScheduleSpec {
    /// Its name; its jobs begin with it.
    pub name: ScheduleName,
    /// Which hosts.
    pub hosts: HostSet,
    /// Who tests whom.
    pub pattern: Pattern,
    /// How often.
    pub every: Every,
    /// Options of one test, as typed.
    pub test: String,
    /// Beside which others.
    #[serde(default)]
    pub class: Class,
    /// Greater ones go first.
    #[serde(default)]
    pub priority: i32,
}

/// Hosts of a schedule.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum HostSet {
    /// By name.
    List(Vec<HostName>),
    /// `*`: all of the site; `group:NAME`: those of a group.
    Word(String),
}

/// An enrolled host.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Enrolled {
    /// Its name.
    pub name: HostName,
    /// The groups that it belongs to.
    #[serde(default)]
    pub groups: Vec<String>,
}

/// Time between two rounds, whole seconds: `6h`, `30m`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Every(i64);

/// Why a schedule is refused.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ScheduleError {
    /// `every` is no time.
    #[error("every = \"{0}\": a number with s, m, h or d, from 1m to 366d")]
    Every(String),
    /// `hosts` is no set.
    #[error("hosts = \"{0}\": a list of names, \"*\" or \"group:NAME\"")]
    Hosts(String),
    /// A host is not enrolled.
    #[error("no host of the site is called {0}")]
    Unknown(HostName),
    /// The hosts are too few.
    #[error("hosts = \"{0}\" has fewer than two hosts")]
    TooFew(String),
    /// The pattern does not fit the hosts.
    #[error(transparent)]
    Pattern(#[from] PatternError),
    /// A host would be too busy.
    #[error("{host} would be busy {percent} % of the time: {advice}")]
    Busy {
        /// The busiest.
        host: HostName,
        /// How busy, rounded.
        percent: u64,
        /// What would help.
        advice: String,
    },
}

impl FromStr for Every {
    type Err = ScheduleError;

    fn from_str(text: &str) -> Result<Self, ScheduleError> {
        let wrong = || ScheduleError::Every(text.to_owned());
        let unit = match text.chars().last() {
            Some('s') => 1,
            Some('m') => 60,
            Some('h') => 3600,
            Some('d') => 86_400,
            _ => return Err(wrong()),
        };
        let digits = &text[..text.len() - 1];
        let is_number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
        let number: i64 = digits
            .parse()
            .ok()
            .filter(|_| is_number)
            .ok_or_else(wrong)?;
        let seconds = number
            .checked_mul(unit)
            .filter(|seconds| EVERY.contains(seconds));
        seconds.map(Self).ok_or_else(wrong)
    }
}

impl TryFrom<String> for Every {
    type Error = ScheduleError;

    fn try_from(text: String) -> Result<Self, ScheduleError> {
        text.parse()
    }
}

impl From<Every> for String {
    fn from(every: Every) -> Self {
        let units = [(86_400, 'd'), (3600, 'h'), (60, 'm')];
        let unit = units.into_iter().find(|(unit, _)| every.0 % unit == 0);
        let (unit, letter) = unit.unwrap_or((1, 's'));
        format!("{}{letter}", every.0 / unit)
    }
}

impl Every {
    /// At least this long, in whole hours, or minutes below one hour.
    fn at_least(seconds: f64) -> Self {
        let unit = if seconds > 3600.0 { 3600 } else { 60 };
        let units = (seconds / unit as f64).ceil() as i64;
        Self((units * unit).clamp(*EVERY.start(), *EVERY.end()))
    }
}

/// A test of a schedule.
#[derive(Clone, Debug)]
struct Pair {
    from: HostName,
    to: HostName,
    /// When its slots begin, counted from a round's beginning, seconds.
    offset: i64,
}

/// A schedule with what its words mean.
#[derive(Clone, Debug)]
pub struct Schedule {
    spec: ScheduleSpec,
    options: Vec<GivenOption>,
    seconds: u32,
    hosts: usize,
    pairs: Vec<Pair>,
}

impl Schedule {
    /// A schedule for the enrolled hosts. The options of its test, and about how long one takes, were read from
    /// its words.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn new(
        spec: ScheduleSpec,
        enrolled: &[Enrolled],
        options: Vec<GivenOption>,
        seconds: u32,
    ) -> Result<Self, ScheduleError> {
        let hosts = spec.hosts.select(enrolled)?;
        let plan = MeshPlan {
            hosts: hosts.iter().map(mesh_host).collect(),
            shared: Vec::new(),
            pattern: spec.pattern.clone(),
            seed: hash(spec.name.as_str()),
            test: Vec::new(),
            mode: Mode::InTurn,
        };
        let tests = plan.tests()?.into_iter();
        let every = spec.every.0;
        let pairs = tests.map(|pair| {
            let (from, to) = (&hosts[pair.from.0].name, &hosts[pair.to.0].name);
            let spread = hash(&format!("{}/{from}/{to}", spec.name)) % every.unsigned_abs();
            Pair {
                from: from.clone(),
                to: to.clone(),
                offset: spread as i64,
            }
        });
        Ok(Self {
            pairs: pairs.collect(),
            hosts: hosts.len(),
            spec,
            options,
            seconds,
        })
    }

    /// Directed tests of a round.
    #[must_use]
    pub fn tests(&self) -> usize {
        self.pairs.len()
    }

    /// Which part of the time a test of each round keeps a host busy.
    fn share(&self) -> f64 {
        match self.spec.class {
            Class::Exclusive => (f64::from(self.seconds) + OVERHEAD) / self.spec.every.0 as f64,
            Class::Background => 0.0,
        }
    }

    /// Which part of the time each host is busy with it.
    fn duty(&self) -> BTreeMap<&HostName, f64> {
        let mut duty = BTreeMap::new();
        for host in self.pairs.iter().flat_map(|pair| [&pair.from, &pair.to]) {
            *duty.entry(host).or_default() += self.share();
        }
        duty
    }

    fn spec_of(&self, pair: &Pair, start: UnixTime) -> (JobId, JobSpec) {
        let spec = &self.spec;
        let slot = (start.0 - pair.offset) / spec.every.0;
        let id = JobId::of_schedule(&spec.name, slot, &pair.from, &pair.to);
        let job = JobSpec {
            from: pair.from.clone(),
            to: pair.to.clone(),
            options: self.options.clone(),
            seconds: self.seconds,
            class: spec.class,
            priority: spec.priority,
            earliest: None,
            // By the next one.
            expires: UnixTime(start.0 + spec.every.0),
            live: false,
        };
        (id, job)
    }
}

impl HostSet {
    fn select<'a>(&self, enrolled: &'a [Enrolled]) -> Result<Vec<&'a Enrolled>, ScheduleError> {
        let find = |name: &HostName| {
            let found = enrolled.iter().find(|host| host.name == *name);
            found.ok_or_else(|| ScheduleError::Unknown(name.clone()))
        };
        let (hosts, word): (Vec<&Enrolled>, &str) = match self {
            Self::List(names) => {
                let hosts: Result<Vec<&Enrolled>, ScheduleError> = names.iter().map(find).collect();
                (hosts?, "")
            }
            Self::Word(word) if word == "*" => (enrolled.iter().collect(), word),
            Self::Word(word) => {
                let group = word.strip_prefix("group:");
                let group = group.ok_or_else(|| ScheduleError::Hosts(word.clone()))?;
                let is_in = |host: &&Enrolled| host.groups.iter().any(|other| other == group);
                (enrolled.iter().filter(is_in).collect(), word)
            }
        };
        if hosts.len() < 2 {
            return Err(ScheduleError::TooFew(word.to_owned()));
        }
        Ok(hosts)
    }
}

fn mesh_host(host: &&Enrolled) -> Host {
    Host {
        name: host.name.to_string(),
        destination: host.name.to_string(),
        via: Via::Ssh,
        address: None,
        groups: host.groups.clone(),
    }
}

/// FNV-1a, then mixed: texts that differ in the last letter are far apart.
fn hash(text: &str) -> u64 {
    SplitMix64::new(fnv1a(text.as_bytes())).bits()
}

/// All schedules of a site, and which slot of which pair begins when.
#[derive(Clone, Debug, Default)]
pub struct Schedules {
    schedules: Vec<Schedule>,
    /// The next slot of each pair: indices of schedule and pair.
    next: BTreeSet<(UnixTime, usize, usize)>,
}

impl Schedules {
    /// Adds a schedule, if no host is too busy with it.
    ///
    /// # Errors
    /// The busiest host, and what would help.
    pub fn add(&mut self, schedule: Schedule) -> Result<(), ScheduleError> {
        self.check(&schedule)?;
        let number = self.schedules.len();
        for (place, pair) in schedule.pairs.iter().enumerate() {
            self.next.insert((UnixTime(pair.offset), number, place));
        }
        self.schedules.push(schedule);
        Ok(())
    }

    fn check(&self, new: &Schedule) -> Result<(), ScheduleError> {
        let own = new.duty();
        let other = |host: &HostName| -> f64 {
            let schedules = self.schedules.iter();
            schedules
                .filter_map(|schedule| schedule.duty().get(host).copied())
                .sum()
        };
        let all = own
            .iter()
            .map(|(host, own)| (own + other(host), *own, *host));
        let Some((duty, own, host)) = all.max_by(|one, two| one.0.total_cmp(&two.0)) else {
            return Ok(());
        };
        if duty <= MOST_DUTY || own == 0.0 {
            return Ok(());
        }
        let room = MOST_DUTY - (duty - own);
        let advice = if room <= 0.0 {
            "other schedules keep it that busy".to_owned()
        } else {
            let every = String::from(Every::at_least(new.spec.every.0 as f64 * own / room));
            // Each host meets that many others, in both directions.
            let degree = (room / (2.0 * new.share())).floor() as usize;
            let degree = degree.min(new.hosts - 1);
            // Of an odd number of hosts each can meet an even number only.
            let degree = degree - degree * new.hosts % 2;
            match degree {
                0 => format!("every = \"{every}\""),
                _ => format!("every = \"{every}\", or pattern = \"sample:{degree}\""),
            }
        };
        Err(ScheduleError::Busy {
            host: host.clone(),
            percent: (duty * 100.0).round() as u64,
            advice,
        })
    }

    /// There is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.schedules.is_empty()
    }

    /// How long until a slot begins; zero if one has begun.
    pub(crate) fn wait(&self, wall: UnixTime) -> std::time::Duration {
        let next = self.next.first().map_or(i64::MAX, |(at, _, _)| at.0);
        let seconds = u64::try_from(next.saturating_sub(wall.0)).unwrap_or(0);
        std::time::Duration::from_secs(seconds)
    }

    /// The jobs whose slots have begun. A slot's job has the same name whoever submits it.
    pub(crate) fn due(&mut self, wall: UnixTime) -> Vec<(JobId, JobSpec)> {
        let mut due = Vec::new();
        while let Some((at, number, place)) = self.next.first().copied()
            && at <= wall
        {
            self.next.remove(&(at, number, place));
            let schedule = &self.schedules[number];
            let every = schedule.spec.every.0;
            // Of slots that were missed the last one alone may still begin.
            let start = UnixTime(at.0 + (wall.0 - at.0) / every * every);
            if wall.0 - start.0 <= LOOK_BACK {
                due.push(schedule.spec_of(&schedule.pairs[place], start));
            }
            self.next.insert((UnixTime(start.0 + every), number, place));
        }
        due
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn enrolled(hosts: usize) -> Vec<Enrolled> {
        let host = |number| Enrolled {
            name: format!("h{number}").parse().expect("a name"),
            groups: vec![if number % 2 == 0 { "even" } else { "odd" }.to_owned()],
        };
        (0..hosts).map(host).collect()
    }

    fn schedule(hosts: usize, change: serde_json::Value) -> Result<Schedule, ScheduleError> {
        let mut spec = json!({"name": "backbone", "hosts": "*", "pattern": "full", "every": "6h",
            "test": "-t 10"});
        let object = spec.as_object_mut().expect("an object");
        object.extend(change.as_object().expect("an object").clone());
        let spec: ScheduleSpec = serde_json::from_value(spec).expect("a schedule");
        Schedule::new(spec, &enrolled(hosts), Vec::new(), 10)
    }

    fn day(schedules: &mut Schedules, from: i64) -> Vec<(i64, JobId, JobSpec)> {
        let mut jobs = Vec::new();
        for wall in from..from + 86_400 {
            let due = schedules.due(UnixTime(wall));
            jobs.extend(due.into_iter().map(|(id, spec)| (wall, id, spec)));
        }
        jobs
    }

    #[test]
    fn tests_are_spread_evenly_and_always_alike() {
        let mut schedules = Schedules::default();
        schedules
            .add(schedule(20, json!({})).expect("it fits"))
            .expect("not too busy");
        // Whatever began before the first look may have run.
        schedules.due(UnixTime(0));
        let jobs = day(&mut schedules, 1);
        assert_eq!(jobs.len(), 380 * 4);
        let ids: BTreeSet<&JobId> = jobs.iter().map(|(_, id, _)| id).collect();
        assert_eq!(ids.len(), jobs.len());
        for hour in 0..24 {
            let of_hour = jobs.iter().filter(|(wall, ..)| wall / 3600 == hour).count();
            assert!((40..90).contains(&of_hour), "hour {hour}: {of_hour} of 63");
        }
        let (wall, id, spec) = &jobs[0];
        assert_eq!(spec.expires.0, wall + 6 * 3600);
        let mut again = Schedules::default();
        again
            .add(schedule(20, json!({})).expect("it fits"))
            .expect("not too busy");
        let found = again
            .due(UnixTime(*wall))
            .into_iter()
            .find(|(other, _)| other == id);
        assert_eq!(found.as_ref().map(|(_, spec)| spec), Some(spec));
    }

    #[test]
    fn missed_slots_are_not_made_up_for() {
        let mut schedules = Schedules::default();
        schedules
            .add(schedule(2, json!({"every": "1h"})).expect("it fits"))
            .expect("not busy");
        schedules.due(UnixTime(0));
        let all = day(&mut schedules, 1).len();
        assert_eq!(all, 48);
        let late = schedules.due(UnixTime(20 * 86_400));
        assert!(late.len() <= 2, "{late:?}");
        assert!(
            schedules.due(UnixTime(20 * 86_400 - 7200)).is_empty(),
            "the clock was set back"
        );
    }

    #[test]
    fn a_host_that_would_be_too_busy_is_named_with_what_helps() {
        let mut schedules = Schedules::default();
        let full = schedule(1000, json!({"every": "5h"})).expect("it fits");
        let error = schedules.add(full).expect_err("too busy").to_string();
        assert!(
            error.contains(
                " would be busy 128 % of the time: every = \"10h\", or pattern = \"sample:547\""
            ),
            "{error}"
        );
        let half = || schedule(100, json!({"every": "1h"})).expect("it fits");
        schedules.add(half()).expect("64 %");
        let error = schedules.add(half()).expect_err("127 %").to_string();
        assert!(
            error.contains("busy 127 % of the time: every = \"10h\", or pattern = \"sample:10\""),
            "{error}"
        );
        let background = schedule(100, json!({"every": "1h", "class": "background"}));
        schedules
            .add(background.expect("it fits"))
            .expect("it runs beside others");
    }

    #[test]
    fn hosts_are_chosen_by_name_or_group() {
        assert_eq!(
            schedule(10, json!({"hosts": "group:even"}))
                .expect("five")
                .tests(),
            20
        );
        assert_eq!(
            schedule(10, json!({"hosts": ["h1", "h2"]}))
                .expect("two")
                .tests(),
            2
        );
        let words = |hosts| {
            schedule(10, json!({ "hosts": hosts }))
                .expect_err("wrong")
                .to_string()
        };
        assert_eq!(
            words(json!(["h1", "h77"])),
            "no host of the site is called h77"
        );
        assert_eq!(
            words(json!("group:x")),
            "hosts = \"group:x\" has fewer than two hosts"
        );
        assert_eq!(
            words(json!("eu")),
            "hosts = \"eu\": a list of names, \"*\" or \"group:NAME\""
        );
    }

    #[test]
    fn times_between_rounds_are_written_as_they_are_read() {
        for text in ["90s", "30m", "6h", "14h", "2d"] {
            let every: Every = text.parse().expect(text);
            assert_eq!(String::from(every), text);
        }
        for text in ["", "h", "6", "-6h", "59s", "400d", "1w", "6 h", "é"] {
            assert!(text.parse::<Every>().is_err(), "{text}");
        }
    }
}
