//! A server's end of a control connection: bytes and times in, bytes and steps out.

use std::collections::VecDeque;
use std::num::NonZeroU64;
use std::time::Duration;

use tapeline_base::{MonoTime, WallTime};
use tapeline_wire::native::{
    About, ClockReply, Granted, Hello, Message, Methods, Order, Program, Progress, Results,
    VERSIONS,
};

use super::clock_sync::nanos;
use super::message_buffer::MessageBuffer;

/// Time for the client's first word.
const GREETING: Duration = Duration::from_secs(5);
/// Silence after which a client counts as gone: it asks for the clock several times a second.
const SILENCE: Duration = Duration::from_secs(30);
/// Messages that a client may send in a second; ours send 200 at most.
const MAX_A_SECOND: u32 = 1_000;
/// Answers that a client need not have read, bytes.
const MAX_UNREAD: usize = 64 << 10;

/// What the driver is to do or know.
#[derive(Debug, PartialEq)]
pub(crate) enum ServerStep {
    /// Whose test it is: to be welcomed or refused.
    Hello(Hello),
    /// Who the client is; its results will come too.
    About(About),
    /// What the client counted.
    Results(Box<Results>),
    /// The client's flows have ended; it waits for the results.
    Finished,
    /// The client ends the test or its order before its time, and why.
    Stop(String),
    /// What the client orders for a method.
    Order(Box<Order>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// Before Hello.
    New(MonoTime),
    /// Hello is here, and not answered.
    Asked(Hello),
    Open,
    Over,
}

/// The state machine.
#[derive(Debug)]
pub(crate) struct ServerControl {
    buffer: MessageBuffer,
    out: Vec<u8>,
    /// Requests that were read and not answered, with the time of their reading.
    requests: Vec<(u32, u64, WallTime)>,
    steps: VecDeque<ServerStep>,
    state: State,
    last_message: MonoTime,
    /// The running second and the messages in it.
    second: (MonoTime, u32),
    /// The client has said who it is.
    introduced: bool,
    finished: bool,
    /// The results are out.
    results_sent: bool,
}

impl ServerControl {
    /// The connection was accepted at `now`, and its first eight bytes were read.
    pub(crate) fn new(now: MonoTime) -> Self {
        Self {
            buffer: MessageBuffer::for_server(),
            out: Vec::new(),
            requests: Vec::new(),
            steps: VecDeque::new(),
            state: State::New(now + GREETING),
            last_message: now,
            second: (now, 0),
            introduced: false,
            finished: false,
            results_sent: false,
        }
    }

    /// Takes received bytes, which were read at these times.
    pub(crate) fn received(&mut self, bytes: &[u8], now: MonoTime, wall: WallTime) {
        self.buffer.push(bytes);
        while !self.is_over() {
            match self.buffer.next() {
                Ok(Some(_)) if self.is_too_many(now) => self.fail("too many messages"),
                // A part of one does not count: it could come byte by byte for ever.
                Ok(Some(message)) => {
                    self.last_message = now;
                    self.take(message, wall);
                }
                Ok(None) => return,
                Err(error) => self.fail(&error.to_string()),
            }
        }
    }

    /// The test has been over for long, and the client is not through.
    pub(crate) fn outlive(&mut self) {
        if self.state != State::Over {
            self.fail("the test has long been over");
        }
    }

    /// The client takes part, and may send probes with this key and order these methods, if any.
    pub(crate) fn welcome(
        &mut self,
        server: Program,
        probe_key: Option<NonZeroU64>,
        methods: Option<Methods>,
    ) {
        if let State::Asked(hello) = self.state {
            let version = hello.highest.min(*VERSIONS.end());
            Message::Welcome {
                version,
                server,
                probe_key,
                methods,
            }
            .encode(&mut self.out);
            self.state = State::Open;
            self.buffer.welcomed();
        }
    }

    /// What the client's test may have, right behind the welcome.
    pub(crate) fn grant(&mut self, granted: Granted) {
        if self.state == State::Open {
            Message::Granted(granted).encode(&mut self.out);
        }
    }

    /// It does not.
    pub(crate) fn refuse(&mut self, why: &str) {
        Message::Refused(why.to_owned()).encode(&mut self.out);
        self.state = State::Over;
    }

    /// Running counters.
    pub(crate) fn progress(&mut self, progress: Progress) {
        if self.state == State::Open && !self.finished {
            Message::Progress(progress).encode(&mut self.out);
        }
    }

