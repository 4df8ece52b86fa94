//! What an agent does about each thing that happens.

use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use tapeline_base::{Endpoint, MonoTime, SplitMix64};
use tapeline_remote::{Class, GivenOption, Listening, Order, ServedTests};

use crate::agent::limits::{Limits, Wanted};
use crate::agent::slot::{Phase, Slot};
use crate::agent::spool::{Spool, Spooled};
use crate::clock::Now;
use crate::job::{AttemptKey, Epoch, ResultKey, SPARE, ServerAt};
use crate::message::{
    Action, AgentOrder, Answer, Ask, Beat, How, Refusal, ReplyId, Status, Stored,
};
use crate::names::HostName;

/// A beat comes this often, give or take `BEAT_SPREAD`.
const BEAT: Duration = Duration::from_secs(30);
const BEAT_SPREAD: Duration = Duration::from_secs(5);
/// After a connection, results are published within this time: not all agents at once.
const RETURN_SPREAD: Duration = Duration::from_secs(5);
/// After a result could not be kept, no test is granted for this time.
const SPOOL_PAUSE: Duration = Duration::from_secs(10);
/// Background tests at a time.
const BACKGROUND: usize = 4;
/// Orders a second; more are refused.
const ORDERS: u32 = 20;
/// Attempts that ended and are remembered.
const RECENT: usize = 256;
/// Results that were given up and are remembered.
const GIVEN_UP: usize = 100;

/// Who the agent is.
#[derive(Clone, Debug)]
pub struct Identity {
    /// Its host.
    pub host: HostName,
    /// What others test towards.
    pub address: Arc<str>,
    /// Of the program.
    pub version: Arc<str>,
}

/// What an agent keeps beside its spool; it outlives its process.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Kept {
    /// The newest epoch that it knows.
    pub epoch: Epoch,
    /// The local day that `bytes` belongs to, counted from 1970-01-01.
    pub day: i64,
    /// Bytes of that day's tests.
    pub bytes: u64,
    /// Results that were given up, ever.
    pub given_up: u64,
    /// The newest of them.
    pub gone: VecDeque<ResultKey>,
}

/// Something that happened.
#[derive(Clone, Debug)]
pub enum AgentInput {
    /// The server is there, or is there again.
    Connected,
    /// The server is away.
    Disconnected,
    /// An order came.
    Order {
        /// The order.
        order: AgentOrder,
        /// For the answer.
        reply: ReplyId,
    },
    /// Somebody asked who is there.
    Asked(Ask),
    /// The lock file was tried.
    Locked {
        /// For which attempt.
        of: AttemptKey,
        /// It is held now.
        is_ours: bool,
    },
    /// The server of a test listens.
    Listening {
        /// Whose.
        of: AttemptKey,
        /// Where.
        ports: Listening,
    },
    /// A test is over, and its process gone.
    Ended {
        /// Whose.
        of: AttemptKey,
        /// How.
        how: How,
        /// What it measured.
        document: Option<String>,
        /// Bytes that it sent and received.
        bytes: u64,
    },
    /// A result was to be kept.
    Kept {
        /// Which.
        key: ResultKey,
        /// Bytes of its file; none: it could not be kept.
        bytes: Option<u64>,
    },
    /// The server acknowledged a result as a new message, which the collector gets. One that it had
    /// already is no such message: what the collector said of that one may have been lost.
    Published {
        /// Which.
        key: ResultKey,
    },
    /// The collector has results of this host in its database.
    Stored(Stored),
    /// Time passed.
    Tick,
}

