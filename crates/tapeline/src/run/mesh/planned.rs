//! What a file of hosts and a pattern come to, before anything is tested.

use std::fmt;
use std::hash::{BuildHasher, RandomState};
use std::time::Duration;

use tapeline_base::counted;
use tapeline_mesh::{
    Forecast, HostsError, HostsFile, MeshPlan, Mode, Pattern, PatternError, Schedule,
};

use super::test_line::TestLine;
use crate::cli::flows;

/// What somebody wants to test.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Wanted<'a> {
    /// The file of hosts, as it is named.
    pub(crate) name: &'a str,
    /// Its text.
    pub(crate) content: &'a str,
    pub(crate) pattern: &'a Pattern,
    /// Decides a random pattern; without it chance does.
    pub(crate) seed: Option<u64>,
    /// The options of one test, in the place of the file's.
    pub(crate) test: Option<&'a [String]>,
    pub(crate) mode: Mode,
}

/// A plan, and what its tests do.
#[derive(Debug)]
pub(crate) struct Planned {
    pub(crate) plan: MeshPlan,
    pub(crate) line: TestLine,
    /// The text of the file of hosts; none of a journal's plan.
    pub(crate) file: Option<String>,
}

/// Why there is no plan.
#[derive(Debug)]
pub(crate) enum Unplanned {
    /// The file is wrong in a line.
    File(HostsError),
    /// The options of a test are wrong.
    Test(String),
}

impl fmt::Display for Unplanned {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(error) => error.fmt(f),
            Self::Test(why) => f.write_str(why),
        }
    }
}

impl Planned {
    /// Reads the file.
    ///
    /// # Errors
    /// The first thing that is wrong with it, or with the options.
    pub(crate) fn read(wanted: &Wanted<'_>) -> Result<Self, Unplanned> {
        let file = HostsFile::read(wanted.name, wanted.content).map_err(Unplanned::File)?;
        let (test, line) = match (wanted.test, &file.test) {
            (Some(words), _) => (
                words.to_vec(),
                TestLine::read(words).map_err(Unplanned::Test)?,
            ),
            (None, Some(located)) => {
                let words =
                    flows::words(&located.text).ok_or("a quotation mark is not closed".to_owned());
                let read = words.and_then(|words| Ok((TestLine::read(&words)?, words)));
                let (line, words) = read
                    .map_err(|why| Unplanned::File(file.fault(located, &format!("test: {why}"))))?;
                (words, line)
            }
            (None, None) => (Vec::new(), TestLine::read(&[]).map_err(Unplanned::Test)?),
        };
        let chance = || RandomState::new().hash_one(0);
        let plan = MeshPlan {
            hosts: file.hosts,
            shared: file.shared,
            pattern: wanted.pattern.clone(),
            seed: wanted.seed.unwrap_or_else(chance),
            test,
            mode: wanted.mode,
        };
        let file = Some(wanted.content.to_owned());
        Ok(Self { plan, line, file })
    }

    /// How many tests there are.
    ///
    /// # Errors
    /// The pattern does not fit the hosts.
    #[cfg(feature = "web")]
    pub(crate) fn tests(&self) -> Result<usize, String> {
        let tests = self.plan.tests();
        tests.map_or_else(|error| Err(self.unfit(&error)), |tests| Ok(tests.len()))
    }

    /// How long it would take.
    ///
    /// # Errors
    /// The pattern does not fit the hosts.
    pub(crate) fn forecast(&self) -> Result<Forecast, String> {
        Forecast::new(&self.plan, self.line.expected()).map_err(|error| self.unfit(&error))
    }

    /// Its tests, none of which has begun.
    ///
    /// # Errors
    /// The pattern does not fit the hosts.
    pub(crate) fn schedule(&self) -> Result<Schedule, String> {
        let length = self.line.expected() + Forecast::BETWEEN;
        Schedule::new(&self.plan, length).map_err(|error| self.unfit(&error))
    }

    fn unfit(&self, error: &PatternError) -> String {
        format!("--pattern {}: {error}", self.plan.pattern)
    }

    /// `6 hosts, 30 directed tests of 10 s in 10 slots: about 1 min 50 s; each host is busy 91 % of that time`.
    pub(crate) fn text(&self, forecast: &Forecast) -> String {
        let (plan, line) = (&self.plan, &self.line);
        let kind = match plan.mode {
            Mode::FullDuplex => "tests of both directions",
            Mode::InTurn | Mode::AllAtOnce => "directed tests",
        };
        let (busiest, share) = forecast.busiest;
        let who = match forecast.is_even {
            true => "each host".to_owned(),
            false => format!("{}, the busiest host,", plan.host(busiest).name),
        };
        format!(
            "{}, {} {kind} of {} s in {}: about {}; {who} is busy {:.0} % of that time\n",
            counted(plan.hosts.len() as u64, "host"),
            forecast.tests,
            line.expected().as_secs_f64(),
            counted(u64::from(forecast.slots), "slot"),
            duration(forecast.time),
            share * 100.0
        )
    }
}

/// `1 min 50 s`, `2 h 5 min`.
fn duration(time: Duration) -> String {
    let seconds = time.as_secs_f64().round() as u64;
    match (seconds / 3600, seconds / 60 % 60, seconds % 60) {
        (0, 0, seconds) => format!("{seconds} s"),
        (0, minutes, 0) => format!("{minutes} min"),
        (0, minutes, seconds) => format!("{minutes} min {seconds} s"),
        (hours, minutes, _) => format!("{hours} h {minutes} min"),
    }
}