    /// The test ends before its time. The client's flows may have ended by that already, and it has said so.
    pub(crate) fn stop(&mut self, why: &str) {
        if self.state == State::Open && !self.results_sent {
            Message::Stop(why.to_owned()).encode(&mut self.out);
        }
    }

    /// What this end counted, a JSON object.
    pub(crate) fn results(&mut self, object: String) {
        if self.state == State::Open {
            self.results_sent = true;
            Message::Results(object).encode(&mut self.out);
        }
    }

    /// What becomes of an order.
    pub(crate) fn method(&mut self, message: &Message) {
        if self.state == State::Open {
            message.encode(&mut self.out);
        }
    }

    /// Gives up what waits for too long.
    pub(crate) fn tick(&mut self, now: MonoTime) {
        if self.due().is_some_and(|due| now >= due) {
            match self.state {
                State::New(_) => self.refuse("no Hello within 5 s"),
                _ => self.fail("the client is silent"),
            }
        }
    }

    /// When to call [`tick`](Self::tick) although nothing arrives.
    pub(crate) fn due(&self) -> Option<MonoTime> {
        match self.state {
            State::New(until) => Some(until),
            State::Asked(_) | State::Open => Some(self.last_message + SILENCE),
            State::Over => None,
        }
    }

    /// Before Hello: whose test it is for is not known.
    pub(crate) fn is_unknown(&self) -> bool {
        matches!(self.state, State::New(_))
    }

    /// What is to be written at `wall`. `unread` bytes of earlier output still wait for the client.
    pub(crate) fn output(&mut self, wall: WallTime, unread: usize) -> Vec<u8> {
        if unread > MAX_UNREAD {
            self.requests.clear();
        }
        for (number, sent, received) in self.requests.drain(..) {
            Message::ClockReply(ClockReply {
                number,
                request_sent: sent,
                request_received: nanos(received),
                reply_sent: nanos(wall),
            })
            .encode(&mut self.out);
        }
        std::mem::take(&mut self.out)
    }

    /// What the driver is to do next.
    pub(crate) fn step(&mut self) -> Option<ServerStep> {
        self.steps.pop_front()
    }

    /// Nothing follows; what is to be written still goes out.
    pub(crate) fn is_over(&self) -> bool {
        self.state == State::Over
    }

    fn take(&mut self, message: Message, wall: WallTime) {
        match (message, self.state) {
            (Message::Hello(hello), State::New(_)) => {
                if hello.lowest > *VERSIONS.end() || hello.highest < *VERSIONS.start() {
                    return self.refuse("no version of the protocol in common");
                }
                self.state = State::Asked(hello);
                self.steps.push_back(ServerStep::Hello(hello));
            }
            (Message::ClockRequest { number, sent }, State::Open) => {
                self.requests.push((number, sent, wall));
            }
            (Message::Finished, State::Open) if !self.finished => {
                self.finished = true;
                self.steps.push_back(ServerStep::Finished);
            }
            (Message::Stop(why), State::Open) => self.steps.push_back(ServerStep::Stop(why)),
            (Message::Order(order), State::Open) if !self.finished => {
                self.steps.push_back(ServerStep::Order(order));
            }
            (Message::Goodbye | Message::Error(_), _) => self.state = State::Over,
            (Message::About(about), State::Asked(_) | State::Open) if !self.introduced => {
                self.introduced = true;
                self.steps.push_back(ServerStep::About(about));
            }
            (Message::Results(object), State::Open) if !self.finished => {
                match Results::parse(&object) {
                    Ok(results) => self.steps.push_back(ServerStep::Results(Box::new(results))),
                    Err(why) => self.fail(&format!("results that cannot be read: {why}")),
                }
            }
            // A server's report has no place for a client's.
            (Message::Progress(_), State::Open) => {}
            _ => self.fail("a message out of turn"),
        }
    }

    fn is_too_many(&mut self, now: MonoTime) -> bool {
        let (since, count) = &mut self.second;
        if now.since(*since) >= Duration::from_secs(1) {
            (*since, *count) = (now, 0);
        }
        *count += 1;
        *count > MAX_A_SECOND
    }

    fn fail(&mut self, why: &str) {
        Message::Error(why.to_owned()).encode(&mut self.out);
        self.state = State::Over;
    }
}