/// Something that is to be done. All are carried out in their order, each before the next, across calls of
/// [`Agent::handle`]: an `Unlock` that came after the next `Lock` would free a host with a test on it.
#[derive(Clone, Debug, PartialEq)]
pub enum AgentEffect {
    /// Answer an order.
    Answer {
        /// Which.
        reply: ReplyId,
        /// With what.
        answer: Answer,
    },
    /// Publish that the agent is there: the answer to who is there, too, as only its own subject binds it to
    /// its host.
    Beat(Arc<Beat>),
    /// Close what the agent has of the lock file, open it anew and try to lock it; the test's processes inherit
    /// it. The input `Locked` follows.
    Lock(AttemptKey),
    /// Close the lock file, without unlocking it: a process that still has it keeps it locked.
    Unlock,
    /// Start a test. `Ended` follows in any case, after `Listening` for a server.
    Start {
        /// Whose.
        of: AttemptKey,
        /// The executor's order.
        order: Order,
    },
    /// End a test that was started, by force if it does not end.
    Stop(AttemptKey),
    /// Write this beside the spool (fsync, rename).
    Keep(Kept),
    /// Write a result into the spool (fsync, rename). The input `Kept` follows.
    Spool {
        /// Its key.
        key: ResultKey,
        /// The document.
        document: String,
    },
    /// Delete a result from the spool.
    Unspool(ResultKey),
    /// Publish a result of the spool. The input `Published` follows, if all goes well.
    Publish(ResultKey),
}

/// A test that is to start in a slot.
struct Test<'a> {
    peers: &'a [&'a str],
    options: &'a [GivenOption],
    /// What the slot becomes.
    phase: Phase,
}

/// The address in the option of a client that says with whom it tests, as the client takes it apart. One that
/// names an interface, too, is no address.
fn server_of(option: &GivenOption) -> Option<String> {
    if option.name != "client" {
        return None;
    }
    let value = option.value.as_deref().unwrap_or_default();
    let endpoint = Endpoint::parse(value);
    Some(match endpoint.device {
        None => endpoint.host,
        Some(_) => value.to_owned(),
    })
}

/// The agent of a host.
#[derive(Clone, Debug)]
pub struct Agent {
    identity: Identity,
    limits: Limits,
    kept: Kept,
    slots: Vec<Slot>,
    spool: Spool,
    /// Results that are being written into the spool.
    writing: BTreeSet<ResultKey>,
    /// The newest attempts that ended, with what became of them.
    recent: VecDeque<(AttemptKey, Status)>,
    ended: Option<(AttemptKey, How)>,
    is_connected: bool,
    next_beat: MonoTime,
    /// What it says of itself, as long as that is so.
    said: Option<Arc<Beat>>,
    spool_fails_until: MonoTime,
    /// The second in which orders are counted, and their number.
    orders: (MonoTime, u32),
    random: SplitMix64,
    effects: Vec<AgentEffect>,
}

impl Agent {
    /// An agent that starts: with what it kept, and the results of its spool from the oldest on. The seed
    /// decides random pauses.
    #[must_use]
    pub fn new(
        identity: Identity,
        limits: Limits,
        kept: Kept,
        spooled: Vec<Spooled>,
        seed: u64,
    ) -> Self {
        let mut spool = Spool::default();
        for result in spooled {
            // The bounds held when it was written.
            spool.add(result, MonoTime::FAR);
        }
        Self {
            identity,
            limits,
            kept,
            slots: Vec::new(),
            spool,
            writing: BTreeSet::new(),
            recent: VecDeque::new(),
            ended: None,
            is_connected: false,
            next_beat: MonoTime::FAR,
            said: None,
            spool_fails_until: MonoTime::ZERO,
            orders: (MonoTime::ZERO, 0),
            random: SplitMix64::new(seed),
            effects: Vec::new(),
        }
    }

    /// When a `Tick` is due at the latest.
    #[must_use]
    pub fn wake_at(&self) -> MonoTime {
        let slots = self.slots.iter().map(Slot::wake_at).min();
        let results = if self.is_connected {
            self.spool.wake_at()
        } else {
            MonoTime::FAR
        };
        self.next_beat
            .min(results)
            .min(slots.unwrap_or(MonoTime::FAR))
    }

