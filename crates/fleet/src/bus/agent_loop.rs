//! What an agent wants, carried out.

use std::collections::VecDeque;
use std::hash::{BuildHasher, RandomState};

use async_nats::{Client, Message};
use futures_util::StreamExt;
use tapeline_remote::{Listening, Order};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use crate::agent::{Agent, AgentEffect, AgentInput, Identity, Kept, Spooled};
use crate::bus::connection::{Connection, Link, LinkChange};
use crate::bus::error::BusError;
use crate::bus::machine_clock::MachineClock;
use crate::bus::records::{identified, is_new, json};
use crate::bus::requests::{Requests, send};
use crate::bus::runtime::block_on;
use crate::bus::stop::Stop;
use crate::job::{AttemptKey, ResultKey};
use crate::message::{AgentOrder, Answer, Ask, How, Refusal, ReplyId, ResultMessage, Stored};
use crate::names::{PREFIX, Subject};
use crate::site::AgentSettings;

/// Requests whose answer is still due are remembered: more than an agent takes in a minute.
const MOST_REPLIES: usize = 2048;

/// What happens in a test.
#[derive(Clone, Debug, PartialEq)]
pub enum TestEvent {
    /// Its server listens.
    Listening(AttemptKey, Listening),
    /// A line of its stream.
    Live(AttemptKey, String),
    /// It is over, and its process gone.
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
}

/// Takes what happens in tests, from any thread.
#[derive(Clone, Debug)]
pub struct TestEvents(UnboundedSender<TestEvent>);

impl TestEvents {
    /// Something happened.
    pub fn happened(&self, event: TestEvent) {
        // An agent that has gone needs no news.
        let _ = self.0.send(event);
    }
}

/// The host of an agent: its lock, its disk, its tests.
pub trait AgentHost {
    /// Opens the lock file anew and tries to lock it; whether it is held.
    fn lock(&mut self) -> bool;
    /// Closes the lock file without unlocking it.
    fn unlock(&mut self);
    /// Starts a test; [`TestEvent::Ended`] follows in any case.
    fn start(&mut self, of: &AttemptKey, order: Order, events: &TestEvents);
    /// Ends a test, by force if it does not end.
    fn stop(&mut self, of: &AttemptKey);
    /// A test is over; when this returns, no process of it is left.
    fn ended(&mut self, of: &AttemptKey);
    /// Writes this beside the spool.
    fn keep(&mut self, kept: &Kept);
    /// Writes a result into the spool; the bytes of its file, or none if it could not be kept.
    fn spool(&mut self, result: &ResultMessage) -> Option<u64>;
    /// Deletes a result from the spool.
    fn unspool(&mut self, key: &ResultKey);
    /// A result of the spool.
    fn spooled(&mut self, key: &ResultKey) -> Option<ResultMessage>;
}

/// What an agent starts with.
#[derive(Clone, Debug)]
pub struct AgentStart {
    /// Of the program.
    pub version: String,
    /// What it kept.
    pub kept: Kept,
    /// The results of its spool, from the oldest on.
    pub spooled: Vec<Spooled>,
}

/// Serves as the agent of a host until the end is wished for.
///
/// # Errors
/// The server refuses it, or will not do.
pub fn run_agent(
    settings: &AgentSettings,
    start: AgentStart,
    host: &mut dyn AgentHost,
    clock: &MachineClock,
    stop: Stop,
    say: &mut dyn FnMut(&str),
) -> Result<(), BusError> {
    block_on(serve(settings, start, host, clock, stop, say))
}

pub(crate) async fn serve(
    settings: &AgentSettings,
    start: AgentStart,
    host: &mut dyn AgentHost,
    clock: &MachineClock,
    mut stop: Stop,
    say: &mut dyn FnMut(&str),
) -> Result<(), BusError> {
    let access = &settings.access;
    let mut connection = tokio::select! {
        () = stop.wished() => return Ok(()),
        connection = Connection::open_in_time(access, say) => connection?,
    };
    let client = connection.client.clone();
    let (site, own) = (&access.site, &settings.host);
    let mut orders = connection
        .subscribe(format!("{PREFIX}.agent.{site}.{own}.do"))
        .await?;
    let mut asked = connection
        .subscribe(format!("{PREFIX}.all.{site}.ask"))
        .await?;
    let mut stored = connection
        .subscribe(format!("{PREFIX}.stored.{site}.{own}"))
        .await?;
    let (requests, mut replies) = Requests::new(&client).await?;
    let (sender, mut events): (_, UnboundedReceiver<TestEvent>) = unbounded_channel();
    let identity = Identity {
        host: settings.host.clone(),
        address: settings.address.as_str().into(),
        version: start.version.into(),
    };
    let seed = RandomState::new().hash_one(&settings.host);
    let limits = settings.limits.clone();
    let mut serving = Serving {
        machine: Agent::new(identity, limits, start.kept, start.spooled, seed),
        host,
        settings,
        clock,
        client: client.clone(),
        requests,
        replies: VecDeque::new(),
        last_reply: ReplyId(0),
        events: TestEvents(sender),
        say,
    };
    let mut linked = Link::default();
    (serving.say)("waits for orders");
    loop {
        let link = *connection.link.borrow_and_update();
        for change in link.since(linked) {
            serving
                .take(match change {
                    LinkChange::Lost => AgentInput::Disconnected,
                    LinkChange::Up { .. } => AgentInput::Connected,
                })
                .await;
            if let Some(words) = change.words() {
                (serving.say)(words);
            }
        }
        linked = link;
        while serving.requests.expired(clock.now().mono).is_some() {}
        let wake = serving.machine.wake_at().min(serving.requests.wake_at());
        tokio::select! {
            () = stop.wished() => return Ok(()),
            Ok(()) = connection.link.changed() => {}
            Some(refusal) = connection.refused.recv() => (serving.say)(&refusal),
            Some(message) = orders.next() => serving.ordered(message).await,
            Some(message) = asked.next() => {
                if let Ok(ask) = serde_json::from_slice::<Ask>(&message.payload) {
                    serving.take(AgentInput::Asked(ask)).await;
                }
            }
            Some(message) = stored.next() => {
                if let Ok(stored) = serde_json::from_slice::<Stored>(&message.payload) {
                    serving.take(AgentInput::Stored(stored)).await;
                }
            }
            Some(message) = replies.next() => {
                if let Some((key, came)) = serving.requests.take(message)
                    && is_new(&came)
                {
                    serving.take(AgentInput::Published { key }).await;
                }
            }
            Some(event) = events.recv() => serving.happened(event).await,
            () = clock.until(wake) => {
                serving.take(AgentInput::Tick).await;
            }
        }
    }
}

