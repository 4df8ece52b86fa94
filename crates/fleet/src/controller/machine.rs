//! What a controller does about each thing that happens.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use tapeline_base::{MonoTime, SplitMix64};

use crate::clock::{Now, UnixTime};
use crate::controller::agents::Agents;
pub use crate::controller::flight::Reply;
use crate::controller::flight::{Flight, FlightEffect, View};
use crate::controller::lease::{Lease, LeaseCall, LeaseRecord};
use crate::controller::waiting::Waiting;
use crate::job::{AttemptKey, Epoch, JobEvent, JobRecord, KEPT, State};
use crate::message::{Action, AgentOrder, Ask, Beat, Stored};
use crate::names::{HostName, JobId};
use crate::schedule::Schedules;
use crate::store::{Entry, Expected, Read, Revision, Written};

/// A job whose hosts were taken pauses for this time at least, and `PAUSE_SPREAD` more at most.
const PAUSE: Duration = Duration::from_millis(500);
const PAUSE_SPREAD: Duration = Duration::from_millis(4500);
/// Times that people wrote are compared again this often: clocks jump.
const LONGEST_WAIT: Duration = Duration::from_secs(60);
/// Pause before a final event is published, or a job deleted, once more.
const AGAIN: Duration = Duration::from_secs(10);
/// Agents with an old epoch make the controller ask again this often.
const ASK_AGAIN: Duration = Duration::from_secs(30);

/// Which call an outcome belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CallId(pub u64);

/// A link that several hosts share.
#[derive(Clone, Debug)]
pub struct Link {
    /// The hosts behind it.
    pub hosts: Vec<HostName>,
    /// Exclusive tests at a time; at least 1.
    pub at_once: usize,
}

/// What the watch of the jobs' bucket shows. It begins again after a loss of the connection.
#[derive(Clone, Debug)]
pub enum WatchInput {
    /// All entries follow.
    Began,
    /// An entry, and for how long the server has had it at least.
    Job(JobId, Entry<JobRecord>, Duration),
    /// An entry was deleted.
    Gone(JobId),
    /// All entries that there were have come.
    Current,
}

/// What came of a call.
#[derive(Clone, Debug)]
pub enum Outcome {
    /// Of an order.
    Reply(Reply),
    /// Of a write.
    Written(Written),
    /// Of reading a job.
    Job(Read<JobRecord>),
    /// Of reading the lease.
    Lease(Read<LeaseRecord>),
}

/// Something that happened.
#[derive(Clone, Debug)]
pub enum ControllerInput {
    /// A call has an outcome. Each has one, also without a connection.
    Outcome(CallId, Outcome),
    /// The bucket of jobs changed.
    Watch(WatchInput),
    /// An agent is there: on its own, or asked.
    Beat(Arc<Beat>),
    /// The collector has results in its database.
    Stored(Stored),
    /// The stream has the event of that step.
    EventKept(JobId, Revision),
    /// Time passed.
    Tick,
}

/// What is written.
#[derive(Clone, Debug, PartialEq)]
pub enum Target {
    /// A job.
    Job(JobId, JobRecord),
    /// A job leaves the bucket.
    NoJob(JobId),
    /// The lease.
    Lease(LeaseRecord),
}

/// Something that is to be done.
#[derive(Clone, Debug, PartialEq)]
pub enum ControllerEffect {
    /// Send an order to a host; its outcome is a `Reply`.
    Order(CallId, HostName, AgentOrder),
    /// Write, if the key is as expected; the outcome is a `Written`.
    Write(CallId, Target, Expected),
    /// Read a job.
    ReadJob(CallId, JobId),
    /// Read the lease.
    ReadLease(CallId),
    /// Ask all agents who is there; each answer is a `Beat`.
    Ask(Ask),
    /// Publish a step into the stream of events; `EventKept` follows its acknowledgement.
    Event(JobEvent),
}

/// A job as far as it is known.
#[derive(Clone, Debug)]
struct Known {
    entry: Entry<JobRecord>,
    /// When it leaves the bucket, if this is its last step. The time since the step may be longer than this process
    /// lives, and its clock counts from its beginning.
    leaves: MonoTime,
    /// The stream has its newest step.
    is_kept: bool,
    /// The beginning of the watch that showed it last.
    shown: u64,
}