    /// What is to be done about something that happened.
    pub fn handle(&mut self, input: AgentInput, now: Now) -> Vec<AgentEffect> {
        if !matches!(input, AgentInput::Tick) {
            self.said = None;
        }
        match input {
            AgentInput::Connected => {
                self.is_connected = true;
                let spread = RETURN_SPREAD.mul_f64(self.random.fraction());
                self.spool.all_from(now.mono + spread);
                self.beat(now);
            }
            AgentInput::Disconnected => {
                self.is_connected = false;
                self.next_beat = MonoTime::FAR;
            }
            AgentInput::Order { order, reply } => self.order(order, reply, now),
            AgentInput::Asked(ask) => {
                if let Some(epoch) = ask.epoch {
                    self.know(epoch);
                }
                let beat = self.present();
                self.effects.push(AgentEffect::Beat(beat));
            }
            AgentInput::Locked { of, is_ours } => self.locked(&of, is_ours, now),
            AgentInput::Listening { of, ports } => self.listening(&of, ports),
            AgentInput::Ended {
                of,
                how,
                document,
                bytes,
            } => self.test_ended(&of, how, document, bytes, now),
            AgentInput::Kept { key, bytes } => self.result_kept(key, bytes, now),
            AgentInput::Published { key } => self.spool.acknowledged(&key, now.mono),
            AgentInput::Stored(stored) => {
                for key in stored.results {
                    if key.host == self.identity.host && self.spool.remove(&key) {
                        self.remember(key.of.clone(), Status::Stored);
                        self.effects.push(AgentEffect::Unspool(key));
                    }
                }
            }
            AgentInput::Tick => {}
        }
        self.tick(now);
        std::mem::take(&mut self.effects)
    }

    fn tick(&mut self, now: Now) {
        let expired = |slot: &Slot| slot.until <= now.mono && slot.phase != Phase::Stopping;
        let expired: Vec<AttemptKey> = self
            .slots
            .iter()
            .filter(|slot| expired(slot))
            .map(|slot| slot.of.clone())
            .collect();
        for of in expired {
            self.said = None;
            self.give_up(&of);
            self.beat(now);
        }
        if self.is_connected {
            let due = self.spool.due(now.mono);
            self.effects
                .extend(due.into_iter().map(AgentEffect::Publish));
            if self.next_beat <= now.mono {
                self.beat(now);
            }
        }
    }

    /// Says that it is there, now and then again.
    fn beat(&mut self, now: Now) {
        if self.is_connected {
            let spread = 2 * BEAT_SPREAD;
            self.next_beat = now.mono + BEAT - BEAT_SPREAD + spread.mul_f64(self.random.fraction());
            let beat = self.present();
            self.effects.push(AgentEffect::Beat(beat));
        }
    }

    fn present(&mut self) -> Arc<Beat> {
        let said = self.said.take().unwrap_or_else(|| self.news().into());
        self.said = Some(Arc::clone(&said));
        said
    }

    fn news(&self) -> Beat {
        let mut slots = self.slots.iter();
        let exclusive = slots.find(|slot| slot.class == Class::Exclusive);
        Beat {
            host: self.identity.host.clone(),
            address: self.identity.address.clone(),
            epoch: self.kept.epoch,
            slot: exclusive.map(|slot| slot.of.clone()),
            is_free: exclusive.is_none(),
            ended: self.ended.clone(),
            spool: self.spool.size(self.kept.given_up),
            version: self.identity.version.clone(),
        }
    }

    /// A greater epoch is kept before anything is done for it.
    fn know(&mut self, epoch: Epoch) {
        if epoch > self.kept.epoch {
            self.kept.epoch = epoch;
            self.effects.push(AgentEffect::Keep(self.kept.clone()));
        }
    }

    fn answer(&mut self, reply: ReplyId, answer: Answer) {
        self.effects.push(AgentEffect::Answer { reply, answer });
    }

    fn refuse(&mut self, reply: ReplyId, why: Refusal, text: impl Into<String>) {
        let text = text.into();
        self.answer(reply, Answer::Refused { why, text });
    }

    fn slot(&self, of: &AttemptKey) -> Option<usize> {
        self.slots.iter().position(|slot| slot.of == *of)
    }

