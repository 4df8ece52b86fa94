//! A client's end of the control connection: bytes and times in, bytes and steps out.

use std::collections::VecDeque;
use std::num::{NonZeroU32, NonZeroU64};
use std::time::Duration;

use tapeline_base::{MonoTime, WallTime};
use tapeline_stats::ClockExchange;
use tapeline_wire::native::{
    About, Done, Granted, Hello, MAX_FROM_CLIENT, Message, Methods, Order, PREAMBLE, Program,
    Progress, Ready, Results, Sample, Status, VERSIONS,
};

use super::clock_sync::ClockRequests;
use super::message_buffer::MessageBuffer;

/// Time for the server's first word.
const GREETING: Duration = Duration::from_secs(5);
/// Time for the server's results; it may wait for flows that end late.
const RESULTS: Duration = Duration::from_secs(5);
/// The same when the user does not want to wait.
const HURRIED: Duration = Duration::from_secs(1);
/// Time for the exchanges after the test.
const COMPARISON: Duration = Duration::from_secs(2);
/// Silence after which the server counts as gone.
const SILENCE: Duration = Duration::from_secs(20);

/// What the driver is to know.
#[derive(Debug, PartialEq)]
pub(crate) enum ClientStep {
    /// The server takes part, answers probes that carry this key, if any, and takes orders for these
    /// methods.
    Found(Program, Option<NonZeroU64>, Methods),
    /// What it lets the test have.
    Granted(Granted),
    /// Its running counters.
    Progress(Progress),
    /// An exchange of clock readings.
    Exchange(ClockExchange),
    /// Its results.
    Results(Box<Results>),
    /// The test shall end now, and why.
    Stop(String),
    /// The server refuses.
    Refused(String),
    /// The connection cannot go on.
    Broken(String),
    /// The server is ready for what was ordered.
    Ready(Ready),
    /// It does not do it, and why.
    Declined(String),
    /// What has arrived at it of a load.
    Status(Status),
    /// The state of one of its TCP senders.
    Sample(Sample),
    /// The order has ended.
    Done(Box<Done>),
}

/// How far an order is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ordered {
    /// None is under way.
    Nothing,
    /// It is out.
    Asked,
    /// The server is at it.
    UnderWay,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// Hello is out.
    Greeting(MonoTime),
    /// Traffic flows.
    Running,
    /// Finished is out.
    Finishing(MonoTime),
    /// The results are here, the clocks are compared once more.
    Comparing(MonoTime),
    Over,
}

/// The state machine.
#[derive(Debug)]
pub(crate) struct ClientControl {
    buffer: MessageBuffer,
    out: Vec<u8>,
    steps: VecDeque<ClientStep>,
    state: State,
    requests: ClockRequests,
    /// The traffic has ended; Finished follows as soon as it can be said.
    finished: Option<Ending>,
    /// This end's results, until they are said.
    own: Option<String>,
    last_message: MonoTime,
    /// Probes are under way in the quiet path: the server is to go on answering them.
    probes: bool,
    ordered: Ordered,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ending {
    InOrder,
    Hurried,
}

impl ClientControl {
    /// The connection is there; `about` is what this client says of itself.
    pub(crate) fn new(test: NonZeroU32, token: NonZeroU32, about: About, now: MonoTime) -> Self {
        let mut control = Self::for_orders(test, token, now);
        Message::About(about).encode(&mut control.out);
        control
    }

    /// The same for a client that has orders, and no results to tell: it does not say who it is.
    pub(crate) fn for_orders(test: NonZeroU32, token: NonZeroU32, now: MonoTime) -> Self {
        let mut out = PREAMBLE.to_vec();
        Message::Hello(Hello {
            test,
            token,
            lowest: *VERSIONS.start(),
            highest: *VERSIONS.end(),
        })
        .encode(&mut out);
        Self {
            buffer: MessageBuffer::for_client(),
            out,
            steps: VecDeque::new(),
            state: State::Greeting(now + GREETING),
            requests: ClockRequests::new(now, u64::from(token.get())),
            finished: None,
            own: None,
            last_message: now,
            probes: false,
            ordered: Ordered::Nothing,
        }
    }

