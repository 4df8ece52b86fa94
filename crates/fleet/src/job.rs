//! A job: a test that is to run once between two hosts, and how far it is.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use tapeline_base::with_port;
use tapeline_remote::{Class, GivenOption, Listening};
use thiserror::Error;

use crate::clock::UnixTime;
use crate::names::{HostName, JobId};
use crate::store::Revision;

/// Most attempts of a job.
pub const ATTEMPTS: u32 = 3;
/// A slot is granted for the length of the test and this.
pub const SPARE: Duration = Duration::from_secs(30);
/// A final job leaves the bucket after this time: later than any controller would submit the slot of a schedule that it
/// was once more, also one whose clock is an hour behind another's that is an hour ahead.
pub const KEPT: Duration = Duration::from_secs(3 * 3600);

/// Which controller of a site orders: the revision at which it took the lease. A later one has a greater one.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct Epoch(pub u64);

/// The number of an attempt, from 1 on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Attempt(pub u32);

/// An attempt of a job.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct AttemptKey {
    /// The job.
    pub job: JobId,
    /// Which attempt.
    pub attempt: Attempt,
}

impl fmt::Display for AttemptKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.job, self.attempt.0)
    }
}

/// What a result is kept under: there is one of each, anywhere.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct ResultKey {
    /// The attempt that measured it.
    #[serde(flatten)]
    pub of: AttemptKey,
    /// The host whose result it is.
    pub host: HostName,
}

/// The id of the message that bears the result.
impl fmt::Display for ResultKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.of, self.host)
    }
}

/// What is to be done.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct JobSpec {
    /// Runs the client.
    pub from: HostName,
    /// Serves.
    pub to: HostName,
    /// Options of the test, without `client`.
    pub options: Vec<GivenOption>,
    /// About how long the test takes, seconds.
    pub seconds: u32,
    /// Beside which others.
    #[serde(default)]
    pub class: Class,
    /// Greater ones go first.
    #[serde(default)]
    pub priority: i32,
    /// Not before this time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub earliest: Option<UnixTime>,
    /// Without a test by then, it expires.
    pub expires: UnixTime,
    /// Its events are published while it runs.
    #[serde(default)]
    pub live: bool,
}

/// Where the test's server listens.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ServerAt {
    /// Of its host.
    pub address: String,
    /// Its ports.
    #[serde(flatten)]
    pub ports: Listening,
}

impl ServerAt {
    /// The option of a client that tests with it.
    #[must_use]
    pub fn client_option(&self) -> GivenOption {
        let port = self.ports.tcp.or(self.ports.udp).unwrap_or_default();
        GivenOption::new("client", &with_port(&self.address, port))
    }
}

/// How far a job is.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(tag = "state", rename_all = "lowercase")]
pub enum State {
    /// It waits for both hosts.
    Queued,
    /// The slots of both hosts are asked for.
    Reserving,
    /// Both are granted; the server is being started.
    Serving,
    /// The server listens; the client is being started, or runs.
    Running,
    /// The test is over; its result is on the way to the database.
    Collecting,
    /// The result is in the database.
    Done,
    /// There will be no result.
    Failed {
        /// A sentence.
        reason: String,
    },
    /// Somebody withdrew it.
    Cancelled,
    /// Its time was over before it could run.
    Expired,
}

impl State {
    /// Its name, without a reason.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::Queued => "queued",
            Self::Reserving => "reserving",
            Self::Serving => "serving",
            Self::Running => "running",
            Self::Collecting => "collecting",
            Self::Done => "done",
            Self::Failed { .. } => "failed",
            Self::Cancelled => "cancelled",
            Self::Expired => "expired",
        }
    }

    /// Nothing follows.
    #[must_use]
    pub fn is_final(&self) -> bool {
        matches!(
            self,
            Self::Done | Self::Failed { .. } | Self::Cancelled | Self::Expired
        )
    }

    /// A host may be busy with it.
    #[must_use]
    pub fn is_active(&self) -> bool {
        !self.is_final() && *self != Self::Queued
    }

    /// Whether the other state may follow this one. The same may, unless it is final: another controller took
    /// the job over.
    #[must_use]
    pub fn may_become(&self, next: &Self) -> bool {
        use State as S;
        match self {
            S::Queued | S::Reserving | S::Serving if matches!(next, S::Cancelled | S::Expired) => {
                true
            }
            S::Queued => matches!(next, S::Queued | S::Reserving),
            S::Reserving => {
                matches!(
                    next,
                    S::Queued | S::Reserving | S::Serving | S::Failed { .. }
                )
            }
            S::Serving => matches!(next, S::Queued | S::Serving | S::Running | S::Failed { .. }),
            S::Running => {
                matches!(
                    next,
                    S::Queued | S::Running | S::Collecting | S::Failed { .. }
                )
            }
            S::Collecting => matches!(next, S::Collecting | S::Done | S::Failed { .. }),
            S::Done | S::Failed { .. } | S::Cancelled | S::Expired => false,
        }
    }
}

impl fmt::Display for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Failed { reason } => write!(f, "failed: {reason}"),
            other => f.write_str(other.name()),
        }
    }
}

/// A step that a job cannot take.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("the job is {from}, and cannot be {to}")]
pub struct NoStep {
    /// What it is.
    pub from: State,
    /// What it was to be.
    pub to: State,
}