    fn order(&mut self, order: AgentOrder, reply: ReplyId, now: Now) {
        let AgentOrder { of, epoch, action } = order;
        if epoch < self.kept.epoch {
            let text = format!(
                "controller {} has taken over from {}",
                self.kept.epoch.0, epoch.0
            );
            return self.refuse(reply, Refusal::OldEpoch, text);
        }
        if now.mono.since(self.orders.0) >= Duration::from_secs(1) {
            self.orders = (now.mono, 0);
        }
        self.orders.1 += 1;
        if self.orders.1 > ORDERS {
            let text = format!("more than {ORDERS} orders a second");
            return self.refuse(reply, Refusal::Busy, text);
        }
        self.know(epoch);
        match action {
            Action::Reserve {
                seconds,
                class,
                peer,
                options,
            } => {
                let wanted = Wanted {
                    peers: &[&peer],
                    options: &options,
                    seconds,
                    class,
                };
                if let Err(text) = self.limits.check(&wanted, now, self.bytes_today(now)) {
                    return self.refuse(reply, Refusal::Limits, text);
                }
                self.reserve(of, seconds, class, reply, now);
            }
            Action::Renew { seconds } => {
                self.renew(&of, seconds, now);
                let status = self.status(&of, now);
                self.answer(reply, Answer::Status { status });
            }
            Action::Release => {
                self.give_up(&of);
                self.answer(reply, Answer::Released);
            }
            Action::Serve { options, allow } => {
                let order = |slot: &Slot| Order::Serve {
                    options: options.clone(),
                    tests: ServedTests::One,
                    allow: allow.clone(),
                    seconds: slot.until.since(now.mono).as_secs_f64(),
                    class: slot.class,
                };
                let peers: Vec<&str> = allow.iter().map(String::as_str).collect();
                let test = Test {
                    peers: &peers,
                    options: &options,
                    phase: Phase::Starting { reply },
                };
                self.start(&of, test, order, reply, now);
            }
            Action::Run { options, live } => {
                let order = |slot: &Slot| Order::Run {
                    options: options.clone(),
                    live,
                    class: slot.class,
                };
                let servers: Vec<String> = options.iter().filter_map(server_of).collect();
                let peers: Vec<&str> = servers.iter().map(String::as_str).collect();
                let test = Test {
                    peers: &peers,
                    options: &options,
                    phase: Phase::Running { server: None },
                };
                self.start(&of, test, order, reply, now);
            }
        }
    }

    fn reserve(&mut self, of: AttemptKey, seconds: u32, class: Class, reply: ReplyId, now: Now) {
        let length = Duration::from_secs(u64::from(seconds)) + SPARE;
        if let Some(place) = self.slot(&of) {
            let slot = &mut self.slots[place];
            return match &mut slot.phase {
                Phase::Locking { reply: waits } => *waits = reply,
                Phase::Reserved => {
                    slot.until = (now.mono + length).min(slot.latest);
                    let seconds = slot.until.since(now.mono).as_secs() as u32;
                    self.answer(reply, Answer::Granted { seconds });
                }
                _ => self.refuse(
                    reply,
                    Refusal::NotReserved,
                    "that attempt has begun already",
                ),
            };
        }
        if self.status(&of, now) != Status::Unknown {
            return self.refuse(reply, Refusal::NotReserved, "that attempt is over");
        }
        if now.mono < self.spool_fails_until {
            return self.refuse(
                reply,
                Refusal::Spool,
                "results cannot be kept at the moment",
            );
        }
        let others = self.slots.iter().filter(|slot| slot.class == class).count();
        let most = match class {
            Class::Exclusive => 1,
            Class::Background => BACKGROUND,
        };
        if others >= most {
            let text = match class {
                Class::Exclusive => "another test has the slot".to_owned(),
                Class::Background => format!("{BACKGROUND} background tests run already"),
            };
            return self.refuse(reply, Refusal::Busy, text);
        }
        let longest = self
            .limits
            .longest_slot()
            .map(|seconds| Duration::from_secs_f64(seconds) + SPARE);
        let length = longest.map_or(length, |longest| longest.min(length));
        self.slots.push(Slot {
            of: of.clone(),
            class,
            seconds,
            until: now.mono + length,
            latest: now.mono + longest.unwrap_or(2 * length),
            phase: Phase::Locking { reply },
        });
        match class {
            Class::Exclusive => self.effects.push(AgentEffect::Lock(of)),
            // Nothing to lock.
            Class::Background => self.locked(&of, true, now),
        }
    }

