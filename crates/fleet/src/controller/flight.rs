//! A job between its start and its end, or until it waits again.
//!
//! Each step is first written, by compare-and-set, and then acted upon; what is acted upon may be repeated.
//! So a controller goes on with a job of another one as with its own: it writes the same state, and acts.

use std::time::Duration;

use tapeline_base::MonoTime;

use crate::controller::agents::Agents;
use crate::job::{ATTEMPTS, Attempt, AttemptKey, Epoch, JobRecord, SPARE, ServerAt, State};
use crate::message::{Action, Answer, How, Refusal, Status};
use crate::names::{HostName, JobId};
use crate::store::{Entry, Read, Revision, Written};

/// An order without answer is given so often.
const ORDERS: u32 = 3;
/// Pause before a repeated order, and between questions about a test that should be over.
const AGAIN: Duration = Duration::from_secs(2);
/// A test that is over may take so long until the news come by themselves.
const NEWS: Duration = Duration::from_secs(2);
/// Between questions about a result that is not yet in the database.
const ASK_RESULT: Duration = Duration::from_secs(10);
/// A result that has not come after this time does not.
const LONGEST_COLLECTING: Duration = Duration::from_secs(86_400);

/// What comes back for an order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reply {
    /// The agent's answer.
    Answer(Answer),
    /// None within the time for it.
    NoAnswer,
    /// No agent of that host is connected.
    NoAgent,
}

/// What a flight wants done.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum FlightEffect {
    /// An order whose answer is waited for.
    Order(HostName, Action),
    /// An order whose answer does not matter.
    Release(HostName),
    /// A compare-and-set at the flight's revision.
    Write(JobRecord),
    /// What the bucket holds.
    Read,
    /// The record was written.
    Stepped,
    /// The hosts are free again.
    Freed,
    /// No order reached the host.
    Lost(HostName),
    /// An agent knows a later controller.
    Superseded,
}

#[derive(Clone, Debug, PartialEq)]
enum Step {
    Writing(JobRecord),
    Reading(JobRecord),
    Reserving {
        is_second: bool,
    },
    Serving,
    Starting,
    /// Waits for news.
    Waiting,
    /// Asks the client's host.
    Asking,
    /// Waits until it acts, or reads, once more.
    Resting,
    /// Waits for nothing: the job waits again, is final, or belongs to somebody else.
    Over,
}

/// What a flight sees of the world.
pub(crate) struct View<'a> {
    pub(crate) now: MonoTime,
    pub(crate) agents: &'a Agents,
}

/// A job under way.
#[derive(Clone, Debug)]
pub(crate) struct Flight {
    id: JobId,
    pub(crate) record: JobRecord,
    pub(crate) revision: Revision,
    epoch: Epoch,
    step: Step,
    /// What is to be written once more, if a rest ends with a read.
    unread: Option<JobRecord>,
    orders: u32,
    wake: MonoTime,
    /// When the state is given up.
    deadline: MonoTime,
    is_stored: bool,
    /// It was another controller's.
    is_taken_over: bool,
    effects: Vec<FlightEffect>,
}

impl Flight {
    /// Starts with writing the record's next state, or, for one that is active already, the same by this epoch.
    pub(crate) fn new(id: JobId, entry: Entry<JobRecord>, to: State, epoch: Epoch) -> Self {
        let is_taken_over = entry.value.state.is_active();
        let mut flight = Self {
            id,
            record: entry.value,
            revision: entry.revision,
            epoch,
            step: Step::Over,
            unread: None,
            orders: 0,
            wake: MonoTime::FAR,
            deadline: MonoTime::FAR,
            is_stored: false,
            is_taken_over,
            effects: Vec::new(),
        };
        flight.become_(to);
        flight
    }

    /// What is to be done meanwhile.
    pub(crate) fn effects(&mut self) -> Vec<FlightEffect> {
        std::mem::take(&mut self.effects)
    }

    pub(crate) fn wake_at(&self) -> MonoTime {
        self.wake
    }