struct Serving<'a> {
    machine: Agent,
    host: &'a mut dyn AgentHost,
    settings: &'a AgentSettings,
    clock: &'a MachineClock,
    client: Client,
    requests: Requests<ResultKey>,
    /// Where answers go that are still due.
    replies: VecDeque<(ReplyId, String)>,
    last_reply: ReplyId,
    events: TestEvents,
    say: &'a mut dyn FnMut(&str),
}

impl Serving<'_> {
    /// Effects in their order; what they lead to comes behind all of them.
    async fn take(&mut self, input: AgentInput) {
        let mut inputs = VecDeque::from([input]);
        while let Some(input) = inputs.pop_front() {
            for effect in self.machine.handle(input, self.clock.now()) {
                inputs.extend(self.carry_out(effect).await);
            }
        }
    }

    async fn carry_out(&mut self, effect: AgentEffect) -> Option<AgentInput> {
        let (site, own) = (&self.settings.access.site, &self.settings.host);
        match effect {
            AgentEffect::Answer { reply, answer } => self.answer(reply, &answer).await,
            AgentEffect::Beat(beat) => {
                let subject = Subject::Beat(site.clone(), own.clone()).to_string();
                send(&self.client, subject, None, None, json(&beat)).await;
            }
            AgentEffect::Lock(of) => {
                let is_ours = self.host.lock();
                return Some(AgentInput::Locked { of, is_ours });
            }
            AgentEffect::Unlock => self.host.unlock(),
            AgentEffect::Start { of, order } => {
                (self.say)(&format!("begins {of}"));
                self.host.start(&of, order, &self.events);
            }
            AgentEffect::Stop(of) => self.host.stop(&of),
            AgentEffect::Keep(kept) => self.host.keep(&kept),
            AgentEffect::Spool { key, document } => {
                let result = ResultMessage { key, document };
                let bytes = self.host.spool(&result);
                let key = result.key;
                return Some(AgentInput::Kept { key, bytes });
            }
            AgentEffect::Unspool(key) => self.host.unspool(&key),
            AgentEffect::Publish(key) => {
                // A file that somebody took away is given up with its age.
                let result = self.host.spooled(&key)?;
                let subject = Subject::Result(site.clone(), own.clone(), key.of.job.clone());
                let headers = Some(identified(&key.to_string()));
                let now = self.clock.now().mono;
                self.requests
                    .send(key, subject.to_string(), headers, result.write(), now)
                    .await;
            }
        }
        None
    }

    fn remember(&mut self, message: &Message) -> ReplyId {
        self.last_reply.0 += 1;
        if let Some(reply) = &message.reply {
            self.replies.push_back((self.last_reply, reply.to_string()));
        }
        if self.replies.len() > MOST_REPLIES {
            self.replies.pop_front();
        }
        self.last_reply
    }

    async fn answer(&mut self, reply: ReplyId, answer: &Answer) {
        let place = self.replies.iter().position(|(waits, _)| *waits == reply);
        if let Some((_, subject)) = place.and_then(|place| self.replies.remove(place)) {
            send(&self.client, subject, None, None, json(answer)).await;
        }
    }

    async fn ordered(&mut self, message: Message) {
        let reply = self.remember(&message);
        match AgentOrder::read(&message.payload) {
            Ok(order) => self.take(AgentInput::Order { order, reply }).await,
            Err(text) => {
                let why = Refusal::Usage;
                self.answer(reply, &Answer::Refused { why, text }).await;
            }
        }
    }

    async fn happened(&mut self, event: TestEvent) {
        let input = match event {
            TestEvent::Listening(of, ports) => AgentInput::Listening { of, ports },
            TestEvent::Live(of, line) => {
                let subject = Subject::Live(of.job).to_string();
                send(&self.client, subject, None, None, line.into_bytes()).await;
                return;
            }
            TestEvent::Ended {
                of,
                how,
                document,
                bytes,
            } => {
                self.host.ended(&of);
                (self.say)(&format!("ends {of}"));
                AgentInput::Ended {
                    of,
                    how,
                    document,
                    bytes,
                }
            }
        };
        self.take(input).await;
    }
}