    fn locked(&mut self, of: &AttemptKey, is_ours: bool, now: Now) {
        let slot = self.slot(of).map(|place| &mut self.slots[place]);
        let Some(slot) = slot else {
            // Given up meanwhile.
            if is_ours && self.slots.iter().all(|slot| slot.class != Class::Exclusive) {
                self.effects.push(AgentEffect::Unlock);
            }
            return;
        };
        let Phase::Locking { reply } = slot.phase else {
            return;
        };
        if is_ours {
            slot.phase = Phase::Reserved;
            let seconds = slot.until.since(now.mono).as_secs() as u32;
            self.answer(reply, Answer::Granted { seconds });
        } else {
            self.slots.retain(|slot| slot.of != *of);
            let text =
                "another program has the host's lock: a local test, or one that has not ended yet";
            self.refuse(reply, Refusal::Busy, text);
        }
    }

    fn renew(&mut self, of: &AttemptKey, seconds: u32, now: Now) {
        if let Some(place) = self.slot(of) {
            let slot = &mut self.slots[place];
            let wanted = now.mono + Duration::from_secs(u64::from(seconds));
            slot.until = slot.until.max(wanted.min(slot.latest));
        }
    }

    /// Starts the test of a slot, unless it was started already.
    fn start(
        &mut self,
        of: &AttemptKey,
        test: Test<'_>,
        order: impl Fn(&Slot) -> Order,
        reply: ReplyId,
        now: Now,
    ) {
        let Test {
            peers,
            options,
            phase,
        } = test;
        let bytes = self.bytes_today(now);
        let Some(place) = self.slot(of) else {
            return match self.status(of, now) {
                Status::Unknown => {
                    self.refuse(
                        reply,
                        Refusal::NotReserved,
                        "the slot is not reserved for that attempt",
                    );
                }
                // A repeated order, after the test.
                _ if matches!(phase, Phase::Running { .. }) => self.answer(reply, Answer::Started),
                _ => self.refuse(reply, Refusal::NotReserved, "that attempt is over"),
            };
        };
        let slot = &mut self.slots[place];
        match (&mut slot.phase, &phase) {
            (Phase::Reserved, _) => {}
            (Phase::Starting { reply: waits }, Phase::Starting { .. }) => {
                *waits = reply;
                return;
            }
            (Phase::Running { server: Some(at) }, Phase::Starting { .. }) => {
                let at = at.clone();
                return self.answer(reply, Answer::Listening(at));
            }
            (Phase::Running { server: None }, Phase::Running { .. }) => {
                return self.answer(reply, Answer::Started);
            }
            _ => {
                return self.refuse(reply, Refusal::NotReserved, "the slot has another use");
            }
        }
        let wanted = Wanted {
            peers,
            options,
            seconds: slot.seconds,
            class: slot.class,
        };
        if let Err(text) = self.limits.check(&wanted, now, bytes) {
            return self.refuse(reply, Refusal::Limits, text);
        }
        let order = order(slot);
        let is_client = matches!(phase, Phase::Running { .. });
        slot.phase = phase;
        self.effects.push(AgentEffect::Start {
            of: of.clone(),
            order,
        });
        if is_client {
            self.answer(reply, Answer::Started);
        }
    }

    fn listening(&mut self, of: &AttemptKey, ports: Listening) {
        let Some(place) = self.slot(of) else {
            return;
        };
        if let Phase::Starting { reply } = self.slots[place].phase {
            let address = self.identity.address.to_string();
            let at = ServerAt { address, ports };
            self.slots[place].phase = Phase::Running {
                server: Some(at.clone()),
            };
            self.answer(reply, Answer::Listening(at));
        }
    }

    /// Frees a slot; a test in it is stopped first.
    fn give_up(&mut self, of: &AttemptKey) {
        let Some(place) = self.slot(of) else {
            return;
        };
        match self.slots[place].phase {
            // The lock is closed when it comes.
            Phase::Locking { .. } => {
                self.slots.remove(place);
            }
            Phase::Reserved => self.free(place),
            Phase::Starting { .. } | Phase::Running { .. } => {
                self.slots[place].phase = Phase::Stopping;
                self.effects.push(AgentEffect::Stop(of.clone()));
            }
            Phase::Stopping => {}
        }
    }