/// Why a call was made.
#[derive(Clone, Debug)]
enum Purpose {
    Flight(JobId, Option<HostName>),
    Lease,
    Create(JobId, JobRecord),
    Delete(JobId),
    Nothing,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Timer {
    Flight(JobId),
    /// A job that waits may start, or expire.
    Waiting(JobId),
    /// A final job leaves.
    Leave(JobId),
    /// A job of a schedule is submitted once more.
    Create(JobId),
    Schedules,
}

/// A controller, active or standing by.
#[derive(Debug)]
pub struct Controller {
    lease: Lease,
    /// The epoch of its orders, while it is active.
    epoch: Option<Epoch>,
    jobs: BTreeMap<JobId, Known>,
    /// How often the watch has begun.
    begun: u64,
    is_current: bool,
    agents: Agents,
    links: Vec<Link>,
    waiting: Waiting,
    /// Jobs under way, each with the call whose outcome it waits for.
    flights: BTreeMap<JobId, (Flight, Option<CallId>)>,
    schedules: Schedules,
    calls: BTreeMap<CallId, Purpose>,
    last_call: CallId,
    creating: BTreeMap<JobId, JobRecord>,
    timers: BTreeSet<(MonoTime, Timer)>,
    asked: MonoTime,
    refused: u64,
    random: SplitMix64,
    effects: Vec<ControllerEffect>,
}

impl Controller {
    /// A controller that stands by. `who` differs for each process; the seed decides random pauses.
    #[must_use]
    pub fn new(who: String, links: Vec<Link>, seed: u64) -> Self {
        Self {
            lease: Lease::new(who),
            epoch: None,
            jobs: BTreeMap::new(),
            begun: 0,
            is_current: false,
            agents: Agents::default(),
            links,
            waiting: Waiting::default(),
            flights: BTreeMap::new(),
            schedules: Schedules::default(),
            calls: BTreeMap::new(),
            last_call: CallId(0),
            creating: BTreeMap::new(),
            timers: BTreeSet::new(),
            asked: MonoTime::ZERO,
            refused: 0,
            random: SplitMix64::new(seed),
            effects: Vec::new(),
        }
    }

    /// The epoch of its orders, while it is active.
    #[must_use]
    pub fn epoch(&self) -> Option<Epoch> {
        self.epoch
    }

    /// Orders that were refused for their old epoch.
    #[must_use]
    pub fn refused(&self) -> u64 {
        self.refused
    }

    /// The schedules from now on.
    pub fn set_schedules(&mut self, schedules: Schedules) {
        self.schedules = schedules;
        self.timers.retain(|(_, timer)| *timer != Timer::Schedules);
        if self.epoch.is_some() {
            self.timers.insert((MonoTime::ZERO, Timer::Schedules));
        }
    }

    /// When a `Tick` is due at the latest.
    #[must_use]
    pub fn wake_at(&self) -> MonoTime {
        let timer = self.timers.first().map_or(MonoTime::FAR, |(at, _)| *at);
        timer.min(self.lease.wake_at())
    }

    /// What is to be done about something that happened.
    pub fn handle(&mut self, input: ControllerInput, now: Now) -> Vec<ControllerEffect> {
        // First of all: a controller that was paused stops before it acts.
        self.lead(now);
        match input {
            ControllerInput::Outcome(call, outcome) => self.outcome(call, outcome, now),
            ControllerInput::Watch(watch) => self.watched(watch, now),
            ControllerInput::Beat(beat) => self.beat(&beat, now),
            ControllerInput::Stored(stored) => {
                for key in stored.results {
                    let is_wanted = |flight: &Flight| {
                        flight.attempt() == key.of && flight.record.spec.from == key.host
                    };
                    if self
                        .flights
                        .get(&key.of.job)
                        .is_some_and(|(flight, _)| is_wanted(flight))
                    {
                        self.fly(&key.of.job, now, |flight, _| flight.stored());
                    }
                }
            }
            ControllerInput::EventKept(id, revision) => {
                if let Some(known) = self.jobs.get_mut(&id) {
                    known.is_kept |= known.entry.revision == revision;
                }
            }
            ControllerInput::Tick => {}
        }
        self.lead(now);
        self.tick(now);
        std::mem::take(&mut self.effects)
    }

    fn call(&mut self, purpose: Purpose) -> CallId {
        self.last_call.0 += 1;
        self.calls.insert(self.last_call, purpose);
        self.last_call
    }