    /// Takes received bytes, which were read at these times.
    pub(crate) fn received(&mut self, bytes: &[u8], now: MonoTime, wall: WallTime) {
        self.last_message = now;
        self.buffer.push(bytes);
        while !self.is_over() {
            match self.buffer.next() {
                Ok(Some(message)) => self.take(message, now, wall),
                Ok(None) => return,
                Err(error) => return self.fail(error.to_string()),
            }
        }
    }

    /// The server has closed the connection, or it broke.
    pub(crate) fn closed(&mut self, why: &str) {
        if !self.is_over() {
            self.fail(why.to_owned());
        }
    }

    /// The client's flows have ended, with these results; `hurried` when the user has interrupted them.
    pub(crate) fn finish(&mut self, hurried: bool, results: &Results, now: MonoTime) {
        if self.finished.is_none() {
            self.finished = Some(if hurried {
                Ending::Hurried
            } else {
                Ending::InOrder
            });
            self.own = Some(results.to_json_within(MAX_FROM_CLIENT));
            self.say_finished(now);
        }
    }

    /// Whether it is known that the client's flows have ended.
    pub(crate) fn is_finished(&self) -> bool {
        self.finished.is_some()
    }

    /// The test ends before its time.
    pub(crate) fn stop(&mut self, why: &str) {
        if matches!(self.state, State::Running) {
            Message::Stop(why.to_owned()).encode(&mut self.out);
        }
    }

    /// Orders something, unless another order is under way or the server has not welcomed this client;
    /// returns whether it is out.
    pub(crate) fn order(&mut self, order: &Order) -> bool {
        let may = self.ordered == Ordered::Nothing && self.state == State::Running;
        if may {
            Message::Order(Box::new(order.clone())).encode(&mut self.out);
            self.ordered = Ordered::Asked;
        }
        may
    }

    /// Ends a connection without traffic.
    pub(crate) fn leave(&mut self) {
        if self.state != State::Over {
            Message::Goodbye.encode(&mut self.out);
            self.state = State::Over;
        }
    }

    /// Whether probes are under way in the quiet path, for which the connection stays open.
    pub(crate) fn await_probes(&mut self, under_way: bool) {
        self.probes = under_way;
    }

    /// Does what is due.
    pub(crate) fn tick(&mut self, now: MonoTime, wall: WallTime) {
        match self.state {
            State::Greeting(until) | State::Finishing(until) if now >= until => {
                self.fail("the server is silent".to_owned());
            }
            State::Comparing(until)
                if now >= until || (self.requests.is_row_answered() && !self.probes) =>
            {
                Message::Goodbye.encode(&mut self.out);
                self.state = State::Over;
            }
            State::Running if now.since(self.last_message) >= SILENCE => {
                self.fail("the server is silent".to_owned());
            }
            // A row that is answered waits for that of the probes.
            State::Comparing(_) if self.requests.is_row_answered() => {}
            State::Running | State::Comparing(_) => {
                if let Some(request) = self.requests.next(now, wall) {
                    request.encode(&mut self.out);
                }
            }
            State::Greeting(_) | State::Finishing(_) | State::Over => {}
        }
    }

    /// When to call [`tick`](Self::tick) although nothing arrives.
    pub(crate) fn due(&self) -> Option<MonoTime> {
        match self.state {
            State::Greeting(until) | State::Finishing(until) => Some(until),
            State::Running => Some(self.requests.due().min(self.last_message + SILENCE)),
            State::Comparing(until) if self.requests.is_row_answered() => Some(if self.probes {
                until
            } else {
                self.last_message
            }),
            State::Comparing(until) => Some(self.requests.due().min(until)),
            State::Over => None,
        }
    }

    /// What is to be written.
    pub(crate) fn output(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.out)
    }

    /// What the driver is to know next.
    pub(crate) fn step(&mut self) -> Option<ClientStep> {
        self.steps.pop_front()
    }