    fn free(&mut self, place: usize) {
        let slot = self.slots.remove(place);
        if slot.class == Class::Exclusive {
            self.effects.push(AgentEffect::Unlock);
        }
    }

    fn test_ended(
        &mut self,
        of: &AttemptKey,
        how: How,
        document: Option<String>,
        bytes: u64,
        now: Now,
    ) {
        let Some(place) = self
            .slot(of)
            .filter(|place| self.slots[*place].has_process())
        else {
            return;
        };
        if let Phase::Starting { reply } = self.slots[place].phase {
            let (why, text) = match &how {
                How::Refused(text) => (Refusal::Usage, text.clone()),
                How::Failed(text) => (Refusal::NotReserved, text.clone()),
                How::Measured => (Refusal::NotReserved, "the server ended early".to_owned()),
            };
            self.refuse(reply, why, text);
        }
        if bytes > 0 {
            self.kept.bytes = self.bytes_today(now).saturating_add(bytes);
            self.kept.day = now.day();
            self.effects.push(AgentEffect::Keep(self.kept.clone()));
        }
        match (how, document) {
            (How::Measured, Some(document)) => {
                let key = self.key(of.clone());
                self.writing.insert(key.clone());
                self.effects.push(AgentEffect::Spool { key, document });
            }
            (How::Measured, None) => {
                self.over(
                    of.clone(),
                    How::Failed("the test left no report".to_owned()),
                );
            }
            (how, _) => self.over(of.clone(), how),
        }
        self.free(place);
        // Otherwise once the result is kept.
        if self.writing.is_empty() {
            self.beat(now);
        }
    }

    fn result_kept(&mut self, key: ResultKey, bytes: Option<u64>, now: Now) {
        if !self.writing.remove(&key) {
            return;
        }
        let of = key.of.clone();
        let Some(bytes) = bytes else {
            self.spool_fails_until = now.mono + SPOOL_PAUSE;
            let why = "its result could not be written into the spool".to_owned();
            self.over(of, How::Failed(why));
            return self.beat(now);
        };
        let given_up = self.spool.add(Spooled { key, bytes }, now.mono);
        if !given_up.is_empty() {
            for key in given_up {
                self.kept.given_up += 1;
                self.kept.gone.push_back(key.clone());
                self.remember(key.of.clone(), Status::Gone);
                self.effects.push(AgentEffect::Unspool(key));
            }
            while self.kept.gone.len() > GIVEN_UP {
                self.kept.gone.pop_front();
            }
            self.effects.push(AgentEffect::Keep(self.kept.clone()));
        }
        self.over(of, How::Measured);
        self.beat(now);
    }

    fn key(&self, of: AttemptKey) -> ResultKey {
        ResultKey {
            of,
            host: self.identity.host.clone(),
        }
    }

    /// An attempt is over, and its result in the spool if it has one.
    fn over(&mut self, of: AttemptKey, how: How) {
        self.ended = Some((of.clone(), how.clone()));
        self.remember(of, Status::Ended(how));
    }

    fn remember(&mut self, of: AttemptKey, status: Status) {
        self.recent.retain(|(other, _)| *other != of);
        self.recent.push_back((of, status));
        if self.recent.len() > RECENT {
            self.recent.pop_front();
        }
    }

    /// How an attempt goes here. Who asks for a result that waits makes it go again.
    fn status(&mut self, of: &AttemptKey, now: Now) -> Status {
        if let Some(place) = self.slot(of) {
            return if self.slots[place].has_process() {
                Status::Running
            } else {
                Status::Reserved
            };
        }
        let key = self.key(of.clone());
        if self.writing.contains(&key) {
            return Status::Running;
        }
        if self.spool.holds(&key) {
            self.spool.awaited(&key, now.mono);
            return Status::Ended(How::Measured);
        }
        let recent = self.recent.iter().find(|(other, _)| other == of);
        if let Some((_, status)) = recent {
            return status.clone();
        }
        if self.kept.gone.contains(&key) {
            return Status::Gone;
        }
        Status::Unknown
    }

    fn bytes_today(&self, now: Now) -> u64 {
        if self.kept.day == now.day() {
            self.kept.bytes
        } else {
            0
        }
    }
}