/// A job as the bucket holds it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct JobRecord {
    /// What is to be done. It never changes.
    #[serde(flatten)]
    pub spec: Arc<JobSpec>,
    /// How far it is.
    #[serde(flatten)]
    pub state: State,
    /// The attempt that runs, or would be the next.
    pub attempt: Attempt,
    /// Who wrote this; 0: who submitted or cancelled it.
    pub epoch: Epoch,
    /// From `Running` on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server: Option<ServerAt>,
}

impl JobRecord {
    /// A job as it is submitted.
    #[must_use]
    pub fn new(spec: JobSpec) -> Self {
        Self {
            spec: spec.into(),
            state: State::Queued,
            attempt: Attempt(1),
            epoch: Epoch(0),
            server: None,
        }
    }

    /// The record after a step by a controller of this epoch.
    ///
    /// # Errors
    /// The step is none from here.
    pub fn step(&self, to: State, epoch: Epoch) -> Result<Self, NoStep> {
        if !self.state.may_become(&to) {
            return Err(NoStep {
                from: self.state.clone(),
                to,
            });
        }
        let keeps_server = matches!(to, State::Running | State::Collecting);
        Ok(Self {
            spec: self.spec.clone(),
            state: to,
            attempt: self.attempt,
            epoch,
            server: self.server.clone().filter(|_| keeps_server),
        })
    }

    /// The record after its withdrawal.
    ///
    /// # Errors
    /// It runs already, or is final.
    pub fn cancelled(&self) -> Result<Self, NoStep> {
        self.step(State::Cancelled, Epoch(0))
    }

    /// The hosts in the order of their names, which is the order of reservations.
    #[must_use]
    pub fn hosts(&self) -> [&HostName; 2] {
        let (from, to) = (&self.spec.from, &self.spec.to);
        if from <= to { [from, to] } else { [to, from] }
    }
}

/// A step of a job, as the stream of events keeps it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct JobEvent {
    /// The job.
    pub job: JobId,
    /// What it is now.
    #[serde(flatten)]
    pub state: State,
    /// The attempt.
    pub attempt: Attempt,
    /// Who wrote it.
    pub epoch: Epoch,
    /// The revision of the job's record.
    pub revision: Revision,
    /// By the clock of whoever publishes this.
    pub at: UnixTime,
}

impl JobEvent {
    /// The id of its message: one for each step.
    #[must_use]
    pub fn message_id(&self) -> String {
        format!("{}.{}", self.job, self.revision.0)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn record() -> JobRecord {
        JobRecord::new(JobSpec {
            from: "osl1".parse().expect("a name"),
            to: "fra1".parse().expect("a name"),
            options: vec![GivenOption::new("time", "10")],
            seconds: 10,
            class: Class::Exclusive,
            priority: 0,
            earliest: None,
            expires: UnixTime(1_000),
            live: false,
        })
    }

    fn all() -> [State; 9] {
        let reason = "why".to_owned();
        [
            State::Queued,
            State::Reserving,
            State::Serving,
            State::Running,
            State::Collecting,
            State::Done,
            State::Failed { reason },
            State::Cancelled,
            State::Expired,
        ]
    }

    #[test]
    fn final_states_are_never_left() {
        let (open, ended): (Vec<State>, Vec<State>) =
            all().into_iter().partition(|state| !state.is_final());
        assert_eq!((open.len(), ended.len()), (5, 4));
        for state in &ended {
            assert!(all().iter().all(|next| !state.may_become(next)), "{state}");
        }
        assert!(open.iter().all(|state| state.may_become(state)));
    }

    #[test]
    fn what_runs_is_not_withdrawn() {
        for state in all() {
            let record = JobRecord { state, ..record() };
            let is_early = matches!(
                record.state,
                State::Queued | State::Reserving | State::Serving
            );
            assert_eq!(record.cancelled().is_ok(), is_early, "{}", record.state);
            assert_eq!(record.state.may_become(&State::Expired), is_early);
        }
        let running = JobRecord {
            state: State::Running,
            ..record()
        };
        let error = running.cancelled().expect_err("it runs");
        assert_eq!(
            error.to_string(),
            "the job is running, and cannot be cancelled"
        );
    }

    #[test]
    fn the_way_to_a_result_has_no_short_cut() {
        let way = [
            State::Queued,
            State::Reserving,
            State::Serving,
            State::Running,
            State::Collecting,
            State::Done,
        ];
        for (place, state) in way.iter().enumerate() {
            for (other, next) in way.iter().enumerate().skip(place + 1) {
                assert_eq!(state.may_become(next), other == place + 1, "{state} {next}");
            }
        }
    }

    #[test]
    fn records_are_json_as_specified() {
        let record = record();
        let value = serde_json::to_value(&record).expect("JSON");
        assert_eq!(
            value,
            json!({"from": "osl1", "to": "fra1", "options": [["time", "10"]], "seconds": 10,
                "class": "exclusive", "priority": 0, "expires": 1000, "live": false,
                "state": "queued", "attempt": 1, "epoch": 0})
        );
        assert_eq!(
            serde_json::from_value::<JobRecord>(value).expect("a job"),
            record
        );
        for state in all() {
            let record = JobRecord {
                state,
                server: Some(ServerAt {
                    address: "192.0.2.1".to_owned(),
                    ports: Listening {
                        tcp: Some(5001),
                        udp: None,
                    },
                }),
                ..record.clone()
            };
            let text = serde_json::to_string(&record).expect("JSON");
            assert_eq!(
                serde_json::from_str::<JobRecord>(&text).expect("a job"),
                record
            );
        }
        assert_eq!(record.hosts().map(HostName::as_str), ["fra1", "osl1"]);
    }
}