    pub(crate) fn is_over(&self) -> bool {
        self.step == Step::Over
    }

    pub(crate) fn attempt(&self) -> AttemptKey {
        AttemptKey {
            job: self.id.clone(),
            attempt: self.record.attempt,
        }
    }

    fn order(&mut self, host: HostName, action: Action) {
        self.wake = MonoTime::FAR;
        self.effects.push(FlightEffect::Order(host, action));
    }

    fn write(&mut self, target: JobRecord) {
        self.wake = MonoTime::FAR;
        self.effects.push(FlightEffect::Write(target.clone()));
        self.step = Step::Writing(target);
    }

    fn become_(&mut self, to: State) {
        match self.record.step(to, self.epoch) {
            Ok(target) => self.write(target),
            Err(_) => self.over(),
        }
    }

    fn over(&mut self) {
        self.wake = MonoTime::FAR;
        self.step = Step::Over;
        self.effects.push(FlightEffect::Freed);
    }

    fn release(&mut self) {
        for host in [self.record.spec.from.clone(), self.record.spec.to.clone()] {
            self.effects.push(FlightEffect::Release(host));
        }
    }

    fn fail(&mut self, reason: String) {
        self.release();
        self.become_(State::Failed { reason });
    }

    /// Another attempt, if there is one left.
    fn retry(&mut self, reason: String) {
        if self.record.attempt.0 >= ATTEMPTS {
            return self.fail(reason);
        }
        self.release();
        match self.record.step(State::Queued, self.epoch) {
            Ok(mut target) => {
                target.attempt = Attempt(target.attempt.0 + 1);
                self.write(target);
            }
            Err(_) => self.over(),
        }
    }

    fn rest(&mut self, until: MonoTime) {
        self.step = Step::Resting;
        self.wake = until;
    }

    /// Does what the record's state asks for.
    fn act(&mut self, view: &View<'_>) {
        let spec = &self.record.spec;
        match self.record.state {
            State::Reserving => {
                let host = self.record.hosts()[0].clone();
                self.reserve(host, false, view);
            }
            State::Serving => {
                let client = view.agents.address(&spec.from);
                let action = Action::Serve {
                    options: Vec::new(),
                    allow: vec![client.to_string()],
                };
                let host = spec.to.clone();
                self.step = Step::Serving;
                self.order(host, action);
            }
            State::Running => {
                let client = self.record.server.as_ref().map(ServerAt::client_option);
                let options = client.into_iter().chain(spec.options.iter().cloned());
                let action = Action::Run {
                    options: options.collect(),
                    live: spec.live,
                };
                let host = spec.from.clone();
                self.step = Step::Starting;
                self.order(host, action);
            }
            State::Collecting if self.is_stored => self.become_(State::Done),
            State::Collecting => {
                self.step = Step::Waiting;
                self.wake = view.now + NEWS;
            }
            State::Queued
            | State::Done
            | State::Failed { .. }
            | State::Cancelled
            | State::Expired => {
                self.over();
            }
        }
    }

    fn reserve(&mut self, host: HostName, is_second: bool, view: &View<'_>) {
        let spec = &self.record.spec;
        let peer = if host == spec.from {
            &spec.to
        } else {
            &spec.from
        };
        let action = Action::Reserve {
            seconds: spec.seconds,
            class: spec.class,
            peer: view.agents.address(peer).to_string(),
            options: spec.options.clone(),
        };
        self.step = Step::Reserving { is_second };
        self.order(host, action);
    }

    /// What came of the write.
    pub(crate) fn written(&mut self, outcome: Written, view: &View<'_>) {
        let Step::Writing(target) = &self.step else {
            return;
        };
        let target = target.clone();
        match outcome {
            Written::At(revision) => self.stepped(target, revision, view),
            Written::Conflict | Written::Unknown => self.reread(target),
        }
    }

    fn reread(&mut self, target: JobRecord) {
        self.step = Step::Reading(target);
        self.wake = MonoTime::FAR;
        self.effects.push(FlightEffect::Read);
    }