    /// Renews or takes the lease, and begins or stops to act.
    fn lead(&mut self, now: Now) {
        if let Some(due) = self.lease.due(now.mono) {
            let call = self.call(Purpose::Lease);
            self.effects.push(match due {
                LeaseCall::Read => ControllerEffect::ReadLease(call),
                LeaseCall::Write(expected) => {
                    ControllerEffect::Write(call, Target::Lease(self.lease.record()), expected)
                }
            });
        }
        let epoch = self.lease.epoch(now.mono).filter(|_| self.is_current);
        if epoch == self.epoch {
            return;
        }
        self.epoch = epoch;
        self.flights.clear();
        self.timers.clear();
        self.creating.clear();
        let links = self
            .links
            .iter()
            .map(|link| (link.hosts.clone(), link.at_once));
        self.waiting = Waiting::new(links);
        if epoch.is_some() {
            self.ask(now);
            self.timers.insert((now.mono, Timer::Schedules));
            let (active, others): (Vec<JobId>, Vec<JobId>) = {
                let is_active = |id: &JobId| self.jobs[id].entry.value.state.is_active();
                self.jobs.keys().cloned().partition(is_active)
            };
            // Those under way have their hosts already.
            for id in active.into_iter().chain(others) {
                self.place(&id, Duration::ZERO, now);
            }
        }
    }

    fn ask(&mut self, now: Now) {
        self.asked = now.mono;
        self.effects
            .push(ControllerEffect::Ask(Ask { epoch: self.epoch }));
    }

    fn tick(&mut self, now: Now) {
        while let Some((at, _)) = self.timers.first()
            && *at <= now.mono
        {
            let Some((_, timer)) = self.timers.pop_first() else {
                return;
            };
            match timer {
                Timer::Flight(id) => self.fly(&id, now, |flight, view| flight.tick(view)),
                Timer::Waiting(id) => {
                    let is_waiting = self
                        .jobs
                        .get(&id)
                        .is_some_and(|known| known.entry.value.state == State::Queued);
                    if is_waiting && !self.flights.contains_key(&id) {
                        self.place(&id, Duration::ZERO, now);
                    }
                }
                Timer::Leave(id) => self.leave(&id, now),
                Timer::Create(id) => {
                    if let Some(record) = self.creating.remove(&id) {
                        self.create(id, record);
                    }
                }
                Timer::Schedules => self.scheduled(now),
            }
        }
    }

    fn outcome(&mut self, call: CallId, outcome: Outcome, now: Now) {
        let Some(purpose) = self.calls.remove(&call) else {
            return;
        };
        match (purpose, outcome) {
            (Purpose::Lease, Outcome::Written(written)) => self.lease.written(written, now.mono),
            (Purpose::Lease, Outcome::Lease(read)) => self.lease.read(&read, now.mono),
            (Purpose::Flight(id, host), outcome) => {
                let current = self.flights.get(&id).and_then(|(_, waits)| *waits);
                if current != Some(call) {
                    return;
                }
                self.fly(&id, now, |flight, view| match (outcome, host) {
                    (Outcome::Reply(reply), Some(host)) => flight.answered(&host, reply, view),
                    (Outcome::Written(written), _) => flight.written(written, view),
                    (Outcome::Job(read), _) => flight.read(read, view),
                    _ => {}
                });
            }
            // If it is done, the watch shows it; if it was there before, all is well.
            (Purpose::Create(id, record), Outcome::Written(Written::Unknown))
                if self.epoch.is_some() =>
            {
                self.creating.insert(id.clone(), record);
                self.timers.insert((now.mono + AGAIN, Timer::Create(id)));
            }
            (Purpose::Delete(id), Outcome::Written(Written::Conflict | Written::Unknown))
                if self.epoch.is_some() =>
            {
                self.timers.insert((now.mono + AGAIN, Timer::Leave(id)));
            }
            _ => {}
        }
    }

    fn watched(&mut self, watch: WatchInput, now: Now) {
        match watch {
            WatchInput::Began => self.begun += 1,
            WatchInput::Job(id, entry, age) => self.seen(id, entry, age, now),
            WatchInput::Gone(id) => self.gone(&id, now),
            WatchInput::Current => {
                self.is_current = true;
                let jobs = self.jobs.iter();
                let gone = jobs.filter(|(_, known)| known.shown < self.begun);
                let gone: Vec<JobId> = gone.map(|(id, _)| id.clone()).collect();
                for id in gone {
                    self.gone(&id, now);
                }
            }
        }
    }