    /// Nothing follows; what is to be written still goes out.
    pub(crate) fn is_over(&self) -> bool {
        self.state == State::Over
    }

    fn take(&mut self, message: Message, now: MonoTime, wall: WallTime) {
        match (message, self.state) {
            (Message::Welcome { version, .. }, State::Greeting(_))
                if !VERSIONS.contains(&version) =>
            {
                self.fail(format!("the server speaks version {version}"));
            }
            (
                Message::Welcome {
                    server,
                    probe_key,
                    methods,
                    ..
                },
                State::Greeting(_),
            ) => {
                self.state = State::Running;
                self.requests.begin_row(now);
                let methods = methods.unwrap_or_default();
                self.steps
                    .push_back(ClientStep::Found(server, probe_key, methods));
                self.say_finished(now);
            }
            (Message::Refused(why), State::Greeting(_)) => {
                self.steps.push_back(ClientStep::Refused(why));
                self.state = State::Over;
            }
            (
                Message::ClockReply(reply),
                State::Running | State::Finishing(_) | State::Comparing(_),
            ) => {
                let exchange = self.requests.answered(&reply, wall);
                self.steps.extend(exchange.map(ClientStep::Exchange));
            }
            (Message::Granted(granted), State::Running | State::Finishing(_)) => {
                self.steps.push_back(ClientStep::Granted(granted));
            }
            (Message::Progress(progress), State::Running | State::Finishing(_)) => {
                self.steps.push_back(ClientStep::Progress(progress));
            }
            (Message::Stop(why), State::Running | State::Finishing(_)) => {
                self.steps.push_back(ClientStep::Stop(why));
            }
            (Message::Results(object), State::Finishing(_)) => match Results::parse(&object) {
                Ok(results) => {
                    self.steps.push_back(ClientStep::Results(Box::new(results)));
                    if self.finished == Some(Ending::Hurried) {
                        Message::Goodbye.encode(&mut self.out);
                        self.state = State::Over;
                    } else {
                        self.requests.begin_row(now);
                        self.state = State::Comparing(now + COMPARISON);
                    }
                }
                Err(why) => self.fail(format!("results that cannot be read: {why}")),
            },
            (Message::Ready(ready), State::Running) if self.ordered == Ordered::Asked => {
                self.ordered = Ordered::UnderWay;
                self.steps.push_back(ClientStep::Ready(ready));
            }
            (Message::Declined(why), State::Running) if self.ordered == Ordered::Asked => {
                self.ordered = Ordered::Nothing;
                self.steps.push_back(ClientStep::Declined(why));
            }
            (Message::Status(status), State::Running) if self.ordered == Ordered::UnderWay => {
                self.steps.push_back(ClientStep::Status(status));
            }
            (Message::Sample(sample), State::Running) if self.ordered == Ordered::UnderWay => {
                self.steps.push_back(ClientStep::Sample(sample));
            }
            (Message::Done(done), State::Running) if self.ordered == Ordered::UnderWay => {
                self.ordered = Ordered::Nothing;
                self.steps.push_back(ClientStep::Done(done));
            }
            (Message::Error(why), _) => {
                self.steps.push_back(ClientStep::Broken(why));
                self.state = State::Over;
            }
            // What was under way when the state changed.
            (Message::Stop(_) | Message::Progress(_), State::Comparing(_)) => {}
            (_, State::Over) => {}
            _ => self.fail("a message out of turn".to_owned()),
        }
    }

    fn say_finished(&mut self, now: MonoTime) {
        if let (Some(ending), State::Running) = (self.finished, self.state) {
            if let Some(own) = self.own.take() {
                Message::Results(own).encode(&mut self.out);
            }
            Message::Finished.encode(&mut self.out);
            let limit = match ending {
                Ending::InOrder => RESULTS,
                Ending::Hurried => HURRIED,
            };
            self.state = State::Finishing(now + limit);
        }
    }

    fn fail(&mut self, why: String) {
        Message::Error(why.clone()).encode(&mut self.out);
        self.steps.push_back(ClientStep::Broken(why));
        self.state = State::Over;
    }
}