    fn stepped(&mut self, target: JobRecord, revision: Revision, view: &View<'_>) {
        let is_new = target.state != self.record.state;
        self.record = target;
        self.revision = revision;
        self.orders = 0;
        self.effects.push(FlightEffect::Stepped);
        if is_new || self.is_taken_over {
            self.is_taken_over = false;
            self.deadline = match self.record.state {
                State::Running => {
                    view.now + Duration::from_secs(u64::from(self.record.spec.seconds)) + SPARE
                }
                State::Collecting => view.now + LONGEST_COLLECTING,
                _ => MonoTime::FAR,
            };
        }
        if is_new && self.record.state == State::Collecting {
            // The server has served its one test.
            self.effects
                .push(FlightEffect::Release(self.record.spec.to.clone()));
        }
        self.act(view);
    }

    /// What the bucket holds.
    pub(crate) fn read(&mut self, outcome: Read<JobRecord>, view: &View<'_>) {
        let Step::Reading(target) = &self.step else {
            return;
        };
        let target = target.clone();
        match outcome {
            Read::Unknown => {
                self.unread = Some(target);
                self.rest(view.now + AGAIN);
            }
            Read::Absent => self.over(),
            Read::There(entry) if entry.value == target && entry.revision > self.revision => {
                self.stepped(target, entry.revision, view);
            }
            Read::There(entry) if entry.revision == self.revision => self.write(target),
            Read::There(entry) => self.replaced(entry),
        }
    }

    /// Somebody else has written the record.
    pub(crate) fn replaced(&mut self, entry: Entry<JobRecord>) {
        let is_theirs = entry.value.epoch > self.epoch;
        let is_withdrawn = entry.value.state.is_final() && !is_theirs;
        if is_withdrawn {
            self.release();
        }
        self.record = entry.value;
        self.revision = entry.revision;
        if is_theirs || !self.record.state.is_active() {
            return self.over();
        }
        // A controller that has lost the lease wrote once more.
        self.is_taken_over = true;
        self.become_(self.record.state.clone());
    }

    /// Whether a record that was seen is one that the flight is about to write, or has written.
    pub(crate) fn expects(&self, entry: &Entry<JobRecord>) -> bool {
        let is_target = match &self.step {
            Step::Writing(target) | Step::Reading(target) => entry.value == *target,
            _ => self
                .unread
                .as_ref()
                .is_some_and(|target| entry.value == *target),
        };
        is_target || entry.revision <= self.revision
    }

    /// What came back for the order.
    pub(crate) fn answered(&mut self, host: &HostName, reply: Reply, view: &View<'_>) {
        if reply == Reply::NoAgent {
            self.effects.push(FlightEffect::Lost(host.clone()));
        }
        let answer = match reply {
            Reply::Answer(Answer::Refused {
                why: Refusal::OldEpoch,
                ..
            }) => {
                self.effects.push(FlightEffect::Superseded);
                return self.over();
            }
            Reply::Answer(Answer::Refused {
                why: Refusal::Limits | Refusal::Usage,
                text,
            }) => {
                return self.fail(format!("{host}: {text}"));
            }
            Reply::Answer(answer) => Some(answer),
            Reply::NoAnswer | Reply::NoAgent => None,
        };
        match (&self.step, answer) {
            (Step::Reserving { is_second: false }, Some(Answer::Granted { .. })) => {
                let second = self.record.hosts()[1].clone();
                self.reserve(second, true, view);
            }
            (Step::Reserving { is_second: true }, Some(Answer::Granted { .. })) => {
                self.become_(State::Serving);
            }
            (
                Step::Reserving { .. },
                Some(Answer::Refused {
                    why: Refusal::NotReserved,
                    text,
                }),
            ) => {
                self.retry(format!("{host}: {text}"));
            }
            (Step::Reserving { .. }, _) => {
                self.release();
                self.become_(State::Queued);
            }
            (Step::Serving, Some(Answer::Listening(at))) => {
                match self.record.step(State::Running, self.epoch) {
                    Ok(mut target) => {
                        target.server = Some(at);
                        self.write(target);
                    }
                    Err(_) => self.over(),
                }
            }
            (Step::Starting, Some(Answer::Started)) => {
                self.step = Step::Waiting;
                let length = Duration::from_secs(u64::from(self.record.spec.seconds));
                self.wake = view.now + length + NEWS;
            }
            (Step::Serving | Step::Starting, Some(Answer::Refused { text, .. })) => {
                self.retry(format!("{host}: {text}"));
            }
            (Step::Serving | Step::Starting, _) => self.unanswered(host, view),
            (Step::Asking, Some(Answer::Status { status })) => self.status(host, status, view),
            (Step::Asking, _) => self.ask_later(host, view),
            _ => {}
        }
    }