    fn seen(&mut self, id: JobId, entry: Entry<JobRecord>, age: Duration, now: Now) {
        if let Some(known) = self.jobs.get_mut(&id) {
            known.shown = self.begun;
            if known.entry.revision >= entry.revision {
                return;
            }
        }
        let known = Known {
            entry: entry.clone(),
            leaves: now.mono + KEPT.saturating_sub(age),
            is_kept: false,
            shown: self.begun,
        };
        self.jobs.insert(id.clone(), known);
        match self.flights.get(&id) {
            Some((flight, _)) if flight.expects(&entry) => {}
            Some(_) => self.fly(&id, now, |flight, _| flight.replaced(entry)),
            None => self.place(&id, Duration::ZERO, now),
        }
    }

    fn gone(&mut self, id: &JobId, now: Now) {
        self.jobs.remove(id);
        self.flights.remove(id);
        self.waiting.remove(id);
        self.freed(id, now);
    }

    fn beat(&mut self, beat: &Beat, now: Now) {
        let was_there = self.agents.heard(beat, now.mono);
        let Some(epoch) = self.epoch else {
            return;
        };
        if beat.epoch < epoch && now.mono.since(self.asked) >= ASK_AGAIN {
            self.ask(now);
        }
        if let Some((of, how)) = &beat.ended {
            let is_wanted =
                |flight: &Flight| flight.attempt() == *of && flight.record.spec.from == beat.host;
            if self
                .flights
                .get(&of.job)
                .is_some_and(|(flight, _)| is_wanted(flight))
            {
                let host = &beat.host;
                self.fly(&of.job, now, |flight, view| flight.ended(how, host, view));
            }
        }
        if !was_there {
            self.try_host(&beat.host, now);
        }
    }

    /// Takes a job to where its state belongs.
    fn place(&mut self, id: &JobId, pause: Duration, now: Now) {
        let (Some(epoch), Some(known)) = (self.epoch, self.jobs.get(id)) else {
            return;
        };
        self.waiting.remove(id);
        let record = &known.entry.value;
        if record.epoch > epoch {
            // A later controller is at work.
            return;
        }
        if record.state.is_final() {
            self.timers.insert((known.leaves, Timer::Leave(id.clone())));
        } else if record.state.is_active() {
            let state = record.state.clone();
            self.launch(id, state, now);
        } else if record.spec.expires <= now.wall {
            self.launch(id, State::Expired, now);
        } else {
            let until = |time: UnixTime| {
                let seconds = u64::try_from(time.0 - now.wall.0).unwrap_or(0);
                Duration::from_secs(seconds).min(LONGEST_WAIT)
            };
            let starts = until(record.spec.earliest.unwrap_or_default()).max(pause);
            let again = if starts.is_zero() {
                until(record.spec.expires)
            } else {
                starts.min(until(record.spec.expires))
            };
            self.timers
                .insert((now.mono + again, Timer::Waiting(id.clone())));
            if starts.is_zero() {
                self.waiting.add(id, &record.spec, known.entry.revision);
                let agents = &self.agents;
                if self
                    .waiting
                    .may_start(id, |host| agents.is_there(host, now.mono))
                {
                    self.launch(id, State::Reserving, now);
                }
            }
        }
    }

    /// Starts the jobs of a host that may be free.
    fn try_host(&mut self, host: &HostName, now: Now) {
        loop {
            let agents = &self.agents;
            let first = self
                .waiting
                .first_of(host, |host| agents.is_there(host, now.mono));
            let Some(id) = first else {
                return;
            };
            self.launch(&id, State::Reserving, now);
        }
    }

    fn launch(&mut self, id: &JobId, to: State, now: Now) {
        self.waiting.remove(id);
        let (Some(epoch), Some(known)) = (self.epoch, self.jobs.get(id)) else {
            return;
        };
        // What is being collected, or has expired, needs no host.
        if !to.is_final() && to != State::Collecting {
            self.waiting.start(id, &known.entry.value.spec);
        }
        let flight = Flight::new(id.clone(), known.entry.clone(), to, epoch);
        self.flights.insert(id.clone(), (flight, None));
        self.fly(id, now, |_, _| {});
    }