    fn unanswered(&mut self, host: &HostName, view: &View<'_>) {
        self.orders += 1;
        if self.orders < ORDERS {
            self.rest(view.now + AGAIN);
        } else if self.record.state == State::Running {
            // It may run all the same.
            self.step = Step::Waiting;
            self.wake = view.now + AGAIN;
        } else {
            self.retry(format!("{host} does not answer"));
        }
    }

    fn ask_later(&mut self, host: &HostName, view: &View<'_>) {
        if view.now >= self.deadline {
            return match self.record.state {
                State::Collecting => self.fail(format!(
                    "{host} ended the test, and its result has not come"
                )),
                _ => self.retry(format!("{host} does not answer")),
            };
        }
        let pause = match self.record.state {
            State::Collecting => ASK_RESULT,
            _ => AGAIN,
        };
        self.step = Step::Waiting;
        self.wake = view.now + pause;
    }

    fn status(&mut self, host: &HostName, status: Status, view: &View<'_>) {
        let is_running = self.record.state == State::Running;
        match status {
            // The order to run did not arrive.
            Status::Reserved if is_running && view.now < self.deadline => self.act(view),
            Status::Ended(how) => self.ended(&how, host, view),
            Status::Stored => self.stored(),
            Status::Gone => {
                self.fail(format!("{host} gave its result up: the spool was full"));
            }
            Status::Unknown if is_running => self.retry(format!("{host} has lost the test")),
            // It was in the spool, and is not any more.
            Status::Unknown => self.stored(),
            Status::Running | Status::Reserved => self.ask_later(host, view),
        }
    }

    /// The client's host says how the test ended.
    pub(crate) fn ended(&mut self, how: &How, host: &HostName, view: &View<'_>) {
        if !matches!(
            self.step,
            Step::Starting | Step::Waiting | Step::Asking | Step::Resting
        ) {
            return;
        }
        match (&self.record.state, how) {
            (State::Running, How::Measured) => self.become_(State::Collecting),
            (State::Running, How::Failed(text)) => self.retry(format!("{host}: {text}")),
            (State::Running, How::Refused(text)) => self.fail(format!("{host}: {text}")),
            (State::Collecting, How::Measured) => self.ask_later(host, view),
            _ => {}
        }
    }

    /// The result of the client's host is in the database.
    pub(crate) fn stored(&mut self) {
        self.is_stored = true;
        let is_idle = matches!(
            self.step,
            Step::Starting | Step::Waiting | Step::Asking | Step::Resting
        );
        match self.record.state {
            _ if !is_idle => {}
            State::Running => self.become_(State::Collecting),
            State::Collecting => self.become_(State::Done),
            _ => {}
        }
    }

    /// Time passed.
    pub(crate) fn tick(&mut self, view: &View<'_>) {
        if view.now < self.wake {
            return;
        }
        self.wake = MonoTime::FAR;
        match self.step {
            Step::Resting => match self.unread.take() {
                Some(target) => self.reread(target),
                None => self.act(view),
            },
            Step::Waiting => {
                self.step = Step::Asking;
                let host = self.record.spec.from.clone();
                self.order(host, Action::Renew { seconds: 0 });
            }
            _ => {}
        }
    }
}