    /// Lets something happen to a job under way, and does what it wants done.
    fn fly(&mut self, id: &JobId, now: Now, happens: impl FnOnce(&mut Flight, &View<'_>)) {
        let Some((mut flight, mut waits)) = self.flights.remove(id) else {
            return;
        };
        let view = View {
            now: now.mono,
            agents: &self.agents,
        };
        happens(&mut flight, &view);
        let mut is_freed = false;
        let mut is_superseded = false;
        for effect in flight.effects() {
            match effect {
                FlightEffect::Order(host, action) => {
                    let call = self.call(Purpose::Flight(id.clone(), Some(host.clone())));
                    waits = Some(call);
                    self.order(call, host, flight.attempt(), action);
                }
                FlightEffect::Release(host) => {
                    let call = self.call(Purpose::Nothing);
                    self.order(call, host, flight.attempt(), Action::Release);
                }
                FlightEffect::Write(record) => {
                    let call = self.call(Purpose::Flight(id.clone(), None));
                    waits = Some(call);
                    let target = Target::Job(id.clone(), record);
                    let expected = Expected::At(flight.revision);
                    self.effects
                        .push(ControllerEffect::Write(call, target, expected));
                }
                FlightEffect::Read => {
                    let call = self.call(Purpose::Flight(id.clone(), None));
                    waits = Some(call);
                    self.effects
                        .push(ControllerEffect::ReadJob(call, id.clone()));
                }
                FlightEffect::Stepped => {
                    is_freed |= flight.record.state == State::Collecting;
                    self.stepped(id, &flight, now);
                }
                FlightEffect::Freed => is_freed = true,
                FlightEffect::Lost(host) => self.agents.lost(&host),
                FlightEffect::Superseded => is_superseded = true,
            }
        }
        if is_superseded {
            // All flights end with it.
            self.refused += 1;
            return self.lease.superseded(now.mono);
        }
        let is_over = flight.is_over();
        if !is_over {
            if flight.wake_at() < MonoTime::FAR {
                self.timers
                    .insert((flight.wake_at(), Timer::Flight(id.clone())));
            }
            self.flights.insert(id.clone(), (flight, waits));
        } else if let Some(known) = self.jobs.get_mut(id)
            && known.entry.revision < flight.revision
        {
            known.entry.revision = flight.revision;
            known.entry.value = flight.record;
            known.leaves = now.mono + KEPT;
        }
        if is_freed {
            self.freed(id, now);
        }
        if is_over {
            let pause = PAUSE + PAUSE_SPREAD.mul_f64(self.random.fraction());
            self.place(id, pause, now);
        }
    }

    fn order(&mut self, call: CallId, host: HostName, of: AttemptKey, action: Action) {
        let Some(epoch) = self.epoch else {
            return;
        };
        let order = AgentOrder { of, epoch, action };
        self.effects
            .push(ControllerEffect::Order(call, host, order));
    }

    fn stepped(&mut self, id: &JobId, flight: &Flight, now: Now) {
        let entry = Entry {
            revision: flight.revision,
            value: flight.record.clone(),
        };
        self.effects
            .push(ControllerEffect::Event(event(id, &entry, now)));
        if let Some(known) = self.jobs.get_mut(id) {
            known.entry = entry;
            known.leaves = now.mono + KEPT;
            known.is_kept = false;
        }
    }

    fn freed(&mut self, id: &JobId, now: Now) {
        for host in self.waiting.end(id) {
            self.try_host(&host, now);
        }
    }

    /// A job that has been final for long leaves the bucket, once the stream has its last step.
    fn leave(&mut self, id: &JobId, now: Now) {
        let Some(known) = self
            .jobs
            .get(id)
            .filter(|known| known.entry.value.state.is_final())
        else {
            return;
        };
        if known.is_kept {
            let expected = Expected::At(known.entry.revision);
            let call = self.call(Purpose::Delete(id.clone()));
            let target = Target::NoJob(id.clone());
            self.effects
                .push(ControllerEffect::Write(call, target, expected));
        } else {
            let event = event(id, &known.entry, now);
            self.effects.push(ControllerEffect::Event(event));
            self.timers
                .insert((now.mono + AGAIN, Timer::Leave(id.clone())));
        }
    }

    fn scheduled(&mut self, now: Now) {
        for (id, spec) in self.schedules.due(now.wall) {
            self.create(id, JobRecord::new(spec));
        }
        if !self.schedules.is_empty() {
            let wait = self.schedules.wait(now.wall).min(LONGEST_WAIT);
            self.timers.insert((now.mono + wait, Timer::Schedules));
        }
    }

    fn create(&mut self, id: JobId, record: JobRecord) {
        let call = self.call(Purpose::Create(id.clone(), record.clone()));
        let target = Target::Job(id, record);
        self.effects
            .push(ControllerEffect::Write(call, target, Expected::Absent));
    }
}

fn event(id: &JobId, entry: &Entry<JobRecord>, now: Now) -> JobEvent {
    JobEvent {
        job: id.clone(),
        state: entry.value.state.clone(),
        attempt: entry.value.attempt,
        epoch: entry.value.epoch,
        revision: entry.revision,
        at: now.wall,
    }
}
